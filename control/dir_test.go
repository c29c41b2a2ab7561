package control_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func writeFile(t *testing.T, dir, name, text string) {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func retries(p *plane, n string) bool {
	_, text := p.call(http.MethodGet, "/meshes/default/meshretries/mr-route", "")
	return strings.Contains(text, `"numRetries":`+n)
}

func TestADirectoryIsFollowedBesideAnyStore(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"memory", "bolt", "file"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			writeFile(t, dir, "world.yaml", worldDocs)
			c := config(t)
			c.Store, c.Dir = kind, dir
			p := start(t, c)
			if !retries(p, "7") {
				t.Fatal("the directory was not read before the control plane was ready")
			}
			writeFile(t, dir, "world.yaml", strings.ReplaceAll(worldDocs, "numRetries: 7", "numRetries: 8"))
			eventually(t, "an edit arrives", func() bool { return retries(p, "8") })
			writeFile(t, dir, "new/more.json", retryAll)
			eventually(t, "a new file in a new directory arrives", func() bool { return get[list](p, "/meshretries").Total == 2 })
			if err := os.RemoveAll(filepath.Join(dir, "new")); err != nil {
				t.Fatal(err)
			}
			eventually(t, "what is removed goes", func() bool { return get[list](p, "/meshretries").Total == 1 })

			code, text := p.call(http.MethodPut, "/meshes/default/meshretries/mr-1", retryAll)
			if kind == "file" && (code != http.StatusMethodNotAllowed || !strings.Contains(text, "directory")) {
				t.Errorf("a write beside the only source: %d %s", code, text)
			}
			if kind != "file" && code != http.StatusCreated {
				t.Errorf("a write beside the directory: %d %s", code, text)
			}
			if readOnly := strings.Contains(p.want(http.StatusOK, http.MethodGet, "/_resources", ""), `"readOnly":true`); readOnly != (kind == "file") {
				t.Errorf("types are called read-only: %v", readOnly)
			}
		})
	}
}

func TestABadDocumentKeepsItsLastGoodVersionAndIsAProblem(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writeFile(t, dir, "world.yaml", worldDocs)
	c := config(t)
	c.Store, c.Dir = "file", dir
	p := start(t, c)
	problem := func(parts ...string) func() bool {
		return func() bool {
			text := p.want(http.StatusOK, http.MethodGet, "/_problems", "")
			for _, part := range parts {
				if !strings.Contains(text, part) {
					return false
				}
			}
			return true
		}
	}
	bad := strings.NewReplacer("numRetries: 7", "numRetries: many", "value: /v1", "value: /v2").Replace(worldDocs)
	writeFile(t, dir, "world.yaml", bad)
	eventually(t, "the mistake is shown with its line", problem("MeshRetry/default/mr-route", "world.yaml", `"line":43`, "numRetries"))
	if !retries(p, "7") {
		t.Error("the last good version is gone")
	}
	if text := p.want(http.StatusOK, http.MethodGet, "/meshes/default/meshhttproutes/route-1", ""); !strings.Contains(text, "/v2") {
		t.Error("the good documents of the file were held back")
	}
	writeFile(t, dir, "world.yaml", "type: [broken\n")
	eventually(t, "the broken file is shown", problem("world.yaml", "YAML"))
	if got := get[list](p, "/dataplanes"); got.Total != 2 || !retries(p, "7") {
		t.Errorf("a file that cannot be parsed took %d dataplanes away", 2-got.Total)
	}
	writeFile(t, dir, "world.yaml", strings.ReplaceAll(worldDocs, "numRetries: 7", "numRetries: 9"))
	eventually(t, "a repaired file arrives", func() bool { return retries(p, "9") })
	eventually(t, "the problem goes", func() bool { return !problem("YAML")() })
}

func TestABadDirectoryDoesNotKeepTheControlPlaneDown(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writeFile(t, dir, "bad.yaml", "type: MeshRetry\nname: [\n")
	writeFile(t, dir, "good.yaml", worldDocs)
	c := config(t)
	c.Dir = dir
	p := start(t, c)
	if !retries(p, "7") || !strings.Contains(p.want(http.StatusOK, http.MethodGet, "/_problems", ""), "bad.yaml") {
		t.Error("the good file or the problem is missing")
	}
}

// Everything that tells how an object fares says that its text is refused, not
// only the list of problems.
func TestStatusShowsABadDocument(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writeFile(t, dir, "world.yaml", worldDocs)
	c := config(t)
	c.Dir = dir
	p := start(t, c)
	never := strings.ReplaceAll(retryAll, "numRetries", "numRetrys")
	writeFile(t, dir, "world.yaml", strings.ReplaceAll(worldDocs, "numRetries: 7", "numRetries: many")+"---\n"+never)
	const mrRoute = "/meshes/default/meshretries/mr-route"
	for _, path := range []string{"/meshes/default/_status", mrRoute, mrRoute + "/_explain"} {
		eventually(t, path+" shows the mistake with its place", func() bool {
			_, text := p.call(http.MethodGet, path, "")
			return strings.Contains(text, `"type":"Accepted","status":"False","reason":"Invalid"`) && strings.Contains(text, "world.yaml:43:") &&
				strings.Contains(text, "the last good version stays in force")
		})
	}
	if text := p.want(http.StatusOK, http.MethodGet, "/meshes/default/_status", ""); !strings.Contains(text, `"object":"MeshRetry/default/mr-1"`) || !strings.Contains(text, "numRetrys") {
		t.Errorf("what never was good is not in status: %s", text)
	}
}

// A Pod that cannot have the sidecar that it asks for is refused with its place, as `weft apply`
// and `weft validate` say it; the others are served, and what was good before stays.
func TestADirectoryRefusesAPodThatCannotBeInjected(t *testing.T) {
	t.Parallel()
	const pod = `apiVersion: v1
kind: Pod
metadata:
  name: NAME
  namespace: shop
  annotations:
    traffic.kuma.io/exclude-inbound-ports: "PORTS"
spec: {containers: [{name: app, image: app, ports: [{containerPort: 8080}]}]}
status: {podIP: 192.0.2.9, phase: Running}
`
	of := func(name, ports string) string { return strings.NewReplacer("NAME", name, "PORTS", ports).Replace(pod) }
	dir := t.TempDir()
	writeFile(t, dir, "pods.yaml", of("bad", "x")+"---\n"+of("good", "9000")+"---\n"+of("turns", "9000"))
	c := config(t)
	c.Dir = dir
	p := start(t, c)
	const why = "is no port"
	stands := func(name string) bool {
		code, _ := p.call(http.MethodGet, "/meshes/default/dataplanes/"+name+".shop", "")
		return code == http.StatusOK
	}
	if text := p.want(http.StatusOK, http.MethodGet, "/_problems", ""); !strings.Contains(text, "pods.yaml") || !strings.Contains(text, `"line":7`) || !strings.Contains(text, why) {
		t.Errorf("the mistake is not a problem with its line: %s", text)
	}
	if stands("bad") || !stands("good") || !stands("turns") {
		t.Errorf("dataplanes: bad %v, good %v, turns %v", stands("bad"), stands("good"), stands("turns"))
	}
	writeFile(t, dir, "pods.yaml", of("bad", "9000")+"---\n"+of("good", "9000")+"---\n"+of("turns", "x"))
	eventually(t, "a mended Pod comes", func() bool { return stands("bad") })
	if text := p.want(http.StatusOK, http.MethodGet, "/_problems", ""); !stands("turns") || !strings.Contains(text, "Pod/default/turns.shop") && !strings.Contains(text, "turns") {
		t.Errorf("of the one that broke its last good version is gone, or it is no problem: %s", text)
	}
}

// What a directory says is stored as what people apply is: labels as weft shows them, written down,
// change neither the order of policies nor what is stored. Nor do they in what a sidecar brings.
func TestShownLabelsAreStoredForNobody(t *testing.T) {
	t.Parallel()
	labelled := strings.Replace(retryAll, `"labels":{`, `"labels":{"kuma.io/origin":"zone","kuma.io/zone":"default",`, 1)
	if labelled == retryAll {
		t.Fatal(retryAll)
	}
	dir := t.TempDir()
	writeFile(t, dir, "retry.json", labelled)
	c := config(t)
	c.Dir = dir
	p := start(t, c)
	p.want(http.StatusCreated, http.MethodPut, "/meshes/default/meshretries/mr-2", strings.ReplaceAll(labelled, "mr-1", "mr-2"))
	written := func(name string) string {
		return p.want(http.StatusOK, http.MethodGet, "/meshes/default/meshretries/"+name+"?format=written", "")
	}
	if by := written("mr-1"); strings.Contains(by, "kuma.io/origin") || !strings.Contains(by, `"team":"a"`) {
		t.Errorf("of the directory is stored %s, of people %s", by, written("mr-2"))
	}
	before := p.want(http.StatusOK, http.MethodGet, "/meshes/default/meshretries/mr-1", "")
	writeFile(t, dir, "other.json", strings.ReplaceAll(retryAll, "mr-1", "mr-3"))
	eventually(t, "another file arrives", func() bool { return get[list](p, "/meshretries").Total == 3 })
	if after := p.want(http.StatusOK, http.MethodGet, "/meshes/default/meshretries/mr-1", ""); after != before {
		t.Errorf("what is not stored as it is written was written again: %s, before %s", after, before)
	}
}

// Who the tenants of the first mesh are is for the installation to say, wherever that mesh comes from: a
// directory without a Mesh does not open it.
func TestTheFirstMeshOfADirectoryHasItsTenancy(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"memory", "file"} {
		dir := t.TempDir()
		writeFile(t, dir, "retry.json", retryAll)
		c := config(t)
		c.Store, c.Dir, c.Tenancy = kind, dir, `{"namespaces":["shop"]}`
		if mesh := start(t, c).want(http.StatusOK, http.MethodGet, "/meshes/default", ""); !strings.Contains(mesh, `"shop"`) {
			t.Errorf("%s: %s", kind, mesh)
		}
	}
}

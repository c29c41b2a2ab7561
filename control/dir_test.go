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

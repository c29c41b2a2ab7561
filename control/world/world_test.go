package world_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/syntax"
	"github.com/weftmesh/weft/api/unsupported"
	"github.com/weftmesh/weft/control/admission"
	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/inspect"
)

func write(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

const (
	service  = "type: MeshService\nmesh: default\nname: web\nspec: {selector: {dataplaneTags: {app: web}}, ports: [{port: 80}]}\n"
	retry    = "type: MeshRetry\nmesh: default\nname: mr\nspec:\n  to:\n    - targetRef: {kind: MeshHTTPRoute, name: rout}\n      default: {http: {numRetries: 3}}\n"
	badRetry = "type: MeshRetry\nmesh: default\nname: bad\nspec:\n  to:\n    - targetRef: {kind: Mesh}\n      default: {http: {numRetrys: 3}}\n"
)

func TestReadTakesFilesDirectoriesAndStdin(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, "a.yaml", "type: Mesh\nname: default\n---\n"+service)
	write(t, dir, "deep/er/b.json", `{"type":"MeshService","mesh":"default","name":"json","spec":{"selector":{"dataplaneTags":{"app":"web"}},"ports":[{"port":1}]}}`)
	write(t, dir, "deep/c.yml", strings.ReplaceAll(service, "web", "yml"))
	write(t, dir, "README.md", "no document")
	write(t, dir, ".hidden.yaml", "no document either")
	stdin := strings.NewReader(strings.ReplaceAll(service, "web", "stdin"))
	r, err := world.Read(stdin, dir, "-")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, o := range r.Objects {
		names = append(names, o.Name)
	}
	if got := strings.Join(names, " "); got != "default web yml json stdin" && got != "default web json yml stdin" {
		t.Errorf("read %s", got)
	}
	if r.Documents != 5 || world.Validate(r).Failed(false) {
		t.Errorf("%d documents, violations %v", r.Documents, r.Violations)
	}
}

func TestAnInvalidDocumentStaysOutAlone(t *testing.T) {
	t.Parallel()
	path := write(t, t.TempDir(), "all.yaml", service+"---\n"+badRetry+"---\n"+retry)
	r, err := world.Read(nil, path)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Objects) != 2 || r.Documents != 3 || !world.Validate(r).Failed(false) {
		t.Errorf("%d of %d documents are sound", len(r.Objects), r.Documents)
	}
	v := r.Violations[0]
	if v.File != path || v.Line != 12 || v.Field != "spec.to[0].default.http.numRetrys" || v.Object.String() != "MeshRetry/default/bad" ||
		!strings.Contains(v.Message, "numRetries") {
		t.Errorf("the violation is %v of %s", v, v.Object)
	}
}

func TestOneNameTwiceNamesBothPlaces(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	a, b := write(t, dir, "a.yaml", service), write(t, dir, "b.yaml", "# comment\n"+service)
	r, err := world.Read(nil, dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Violations) != 1 || r.Violations[0].File != b || !strings.Contains(r.Violations[0].Message, a+":1") || r.Documents != 2 {
		t.Errorf("%d documents, %v", r.Documents, r.Violations)
	}
}

func TestNothingIsNoDocuments(t *testing.T) {
	t.Parallel()
	if _, err := world.Read(nil, write(t, t.TempDir(), "empty.yaml", "# nothing\n---\n")); !errors.Is(err, syntax.ErrNoDocuments) {
		t.Errorf("it said %v", err)
	}
	if _, err := world.Read(nil, filepath.Join(t.TempDir(), "missing")); err == nil || errors.Is(err, syntax.ErrNoDocuments) {
		t.Errorf("a missing file: %v", err)
	}
}

// The directory of --dir may be meant for others too; what is read to be checked
// or applied is refused, wherever it stands.
func TestAKindThatWeftLacksIsAWarningOnlyInADirectoryThatIsFollowed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	text := "type: MeshPassthrough\nmesh: default\nname: all\nspec: {}\n---\n" + service
	path := write(t, dir, "mp.yaml", text)
	if objects, found := new(world.Settings).DecodeDir(path, []byte(text)); len(objects) != 1 || len(found) != 1 || found[0].Severity != api.Warning {
		t.Errorf("in a directory that is followed: %v", found)
	}
	for from, want := range map[string]api.Severity{path: api.Error, dir: api.Error} {
		r, err := world.Read(nil, from)
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Violations) != 1 || r.Violations[0].Severity != want || r.Violations[0].Code != unsupported.CodeUnsupportedKind {
			t.Errorf("%s: %v", from, r.Violations)
		}
	}
}

func TestMeshDefaultExistsUnlessADocumentSaysOtherwise(t *testing.T) {
	t.Parallel()
	ref := api.Ref{Kind: "Mesh", Name: "default"}
	if _, ok := world.Snapshot().Get(ref); !ok {
		t.Error("there is no mesh default")
	}
	objects, _ := world.Decode("", []byte("type: Mesh\nname: default\nmeshServices: {mode: Exclusive}\n"))
	o, _ := world.Snapshot(objects...).Get(ref)
	if m := o.Spec.(*api.Mesh); m.MeshServices == nil || m.MeshServices.Mode != "Exclusive" {
		t.Error("the document does not hold")
	}
}

func TestDefaultPoliciesAreSoundAndCanBeSkipped(t *testing.T) {
	t.Parallel()
	names := func(skip ...string) (out []string) {
		for _, o := range admission.DefaultPolicies("prod", skip) {
			out = append(out, o.Ref.String())
		}
		return out
	}
	if got := strings.Join(names(), " "); got != "MeshCircuitBreaker/prod/mesh-circuit-breaker-all-prod MeshRetry/prod/mesh-retry-all-prod MeshTimeout/prod/mesh-timeout-all-prod" {
		t.Errorf("got %s", got)
	}
	if got := strings.Join(names("MeshRetry"), " "); got != "MeshCircuitBreaker/prod/mesh-circuit-breaker-all-prod MeshTimeout/prod/mesh-timeout-all-prod" {
		t.Errorf("without MeshRetry: %s", got)
	}
	if got := names("*"); len(got) != 0 {
		t.Errorf("without any: %v", got)
	}
}

func TestValidateWarnsOfReferencesThatLeadNowhere(t *testing.T) {
	t.Parallel()
	path := write(t, t.TempDir(), "all.yaml", service+"---\n"+retry)
	r, err := world.Read(nil, path)
	if err != nil {
		t.Fatal(err)
	}
	report := world.Validate(r)
	var found []inspect.Violation
	for _, v := range report.Violations {
		if v.Code == "TargetNotFound" {
			found = append(found, v)
		}
	}
	if len(found) != 1 || found[0].Severity != api.Warning || found[0].Object != "MeshRetry/default/mr" || found[0].File != path ||
		found[0].Line != 11 || found[0].Field != "spec.to[0].targetRef" {
		t.Errorf("warnings are %+v", report.Violations)
	}
	if report.Failed(false) || !report.Failed(true) {
		t.Error("a warning refuses only when asked to be strict")
	}
	text, err := json.Marshal(world.Validate(world.Reading{}))
	if err != nil || string(text) != `{"documents":0,"violations":[],"conditions":[]}` {
		t.Errorf("an empty report is %s, %v", text, err)
	}
}

// A large document costs what it says: with a reading of the text for each line
// of the report, this one would take minutes.
func TestValidateReadsADocumentOnceForAllItsNotes(t *testing.T) {
	t.Parallel()
	const rules = 4000
	var text strings.Builder
	text.WriteString("type: MeshHTTPRoute\nmesh: default\nname: long\nspec:\n  to:\n")
	for i := range rules {
		if i%250 == 0 { // a list has at most 256
			text.WriteString("    - targetRef: {kind: MeshService, name: web}\n      rules:\n")
		}
		fmt.Fprintf(&text, "        - matches: [{path: {type: Exact, value: /%d}}]\n          default: {backendRefs: [{kind: MeshService, name: none-%d, port: 80}]}\n", i, i)
	}
	r, err := world.Read(strings.NewReader(service+"---\n"+text.String()), "-")
	if err != nil {
		t.Fatal(err)
	}
	lines := map[int]bool{}
	for _, v := range world.Validate(r).Violations {
		if v.Code == "BackendNotFound" {
			lines[v.Line] = true
		}
	}
	if len(lines) != rules {
		t.Errorf("%d lines with a lost backend", len(lines))
	}
}

func TestOneFactIsOneLine(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"a TCP route without a rule":   "type: MeshTCPRoute\nmesh: default\nname: t\nspec: {to: [{targetRef: {kind: MeshService, name: web}}]}\n",
		"a service without a selector": "type: MeshService\nmesh: default\nname: other\nspec: {ports: [{port: 80}]}\n",
		"a rule for proven identities": "type: MeshRateLimit\nmesh: default\nname: rl\nspec: {rules: [{matches: [{spiffeID: {type: Exact, value: 'spiffe://a/b'}}], default: {local: {http: {requestRate: {num: 1, interval: 1s}}}}}]}\n",
	} {
		r, err := world.Read(strings.NewReader(service+"---\n"+text), "-")
		if err != nil {
			t.Fatal(err)
		}
		if got := world.Validate(r).Violations; len(got) != 1 || got[0].Severity != api.Warning {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// TestCompleteHasTheFirstPermission: files without a control plane have the permission for all that
// comes where a mesh starts to prove who calls.
func TestCompleteHasTheFirstPermission(t *testing.T) {
	t.Parallel()
	mesh := &api.Object{Ref: api.Ref{Kind: api.KindMesh, Name: "m"}, Spec: &api.Mesh{MTLS: &api.MeshTLS{EnabledBackend: "ca"}}}
	_, added := world.Complete(mesh)
	if !slices.ContainsFunc(added, func(o *api.Object) bool { return o.Name == "mesh-traffic-permission-all-m" }) {
		t.Errorf("added are %v", added)
	}
}

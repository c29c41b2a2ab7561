package plan_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/inspect/plan"
	"github.com/weftmesh/weft/store"
	"github.com/weftmesh/weft/xds/resource"
)

// counted are two workloads whose sidecars answer DNS, of a service without a name.
const counted = `{type: MeshService, mesh: default, name: web, spec: {selector: {dataplaneTags: {kuma.io/service: web}}, ports: [{port: 8080, appProtocol: http}]}, status: {vips: [{ip: 241.0.0.1}]}}
---
{type: Dataplane, mesh: default, name: a, networking: {address: 127.0.0.1, inbound: [{port: 9000, tags: {kuma.io/service: a}}], transparentProxying: {redirectPortInbound: 15006, redirectPortOutbound: 15001}}}
---
{type: Dataplane, mesh: default, name: b, networking: {address: 127.0.0.2, inbound: [{port: 9000, tags: {kuma.io/service: b}}], transparentProxying: {redirectPortInbound: 15006, redirectPortOutbound: 15001}}}
`

func planOf(t *testing.T, before, change string, see func(api.Ref) bool) plan.Plan {
	t.Helper()
	step, results := stepOf(t, before, change)
	step.See = see
	return plan.Of(step, results)
}

// TestDataplanesAreCountedOnce: a dataplane of which a name and a field change is one, and who may
// not be told of is none, whatever it is that changes.
func TestDataplanesAreCountedOnce(t *testing.T) {
	t.Parallel()
	const change = `{type: HostnameGenerator, name: shop, spec: {template: "{{ .DisplayName }}.shop.example", selector: {meshService: {matchLabels: {kuma.io/display-name: web}}}}}
---
{type: MeshRetry, mesh: default, name: mr, spec: {to: [{targetRef: {kind: Mesh}, default: {http: {numRetries: 2}}}]}}
`
	told := func(p plan.Plan) string {
		text, err := json.Marshal(p.Dataplanes)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	parts := func(p plan.Plan) []string {
		out := map[string]bool{}
		for _, e := range p.Effects {
			out[string(e.Section)+e.Policy] = true
		}
		return slices.Sorted(maps.Keys(out))
	}
	p := planOf(t, counted, change, nil)
	if got, want := told(p), `{"total":2,"affected":2,"dataplanes":["a","b"]}`; got != want || !slices.Equal(parts(p), []string{"MeshRetry", "names"}) {
		t.Errorf("%s, want %s, by %q", got, want, parts(p))
	}
	p = planOf(t, counted, change, func(ref api.Ref) bool { return ref.Name == "a" })
	text, err := json.Marshal(p)
	if got, want := told(p), `{"total":1,"affected":1,"dataplane":"a"}`; err != nil || got != want || strings.Contains(string(text), `"b"`) {
		t.Errorf("who sees a is told %s, want %s: %s", got, want, text)
	}
	p = planOf(t, counted, "{type: Mesh, name: default, labels: {a: b}}", nil)
	if got, want := told(p), `{"total":2,"affected":0}`; got != want {
		t.Errorf("a change of a mesh: %s, want %s", got, want)
	}
}

// TestFieldsThatAreNotLookedAtAreCounted: a resource beyond what is looked at says that something
// of it is not listed.
func TestFieldsThatAreNotLookedAtAreCounted(t *testing.T) {
	t.Parallel()
	asked := 0
	long := func(x *resource.Resource) ([]byte, error) {
		if asked++; asked > 2 {
			return json.Marshal(map[string]string{"name": x.Name})
		}
		return json.Marshal(map[string]string{"long": strings.Repeat("x", 17<<20)})
	}
	p := fieldsOf(t, "{type: MeshTimeout, mesh: default, name: t, spec: {to: [{targetRef: {kind: Mesh}, default: {connectionTimeout: 7s, http: {requestTimeout: 9s}}}]}}", long)
	if len(p.Envoy) < 2 {
		t.Fatalf("only %d resources change", len(p.Envoy))
	}
	for _, r := range p.Envoy[1:] {
		if r.FieldsCut == 0 {
			t.Errorf("nothing is said to be missing of %s: %+v", r.Name, r.Fields)
		}
	}
}

// TestAPreviewIsOfWhatIsWritten: of what only takes part in previews what goes is gone, and of
// another mesh nothing takes part.
func TestAPreviewIsOfWhatIsWritten(t *testing.T) {
	t.Parallel()
	stored, violations := world.Decode("stored.yaml", []byte(`{type: Mesh, name: other}
---
{type: MeshRetry, mesh: default, name: goes, labels: {kuma.io/effect: shadow}, spec: {to: [{targetRef: {kind: Mesh}, default: {http: {numRetries: 2}}}]}}
---
{type: MeshRetry, mesh: default, name: stays, labels: {kuma.io/effect: shadow}, spec: {to: [{targetRef: {kind: Mesh}, default: {http: {numRetries: 2}}}]}}
---
{type: MeshRetry, mesh: other, name: far, labels: {kuma.io/effect: shadow}, spec: {to: [{targetRef: {kind: Mesh}, default: {http: {numRetries: 2}}}]}}
`))
	brought, wrong := world.Decode("brought.yaml", []byte("{type: MeshTimeout, mesh: default, name: new, spec: {to: [{targetRef: {kind: Mesh}, default: {idleTimeout: 1s}}]}}"))
	if len(violations)+len(wrong) > 0 {
		t.Fatal(violations, wrong)
	}
	goes := api.Ref{Kind: "MeshRetry", Mesh: "default", Name: "goes"}
	p := plan.Preview{Takes: func(o *api.Object) bool { return o.Kind == "MeshRetry" }}
	writes, err := p.Of(store.Writes(store.Write{Put: brought[0]}, store.Write{Delete: &goes}))(world.Snapshot(stored...))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, w := range writes {
		if w.Delete != nil {
			got = append(got, "delete "+w.Delete.String())
		} else {
			got = append(got, "put "+w.Put.Ref.String())
		}
	}
	want := []string{"put MeshTimeout/default/new", "delete MeshRetry/default/goes", "put MeshRetry/default/stays"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

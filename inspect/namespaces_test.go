package inspect_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/inspect"
	"github.com/weftmesh/weft/inspect/conditions"
	"github.com/weftmesh/weft/inspect/explain"
	"github.com/weftmesh/weft/inspect/terminal"
	"github.com/weftmesh/weft/internal/inspecttest"
)

// namesakes are dataplanes and policies of the same names: vm in two namespaces, and mr of the
// mesh and of a namespace.
const namesakes = `
{type: MeshService, mesh: default, name: web, spec: {selector: {dataplaneTags: {kuma.io/service: web}}, ports: [{port: 80, appProtocol: http}]}}
---
{apiVersion: kuma.io/v1alpha1, kind: Dataplane, metadata: {name: vm, namespace: shop}, spec: {networking: {address: 127.0.0.1, inbound: [{port: 9000, tags: {kuma.io/service: web, kuma.io/protocol: http}}],
  outbound: [{port: 10001, tags: {kuma.io/service: web}}]}}}
---
{apiVersion: kuma.io/v1alpha1, kind: Dataplane, metadata: {name: vm, namespace: bank}, spec: {networking: {address: 127.0.0.2, inbound: [{port: 9000, tags: {kuma.io/service: web, kuma.io/protocol: http}}],
  outbound: [{port: 10001, tags: {kuma.io/service: web}}]}}}
---
{type: MeshRetry, mesh: default, name: all, spec: {to: [{targetRef: {kind: Mesh}, default: {http: {numRetries: 1}}}]}}
---
{type: MeshTimeout, mesh: default, name: mt, spec: {targetRef: {kind: Dataplane, name: nobody}, to: [{targetRef: {kind: Mesh}, default: {http: {requestTimeout: 1s}}}]}}
---
{apiVersion: kuma.io/v1alpha1, kind: MeshTimeout, metadata: {name: mt, namespace: shop}, spec: {targetRef: {kind: Dataplane}, to: [{targetRef: {kind: Mesh}, default: {http: {requestTimeout: 2s}}}]}}
`

func inNamespace(kind, namespace, name string) api.Ref {
	return api.Ref{Kind: kind, Mesh: "default", Namespace: namespace, Name: name}
}

// Where an object takes part is said by names that tell dataplanes of two namespaces apart, and
// by which each can be asked about.
func TestDataplanesOfAnObjectAreToldApart(t *testing.T) {
	t.Parallel()
	m := inspecttest.Model(t, namesakes)
	e, err := conditions.ExplainObject(m, inNamespace("MeshRetry", "", "all"), nil)
	if want := []string{"vm.bank", "vm.shop"}; err != nil || !slices.Equal(e.Dataplanes, want) {
		t.Errorf("%v: at %q, want %q", err, e.Dataplanes, want)
	}
}

// Of two policies of one name that is about which it is asked.
func TestAboutAPolicyOfANamespace(t *testing.T) {
	t.Parallel()
	m, vm := inspecttest.Model(t, namesakes), inNamespace(api.KindDataplane, "shop", "vm")
	for name, want := range map[string]int{"mt": 0, "mt.shop": 1} {
		e, err := explain.About(m, vm, "", api.Ref{Kind: "MeshTimeout", Name: name}, inspect.ListOptions{}, -1)
		if err != nil || len(e.Outbounds) != want {
			t.Errorf("about %s: %v, %d outbounds, want %d", name, err, len(e.Outbounds), want)
		}
	}
}

// A rule of which a match is still open is not shadowed, although its first one is.
func TestARuleWithAnOpenMatchIsNotShadowed(t *testing.T) {
	t.Parallel()
	e, err := explain.Of(inspecttest.Model(t, `
{type: MeshService, mesh: default, name: web, spec: {selector: {dataplaneTags: {kuma.io/service: web}}, ports: [{port: 80, appProtocol: http}]}}
---
{type: Dataplane, mesh: default, name: a, networking: {address: 127.0.0.1, inbound: [{port: 9000, tags: {kuma.io/service: web}}], outbound: [{port: 10001, backendRef: {kind: MeshService, name: web, port: 80}}]}}
---
{type: MeshHTTPRoute, mesh: default, name: r, spec: {to: [{targetRef: {kind: MeshService, name: web}, rules: [
  {matches: [{path: {type: PathPrefix, value: /first}}], default: {}},
  {matches: [{path: {type: PathPrefix, value: /first}}, {path: {type: PathPrefix, value: /open}}], default: {}},
  {matches: [{path: {type: PathPrefix, value: /first}}, {path: {type: Exact, value: /first/closed}}, {path: {type: PathPrefix, value: /open}, method: GET}], default: {}}]}]}}
`), inspecttest.Plane("a"), "")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range e.Outbounds[0].Routes {
		if len(r.Origins) > 0 && r.ShadowedBy != nil {
			got = append(got, terminal.MatchesText(r.Matches))
		}
	}
	if len(got) > 0 {
		t.Errorf("shadowed are %q", got)
	}
}

// A policy that only takes part in previews is told of as one, and not as one that is in force.
func TestAShadowIsToldAsOne(t *testing.T) {
	t.Parallel()
	e, err := explain.Of(inspecttest.Model(t, inspecttest.Street+`---
type: MeshTimeout
mesh: default
name: later
labels: {kuma.io/effect: shadow}
spec: {to: [{targetRef: {kind: Mesh}, default: {http: {requestTimeout: 2s}}}]}
`), inspecttest.Plane("a-1"), "")
	if err != nil {
		t.Fatal(err)
	}
	at := slices.IndexFunc(e.NotApplied, func(u explain.NotApplied) bool { return u.Ref.Name == "later" })
	if at < 0 || e.NotApplied[at].Code != "Shadow" || !strings.Contains(e.NotApplied[at].Reason, "kuma.io/effect: shadow") {
		t.Errorf("unmatched are %+v", e.NotApplied)
	}
}

// Each rule of a route whose destination is not there says so.
func TestRulesOfALostDestination(t *testing.T) {
	t.Parallel()
	m := inspecttest.Model(t, inspecttest.Street+`---
type: MeshHTTPRoute
mesh: default
name: lost
spec:
  to:
    - targetRef: {kind: MeshService, name: wep}
      rules: [{matches: [{path: {type: Exact, value: /a}}], default: {}}, {matches: [{path: {type: Exact, value: /b}}], default: {}}]
`)
	e, err := conditions.ExplainObject(m, inNamespace("MeshHTTPRoute", "", "lost"), nil)
	if err != nil || len(e.Targets) != 2 {
		t.Fatalf("%v: %+v", err, e.Targets)
	}
	for _, x := range e.Targets {
		if x.State != conditions.Missing || !strings.Contains(x.Reason, "did you mean web") {
			t.Errorf("%s is %s: %s", x.Field, x.State, x.Reason)
		}
	}
}

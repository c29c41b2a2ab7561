package kuma_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/inspect/kuma"
	"github.com/weftmesh/weft/inspect/kuma/insights"
	"github.com/weftmesh/weft/internal/inspecttest"
)

// namesakes are two policies of one name, of the mesh and of a namespace, at a dataplane of it;
// the latter has two items that concern what it calls.
const namesakes = `
{type: MeshService, mesh: default, name: web, spec: {selector: {dataplaneTags: {kuma.io/service: web}}, ports: [{port: 80, name: main, appProtocol: http}]}}
---
{apiVersion: kuma.io/v1alpha1, kind: Dataplane, metadata: {name: vm, namespace: shop}, spec: {networking: {address: 127.0.0.1, inbound: [{port: 9000, tags: {kuma.io/service: web, kuma.io/protocol: http}}],
  outbound: [{port: 10001, tags: {kuma.io/service: web}}]}}}
---
{type: MeshTimeout, mesh: default, name: mt, spec: {to: [{targetRef: {kind: Mesh}, default: {http: {requestTimeout: 1s}}}]}}
---
{apiVersion: kuma.io/v1alpha1, kind: MeshTimeout, metadata: {name: mt, namespace: shop}, spec: {targetRef: {kind: Dataplane}, to: [
  {targetRef: {kind: Mesh}, default: {http: {requestTimeout: 2s}}}, {targetRef: {kind: Mesh}, default: {idleTimeout: 3s}}]}}
`

// Whoever has a say is named in every view, also beside one of the same name in another namespace,
// and a policy once for each item that is told of.
func TestNamesakesAreAllNamed(t *testing.T) {
	t.Parallel()
	m, dp := inspecttest.Model(t, namesakes), api.Ref{Kind: api.KindDataplane, Mesh: "default", Namespace: "shop", Name: "vm"}
	rules, err := kuma.Rules(m, world.Catalog(), dp)
	if err != nil {
		t.Fatal(err)
	}
	k := rules.Rules[slices.IndexFunc(rules.Rules, func(k kuma.KindRules) bool { return k.Type == "MeshTimeout" })]
	var to, resources, legacy []string
	for _, o := range k.ToRules[0].Origin {
		to = append(to, o.Name)
	}
	for _, o := range k.ToResourceRules[0].Origin {
		resources = append(resources, fmt.Sprintf("%s %d", o.ResourceMeta.Name, o.RuleIndex))
	}
	if want := []string{"mt", "mt.shop"}; !slices.Equal(to, want) {
		t.Errorf("toRules are by %q, want %q", to, want)
	}
	if want := []string{"mt 0", "mt.shop 0", "mt.shop 1"}; !slices.Equal(resources, want) {
		t.Errorf("toResourceRules are by %q, want %q", resources, want)
	}
	list, err := kuma.Legacy(m, dp)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range list.Items[0].Origins {
		legacy = append(legacy, o.Name)
	}
	slices.Sort(legacy) // items that say nothing of one field have no order
	if want := []string{"mt", "mt.shop"}; !slices.Equal(legacy, want) {
		t.Errorf("rules are by %q, want %q", legacy, want)
	}
}

// stronger are two routes that come to one rule: the filters and the backends of the second hold.
const stronger = `
{type: MeshService, mesh: default, name: web, spec: {selector: {dataplaneTags: {kuma.io/service: web}}, ports: [{port: 80, name: main, appProtocol: http}]}}
---
{type: Dataplane, mesh: default, name: a, networking: {address: 127.0.0.1, inbound: [{port: 9000, tags: {kuma.io/service: web}}], outbound: [{port: 10001, backendRef: {kind: MeshService, name: web, port: 80}}]}}
---
{type: MeshHTTPRoute, mesh: default, name: weak, spec: {to: [{targetRef: {kind: MeshService, name: web}, rules: [{matches: [{path: {type: PathPrefix, value: /v1}}], default: {filters: [{type: RequestRedirect, requestRedirect: {hostname: weak.test}}]}}]}]}}
---
{type: MeshHTTPRoute, mesh: default, name: strong, spec: {targetRef: {kind: Dataplane, name: a}, to: [{targetRef: {kind: MeshService, name: web}, rules: [{matches: [{path: {type: PathPrefix, value: /v1}}], default: {filters: [{type: RequestRedirect, requestRedirect: {hostname: strong.test}}]}}]}]}}
---
{type: MeshRetry, mesh: default, name: mr, spec: {targetRef: {kind: MeshHTTPRoute, name: strong}, to: [{targetRef: {kind: Mesh}, default: {http: {numRetries: 7}}}]}}
`

// A rule of two routes has what the stronger says, names both, and tells of no policy that takes
// no part where the proxy answers by itself.
func TestARuleOfTwoRoutes(t *testing.T) {
	t.Parallel()
	m, c := inspecttest.Model(t, stronger), world.Catalog()
	said := func(v any, err error) string {
		t.Helper()
		text, wrong := json.Marshal(v)
		if err != nil || wrong != nil {
			t.Fatal(err, wrong)
		}
		return string(text)
	}
	const web = "kri_msvc_default___web_main"
	rules, err := kuma.Rules(m, c, plane("a"))
	if all := said(rules, err); !strings.Contains(all, "strong.test") || strings.Contains(all, "weak.test") {
		t.Errorf("_rules: %s", all)
	}
	routes, err := kuma.Routes(m, c, plane("a"), web)
	all := said(routes, err)
	for _, part := range []string{"strong.test", `"origins":[{"kri":"kri_mhttpr_default___weak_"},{"kri":"kri_mhttpr_default___strong_"}]`} {
		if !strings.Contains(all, part) {
			t.Errorf("_routes: no %s in %s", part, all)
		}
	}
	list, err := kuma.OutboundPolicies(m, c, plane("a"), web, "kri_mhttpr_default___strong_")
	if all := said(list, err); strings.Contains(all, "MeshRetry") {
		t.Errorf("_policies of a redirect: %s", all)
	}
}

// What is counted of a dataplane and taken back leaves nothing, and a dataplane to whose pod no
// Service leads answers as soon as its sidecar is connected.
func TestInsightsOfFew(t *testing.T) {
	t.Parallel()
	s := world.Snapshot(objects(t, `
{type: Dataplane, mesh: default, name: job, networking: {address: 127.0.0.1, inbound: [{port: 49151, tags: {kuma.io/service: job}}]}}
---
{type: MeshExternalService, mesh: default, name: job, spec: {match: {type: HostnameGenerator, port: 443, protocol: tcp}, endpoints: [{address: 192.0.2.1, port: 443}]}}
`)...)
	mesh, _ := s.Get(api.Ref{Kind: api.KindMesh, Name: "default"})
	got, services := insights.InsightsOf(world.Catalog(), s, mesh, func(api.Ref) insights.Seen { return insights.Seen{Connected: true} })
	if want := (insights.Counts{Total: 1, Online: 1}); got.Dataplanes != want {
		t.Errorf("dataplanes are %+v, want %+v", got.Dataplanes, want)
	}
	if len(services) != 1 || services[0].ServiceType != insights.Internal || services[0].Status != "online" {
		t.Errorf("a service of dataplanes and an external one of its name: %+v", services)
	}
	tally := insights.NewTally()
	at := func(name string) *api.Networking {
		return objects(t, "{type: Dataplane, mesh: default, name: "+name+", networking: {address: 127.0.0.1, inbound: [{port: 80, tags: {kuma.io/service: web}}]}}")[0].Spec.(*api.Dataplane).Networking
	}
	old, both := at("a"), at("b")
	tally.Add(old, insights.Seen{Connected: true, Root: "old"})
	tally.Add(both, insights.Seen{Connected: true, Root: "new"})
	tally.Remove(old, insights.Seen{Connected: true, Root: "old"})
	_, services = tally.Insights(world.Catalog(), world.Snapshot(), mesh)
	if len(services) != 1 || fmt.Sprint(services[0].Issued) != "map[new:1]" || services[0].Dataplanes.Total != 1 {
		t.Errorf("after one was taken back: %+v", services)
	}
}

package kuma_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/inspect/kuma"
)

// apart are policies and routes of which no two share a field or a rule, so that their strength alone
// says who comes last: by the top-level targetRef, by what the item is about, and by the name. The
// stronger one always stands at what sorts first.
const apart = `
{type: Dataplane, mesh: default, name: shop-1, labels: {app: shop}, networking: {address: 10.0.0.1,
  inbound: [{port: 80, tags: {kuma.io/service: shop, kuma.io/protocol: http}}], outbound: [{port: 9000, backendRef: {kind: MeshService, name: web, port: 80}}]}}
---
{type: MeshService, mesh: default, name: web, spec: {selector: {dataplaneTags: {kuma.io/service: web}}, ports: [{port: 80, appProtocol: http}]}}
---
{type: MeshTimeout, mesh: default, name: strong, spec: {targetRef: {kind: Dataplane, labels: {app: shop}},
  to: [{targetRef: {kind: Mesh}, default: {connectionTimeout: 1s}}]}}
---
{type: MeshTimeout, mesh: default, name: strong-in, spec: {targetRef: {kind: Dataplane, labels: {app: shop}}, rules: [{default: {http: {streamIdleTimeout: 1s}}}]}}
---
{type: MeshTimeout, mesh: default, name: a-middle-in, spec: {rules: [{default: {idleTimeout: 7s}}]}}
---
{type: MeshTimeout, mesh: default, name: b-weak-in, spec: {rules: [{default: {http: {requestTimeout: 2s}}}]}}
---
{type: MeshTimeout, mesh: default, name: a-middle, spec: {to: [{targetRef: {kind: MeshService, name: web}, default: {http: {streamIdleTimeout: 7s}}}]}}
---
{type: MeshTimeout, mesh: default, name: b-weak, spec: {to: [{targetRef: {kind: MeshService, name: web}, default: {http: {requestTimeout: 2s}}}]}}
---
{type: MeshHTTPRoute, mesh: default, name: strong, spec: {targetRef: {kind: Dataplane, labels: {app: shop}}, to: [{targetRef: {kind: MeshService, name: web},
  rules: [{matches: [{path: {type: Exact, value: /longest/of/all}}], default: {}}]}]}}
---
{type: MeshHTTPRoute, mesh: default, name: a-middle, spec: {to: [{targetRef: {kind: MeshService, name: web}, rules: [{matches: [{path: {type: PathPrefix, value: /mid}}], default: {}}]}]}}
---
{type: MeshHTTPRoute, mesh: default, name: b-weak, spec: {to: [{targetRef: {kind: MeshService, name: web}, rules: [{matches: [{path: {type: Exact, value: /longer/one}}], default: {}}]}]}}
`

// TestOriginsStandWeakestFirst: wherever Kuma's API lists who has a say, the last one is the strongest,
// though they speak of different fields (spec/kuma.md 5.2, 4.3).
func TestOriginsStandWeakestFirst(t *testing.T) {
	t.Parallel()
	model, _ := world.Compile(world.Snapshot(objects(t, apart)...))
	m, c, dp := model.Reader(nil), world.Catalog(), plane("shop-1")
	const want = "b-weak a-middle strong"
	hold := func(where string, names []string) {
		t.Helper()
		if got := strings.ReplaceAll(strings.Join(names, " "), "-in", ""); got != want {
			t.Errorf("%s: %s, wanted %s", where, got, want)
		}
	}
	rules, err := kuma.Rules(m, c, dp)
	if err != nil {
		t.Fatal(err)
	}
	places := 0
	for _, k := range rules.Rules {
		for i, r := range k.ToRules {
			if names := metaNames(r.Origin); len(names) > 1 {
				places++
				hold(fmt.Sprintf("_rules %s to %d", k.Type, i), names)
			}
		}
		for _, r := range k.ToResourceRules {
			if names := originNames(r.Origin); len(names) > 1 {
				places++
				hold("_rules "+k.Type+" of "+r.ResourceMeta.Name, names)
			}
		}
		for _, in := range k.InboundRules {
			places++
			hold("_rules "+k.Type+" inbound", originNames(in.Rules[0].Origin))
		}
	}
	if places < 5 {
		t.Errorf("_rules has %d places, wanted those of both kinds", places)
	}
	const web, in = "kri_msvc_default___web_80", "kri_dp_default___shop-1_80"
	outbound, err := kuma.OutboundPolicies(m, c, dp, web, "")
	if err != nil {
		t.Fatal(err)
	}
	inbound, err := kuma.InboundPolicies(m, c, dp, in)
	if err != nil {
		t.Fatal(err)
	}
	hold("_outbounds _policies", kriNames(timeoutOf(outbound).Origins))
	hold("_inbounds _policies", kriNames(timeoutOf(inbound).Origins))
	var byRule []kuma.KRIOrigin
	for _, r := range timeoutOf(inbound).Rules {
		byRule = append(byRule, kuma.KRIOrigin{KRI: r.KRI})
	}
	hold("_inbounds _policies rules", kriNames(byRule))
	routes, err := kuma.Routes(m, c, dp, web)
	if err != nil || len(routes.Routes) != 1 {
		t.Fatal(routes, err)
	}
	hold("_routes", kriNames(routes.Routes[0].Origins))
}

func timeoutOf(l kuma.PolicyList) kuma.KindPolicy {
	i := slices.IndexFunc(l.Policies, func(p kuma.KindPolicy) bool { return p.Kind == "MeshTimeout" })
	return l.Policies[i]
}

// kriNames are the names in KRIs.
func kriNames(list []kuma.KRIOrigin) []string {
	var out []string
	for _, o := range list {
		out = append(out, strings.Split(o.KRI, "_")[5])
	}
	return out
}

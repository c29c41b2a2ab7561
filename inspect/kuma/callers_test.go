package kuma_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/inspect/kuma"
)

// What a rule says of some callers stands beside what holds for everybody, in the order in which Envoy asks, for the
// kind that says it alone.
func TestRulesOfSomeCallersAreShown(t *testing.T) {
	t.Parallel()
	list := append(objects(t, `{type: Mesh, name: default, mtls: {enabledBackend: ca, backends: [{name: ca, type: builtin}]}}
---
{type: MeshTimeout, mesh: default, name: z-all, spec: {rules: [{default: {http: {requestTimeout: 10s}}}]}}
---
{type: MeshTimeout, mesh: default, name: some, spec: {rules: [
  {matches: [{spiffeID: {type: Prefix, value: spiffe://default/team}}], default: {http: {requestTimeout: 20s}}},
  {matches: [{spiffeID: {type: Exact, value: spiffe://default/team/web}}], default: {http: {requestTimeout: 30s}}}]}}
---
{type: MeshRateLimit, mesh: default, name: limit, spec: {rules: [{default: {local: {http: {requestRate: {num: 5, interval: 1s}}}}}]}}
---
{type: Dataplane, mesh: default, name: backend-1, networking: {address: 10.0.0.1, inbound: [{name: main, port: 80, tags: {kuma.io/service: backend, kuma.io/protocol: http}}]}}
`), &api.Object{Ref: api.InsightRef(api.Ref{Mesh: "default", Name: "backend-1"}), Spec: &api.DataplaneInsight{Identity: true, TLS: true}})
	m, _ := world.Compile(world.Snapshot(list...))
	rules, err := kuma.Rules(m.Reader(nil), world.Catalog(), plane("backend-1"))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, k := range rules.Rules {
		for _, in := range k.InboundRules {
			for _, r := range in.Rules {
				text, err := json.Marshal([]any{k.Type, r.Match, r.Conf})
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, string(text))
			}
		}
	}
	if diff := cmp.Diff([]string{
		`["MeshRateLimit",null,[{"local":{"http":{"requestRate":{"num":5,"interval":"1s"}}}}]]`,
		`["MeshTimeout",{"spiffeID":{"type":"Exact","value":"spiffe://default/team/web"}},[{"http":{"requestTimeout":"30s"}}]]`,
		`["MeshTimeout",{"spiffeID":{"type":"Prefix","value":"spiffe://default/team"}},[{"http":{"requestTimeout":"20s"}}]]`,
		`["MeshTimeout",null,[{"http":{"requestTimeout":"10s"}}]]`,
	}, got); diff != "" {
		t.Error(diff)
	}
}

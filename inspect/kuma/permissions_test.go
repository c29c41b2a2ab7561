package kuma_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/inspect/kuma"
	"github.com/weftmesh/weft/inspect/kuma/insights"
	"github.com/weftmesh/weft/inspect/mtls"
	"github.com/weftmesh/weft/resolve"
)

const guarded = `{type: Mesh, name: default, mtls: {enabledBackend: ca, backends: [{name: ca, type: builtin}]}}
---
{type: MeshTrafficPermission, mesh: default, name: a, spec: {rules: [{default: {allow: [{spiffeID: {type: Exact, value: spiffe://default/web}}]}}]}}
---
{type: MeshTrafficPermission, mesh: default, name: b, spec: {targetRef: {kind: MeshSubset, tags: {kuma.io/service: backend}},
  from: [{targetRef: {kind: Mesh}, default: {action: Deny}}, {targetRef: {kind: MeshSubset, tags: {kuma.io/service: ops}}, default: {action: Allow}}],
  rules: [{default: {deny: [{spiffeID: {type: Exact, value: spiffe://default/old}}]}}]}}
---
{type: MeshTLS, mesh: default, name: m, spec: {rules: [{default: {mode: Permissive}}]}}
---
{type: Dataplane, mesh: default, name: backend-1, networking: {address: 10.0.0.1, inbound: [{name: main, port: 80, tags: {kuma.io/service: backend, kuma.io/protocol: http}}]}}
`

// guardedMesh is a mesh with mutual TLS of which documents say who may call.
func guardedMesh(t *testing.T) (*resolve.Reader, *api.Catalog) {
	t.Helper()
	list := append(objects(t, guarded), &api.Object{Ref: api.InsightRef(api.Ref{Mesh: "default", Name: "backend-1"}), Spec: &api.DataplaneInsight{Identity: true, TLS: true}})
	m, _ := world.Compile(world.Snapshot(list...))
	return m.Reader(nil), world.Catalog()
}

// TestPermissionsInKumasViews: what adds up stands beside each other with who says it, and what
// replaces each other as what holds (spec/identity.md 4.7).
func TestPermissionsInKumasViews(t *testing.T) {
	t.Parallel()
	m, c := guardedMesh(t)
	dp := plane("backend-1")
	rules, err := kuma.Rules(m, c, dp)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	say := func(parts ...any) {
		text := make([]string, len(parts))
		for i, p := range parts {
			raw, err := json.Marshal(p)
			if err != nil {
				t.Fatal(err)
			}
			text[i] = string(raw)
		}
		got = append(got, strings.Join(text, " "))
	}
	for _, k := range rules.Rules {
		if k.Type != "MeshTrafficPermission" && k.Type != "MeshTLS" {
			continue
		}
		for _, in := range k.FromRules {
			for _, r := range in.Rules {
				say(k.Type, "from", r.Matchers, r.Conf, len(r.Origin))
			}
		}
		for _, in := range k.InboundRules {
			for _, r := range in.Rules {
				say(k.Type, "rules", in.Inbound.Port, r.Match, r.Conf)
				for _, o := range r.Origin {
					say(o.ResourceMeta.Name, o.RuleIndex)
				}
			}
		}
	}
	list, err := kuma.InboundPolicies(m, c, dp, "kri_dp_default___backend-1_main")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range list.Policies {
		for _, r := range p.Rules {
			say(p.Kind, r.KRI, r.Conf)
		}
	}
	layout, err := kuma.LayoutOf(m, c, dp)
	if err != nil {
		t.Fatal(err)
	}
	say("layout", layout.SpiffeID)
	want := []string{
		`"MeshTLS" "rules" 80 null [{"mode":"Permissive"}]`,
		`"m" 0`,
		`"MeshTrafficPermission" "from" [{"key":"kuma.io/service","not":false,"value":"ops"}] {"action":"Allow"} 1`,
		`"MeshTrafficPermission" "from" [{"key":"kuma.io/service","not":true,"value":"ops"}] {"action":"Deny"} 1`,
		`"MeshTrafficPermission" "rules" 80 null [{"allow":[{"spiffeID":{"type":"Exact","value":"spiffe://default/web"}}]},{"deny":[{"spiffeID":{"type":"Exact","value":"spiffe://default/old"}}]}]`,
		`"a" 0`,
		`"b" 0`,
		`"MeshTLS" "kri_mtls_default___m_" {"mode":"Permissive"}`,
		`"MeshTrafficPermission" "kri_mtp_default___a_" {"allow":[{"spiffeID":{"type":"Exact","value":"spiffe://default/web"}}]}`,
		`"MeshTrafficPermission" "kri_mtp_default___b_" {"action":"Deny"}`,
		`"MeshTrafficPermission" "kri_mtp_default___b_" {"deny":[{"spiffeID":{"type":"Exact","value":"spiffe://default/old"}}]}`,
		`"MeshTrafficPermission" "kri_mtp_default___b_" {"action":"Allow"}`,
		`"layout" "spiffe://default/backend"`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestBackendsAreNamed: who has signed, and who is trusted, stands in insights by the backends
// of Mesh.mtls and the KRIs of MeshIdentities.
func TestBackendsAreNamed(t *testing.T) {
	t.Parallel()
	catalog := world.Catalog()
	own := api.Ref{Kind: api.KindMeshIdentity, Mesh: "default", Name: "own"}
	mesh := &api.Object{Ref: api.Ref{Kind: api.KindMesh, Name: "default"}, Spec: &api.Mesh{}}
	s := snapshot.New(1, mesh, &api.Object{Ref: own, Spec: &api.MeshIdentity{}})
	b := insights.BackendsOf(catalog, s, []mtls.Root{{Of: mesh.Ref, Backend: "ca-1", Fingerprint: "01"}, {Of: own, Fingerprint: "02"}, {Of: mesh.Ref, Backend: "ca-2"}})
	tally := insights.NewTally()
	for i, root := range []string{"01", "01", "02", "", "gone"} {
		n := &api.Networking{Inbound: []api.Inbound{{Port: 80, Tags: map[string]string{api.TagService: "web"}}}}
		tally.Add(n, insights.Seen{Connected: i > 0, Root: root})
	}
	insight, services := tally.Insights(catalog, s, mesh)
	b.Name(&insight, services)
	kri := "kri_mid_default___own_"
	one := insights.Counts{Total: 1, Online: 1}
	all := insights.Counts{Total: 4, Online: 3, Offline: 1}
	if diff := cmp.Diff(insights.BackendCounts{Issued: map[string]insights.Counts{"ca-1": {Total: 2, Online: 1, Offline: 1}, kri: one, "unknown": one},
		Supported: map[string]insights.Counts{"ca-1": all, kri: all}}, insight.MTLS); diff != "" {
		t.Errorf("mesh (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]int{"ca-1": 2, kri: 1, "unknown": 1}, services[0].Issued); diff != "" {
		t.Errorf("service (-want +got):\n%s", diff)
	}
	if got := b.Certified(mtls.Observed{Certificates: 2, Certificate: &mtls.Certificate{Root: "02"}}); got.Issued != kri || fmt.Sprint(got.Supported) != fmt.Sprint([]string{"ca-1", kri}) || got.Count != 2 {
		t.Errorf("%+v", got)
	}
	if b.Certified(mtls.Observed{}) != nil {
		t.Error("a sidecar without a certificate has one")
	}
}

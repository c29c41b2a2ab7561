package resolve_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/internal/worlds"
	"github.com/weftmesh/weft/policies/trafficpermission"
	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/route/match"
)

// shared is a mesh whose MeshIdentity names workloads by their team alone: web in two versions
// and orders.
func shared(t *testing.T, c *composition, policies ...string) *resolve.Model {
	t.Helper()
	objects := []*api.Object{{Ref: api.Ref{Kind: api.KindMesh, Name: "default"}, Spec: &api.Mesh{}}, worlds.Decode(t, c.catalog,
		`{"type":"MeshIdentity","mesh":"default","name":"i","spec":{"selector":{},"spiffeID":{"trustDomain":"td","path":"/{{ label \"team\" }}"},"provider":{"type":"Bundled","bundled":{"insecureAllowSelfSigned":true,"autogenerate":{"enabled":true}}}}}`)}
	for i, p := range []struct{ name, team, service, version string }{{"w1", "web", "web", "v1"}, {"w2", "web", "web", "v2"}, {"o", "orders", "orders", "v1"}, {"b", "webber", "b", "v1"}} {
		objects = append(objects, worlds.Decode(t, c.catalog, fmt.Sprintf(`{"type":"Dataplane","mesh":"default","name":%q,"labels":{"team":%q},
			"networking":{"address":"10.0.0.%d","inbound":[{"port":80,"tags":{"kuma.io/service":%q,"version":%q}}]}}`, p.name, p.team, i+1, p.service, p.version)))
		if p.name != "b" {
			objects = append(objects, worlds.Insight(p.name, api.DataplaneInsight{Identity: true, TLS: true}))
		}
	}
	objects = append(objects, worlds.Decode(t, c.catalog, `{"type":"MeshTLS","mesh":"default","name":"mode","spec":{"rules":[{"default":{"mode":"Strict"}}]}}`))
	for i, spec := range policies {
		objects = append(objects, worlds.Decode(t, c.catalog, fmt.Sprintf(`{"type":"MeshTrafficPermission","mesh":"default","name":"p%d","spec":%s}`, i, spec)))
	}
	m, _ := resolve.Compile(snapshot.New(1, objects...), c.dialects, c.kinds)
	return m
}

// TestSharedNames: of workloads that share a name and are told apart by tags all are denied
// where one is, and none is allowed unless all are (spec/identity.md 8, case 39).
func TestSharedNames(t *testing.T) {
	t.Parallel()
	c := newComposition(t)
	const from = `{"from":[{"targetRef":{"kind":%q%s},"default":{"action":%q}}]}`
	v1, web := `,"tags":{"version":"v1"}`, `,"name":"web"`
	all := `{"rules":[{"default":{"allow":[{"spiffeID":{"type":"Prefix","value":"spiffe://td"}}]}}]}`
	for _, x := range []struct {
		what     string
		policies []string
		want     string // who is let in
	}{
		{"some allowed", []string{fmt.Sprintf(from, "MeshSubset", v1, "Allow")}, "orders webber"},
		{"some denied", []string{fmt.Sprintf(from, "MeshSubset", v1, "Deny"), all}, ""},
		{"all of a name allowed", []string{fmt.Sprintf(from, "MeshService", web, "Allow")}, "web"},
		{"all of a name denied", []string{fmt.Sprintf(from, "MeshService", web, "Deny"), all}, "orders webber"},
	} {
		m := shared(t, c, x.policies...)
		r, _ := m.Dataplane(api.Ref{Kind: api.KindDataplane, Mesh: "default", Name: "o"})
		p := trafficpermission.Of(r.Inbounds[0].Policies.Of(trafficpermission.Kind.Name))
		var got []string
		for _, who := range []string{"orders", "web", "webber"} {
			if p.Decide(&trafficpermission.Asked{Names: []string{"spiffe://td/" + who}, Request: &match.Request{Method: "GET", Path: "/"}}).Allowed {
				got = append(got, who)
			}
		}
		if strings.Join(got, " ") != x.want {
			t.Errorf("%s: %v are let in, want %s", x.what, got, x.want)
		}
	}
}

// TestEnforcedNotes: what people are told of names that nobody has, and of inbounds that ask
// nobody.
func TestEnforcedNotes(t *testing.T) {
	t.Parallel()
	c := newComposition(t)
	m := shared(t, c, `{"rules":[{"default":{"allow":[{"spiffeID":{"type":"Exact","value":"spiffe://td/order"}},{"spiffeID":{"type":"Prefix","value":"spiffe://td/web"}}]}}]}`,
		`{"from":[{"targetRef":{"kind":"MeshSubset","tags":{"version":"v1"}},"default":{"action":"Deny"}}]}`)
	var got []string
	for n := range m.Notes() {
		if n.Origin.Ref.Kind == trafficpermission.Kind.Name {
			got = append(got, fmt.Sprintf("%s %s %s: %s", n.Origin.Ref.Name, n.Code, n.Field, n.Message))
		}
	}
	want := []string{
		`p0 UnknownIdentity spec.rules[0].default.allow[0].spiffeID.value: no workload of the mesh is spiffe://td/order; did you mean spiffe://td/orders, spiffe://td/web, spiffe://td/webber?`,
		`p0 OpenPrefix spec.rules[0].default.allow[1].spiffeID.value: as a beginning of text it holds of spiffe://td/webber too, where segments end elsewhere: an allow does not take it so, and a deny does; write a whole segment`,
		`p1 GreetingBeforeCheck spec.from[0].default.action: at inbounds that carry bytes the handshake cannot decide it, so that a caller who is denied hears what a workload says that speaks first; say who may by names alone, without a deny`,
		`p1 SharedIdentity spec.from[0].targetRef: workloads that it is about share spiffe://td/web with others, so that nobody can tell who calls: to deny some denies all, and to allow some allows none; give them identities of their own`,
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("\n%s", strings.Join(got, "\n"))
	}
}

// TestWherePermissionsAreNotAsked: what people are told of entries that hold of fewer callers
// than they read as (spec/identity.md 4.3, 4.6; F9, F10).
func TestWherePermissionsAreNotAsked(t *testing.T) {
	t.Parallel()
	c := newComposition(t)
	const names = `{"spiffeID":{"type":"Exact","value":"spiffe://td/web"}}`
	for _, x := range []struct{ mode, spec, want string }{
		{"Strict", `{"rules":[{"default":{"allow":[` + names + `]}}]}`, ""},
		{"Strict", `{"rules":[{"default":{"allow":[` + names + `],"deny":[` + names + `]}}]}`, "p0 GreetingBeforeCheck spec.rules[0].default.deny[0]"},
		{"Strict", `{"rules":[{"default":{"allow":[` + names + `,{"http":{"methods":["GET"]}}],"deny":[{"http":{"methods":["PUT"]}}]}}]}`,
			"p0 RequestsNotRead spec.rules[0].default.allow[1]|p0 RequestsNotRead spec.rules[0].default.deny[0]"},
		{"Permissive", `{"rules":[{"default":{"allow":[` + names + `]}}]}`, "b ServerFirstDelay |o ServerFirstDelay |p0 PlaintextNotAsked |w1 ServerFirstDelay |w2 ServerFirstDelay "},
		{"Permissive", `{"rules":[{"default":{"allow":[` + names + `,{"anonymous":true}]}}]}`, "b ServerFirstDelay |o ServerFirstDelay |w1 ServerFirstDelay |w2 ServerFirstDelay "},
	} {
		m := shared(t, c, x.spec)
		tls := worlds.Decode(t, c.catalog, fmt.Sprintf(`{"type":"MeshTLS","mesh":"default","name":"mode","spec":{"rules":[{"default":{"mode":%q}}]}}`, x.mode))
		heard := worlds.Insight("b", api.DataplaneInsight{Identity: true, TLS: true})
		was, _ := m.Snapshot().Get(tls.Ref)
		changes := []snapshot.Change{{Before: was, After: tls}, {After: heard}}
		m, _ = m.Update(m.Written().With(2, changes), changes)
		var got []string
		for n := range m.Notes() {
			if n.Code != "UnknownIdentity" && n.Code != "OpenPrefix" && n.Code != "SpiffeIDInvalid" {
				got = append(got, fmt.Sprintf("%s %s %s", n.Origin.Ref.Name, n.Code, n.Field))
			}
		}
		slices.Sort(got)
		if strings.Join(got, "|") != x.want {
			t.Errorf("%s %s:\n%s\nwant\n%s", x.mode, x.spec, strings.Join(got, "|"), x.want)
		}
	}
}

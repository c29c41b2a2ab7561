package resolve_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/internal/resolvetest"
	"github.com/weftmesh/weft/internal/worlds"
	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/resolve/conditions"
	"github.com/weftmesh/weft/route"
)

// TestAFailureIsNoneOfOthersBusiness: a document that makes the resolver panic is
// named with its cause, alike however the graph came about, and all others hold.
func TestAFailureIsNoneOfOthersBusiness(t *testing.T) {
	t.Parallel()
	c := newComposition(t)
	dialects := c.panickingAt("bad")
	routeTo := func(name, path string) *api.Object {
		return worlds.Decode(t, c.catalog, `{"type":"MeshHTTPRoute","mesh":"default","name":"`+name+`","spec":{"to":[{"targetRef":{"kind":"MeshService","name":"web"},
			"rules":[{"matches":[{"path":{"type":"Exact","value":"`+path+`"}}],"default":{}}]}]}}`)
	}
	plane := worlds.Decode(t, c.catalog, `{"type":"Dataplane","mesh":"default","name":"a","networking":{"address":"127.0.0.2",
		"inbound":[{"port":80,"tags":{"kuma.io/service":"web","kuma.io/protocol":"http"}}],"outbound":[{"port":10001,"tags":{"kuma.io/service":"web"}}]}}`)
	empty, _ := resolve.Compile(snapshot.New(0), dialects, c.kinds)
	bad, good := snapshot.Change{After: routeTo("bad", "/bad")}, snapshot.Change{After: routeTo("good", "/good")}
	update := func(m *resolve.Model, changes ...snapshot.Change) (*resolve.Model, resolve.Affected) {
		return m.Update(m.Snapshot().With(m.Snapshot().Revision()+1, changes), changes)
	}
	atOnce, _ := update(empty, bad, good, snapshot.Change{After: plane})
	before, _ := update(empty, good, snapshot.Change{After: plane})
	later, affected := update(before, bad)
	if len(affected.Dataplanes) > 0 {
		t.Errorf("what was not derived affects %v", affected.Dataplanes)
	}
	for _, m := range []*resolve.Model{atOnce, later} {
		failures := m.Failures()
		if len(failures) != 1 || !strings.HasPrefix(failures[0].Cause, "planted in ") || !slices.Equal(failures[0].Objects, []api.Ref{bad.After.Ref}) {
			t.Errorf("failures are %v", failures)
		}
		if notes := m.Reader(nil).NotesOn(bad.After.Ref); len(notes) != 1 || notes[0].Code != conditions.Unresolvable {
			t.Errorf("notes on it are %v", notes)
		}
		if r, ok := m.Dataplane(plane.Ref); !ok || len(r.Outbounds[0].Table.Routes) != 2 || r.Failed != "" {
			t.Errorf("the good route and the implicit one are missing: %s", resolvetest.Dump(m))
		}
	}
	healed, affected := update(later, snapshot.Change{Before: bad.After})
	if len(healed.Failures()) > 0 || len(affected.Dataplanes) > 0 {
		t.Errorf("still failing: %v, affected %v", healed.Failures(), affected.Dataplanes)
	}
}

// TestAFailedTableIsNoneOfOthersBusiness: where the rules for a destination cannot
// be composed, those who call it learn it, and what they call beside it holds.
func TestAFailedTableIsNoneOfOthersBusiness(t *testing.T) {
	t.Parallel()
	c := newComposition(t)
	dialects := c.panickingFor("bad")
	plane := worlds.Decode(t, c.catalog, `{"type":"Dataplane","mesh":"default","name":"a","networking":{"address":"127.0.0.2",
		"inbound":[{"port":80,"tags":{"kuma.io/service":"good","kuma.io/protocol":"http"}},{"port":81,"tags":{"kuma.io/service":"bad","kuma.io/protocol":"http"}}],
		"outbound":[{"port":10001,"tags":{"kuma.io/service":"good"}},{"port":10002,"tags":{"kuma.io/service":"bad"}}]}}`)
	rt := worlds.Decode(t, c.catalog, `{"type":"MeshHTTPRoute","mesh":"default","name":"r","spec":{"to":[{"targetRef":{"kind":"MeshService","name":"bad"},
		"rules":[{"matches":[{"path":{"type":"Exact","value":"/"}}],"default":{}}]}]}}`)
	m, _ := resolve.Compile(snapshot.New(1, plane, rt), dialects, c.kinds)
	r, ok := m.Dataplane(plane.Ref)
	if !ok || len(r.Outbounds) != 1 || r.Outbounds[0].Destination.Name != "good" || len(r.Clusters) != 1 || !strings.HasPrefix(r.Failed, "planted in ") {
		t.Errorf("what holds is %s, failed %q", resolvetest.Dump(m), r.Failed)
	}
	if f := m.Failures(); len(f) != 1 || !slices.Equal(f[0].Objects, []api.Ref{rt.Ref}) {
		t.Errorf("failures are %v", f)
	}
	for _, ref := range []api.Ref{rt.Ref, plane.Ref} {
		if notes := m.Reader(nil).NotesOn(ref); len(notes) != 1 || notes[0].Code != conditions.Unresolvable {
			t.Errorf("notes on %s are %v", ref, notes)
		}
	}
}

// TestAFailedTableOpensNoInbound: where the rules for a destination cannot be composed, and a
// permission is attached to one of them, the inbounds of those who answer fail, and are not open to
// those whom it keeps out; inbounds of others hold (spec/identity.md 7, I13).
func TestAFailedTableOpensNoInbound(t *testing.T) {
	t.Parallel()
	c := newComposition(t)
	sound, buggy := c.dialects, c.panickingFor("bad")
	objects := []*api.Object{worlds.Decode(t, c.catalog, `{"type":"Mesh","name":"default","mtls":`+worlds.StrictMTLS+`}`)}
	for _, name := range []string{"good", "bad"} {
		objects = append(objects, worlds.Decode(t, c.catalog, `{"type":"Dataplane","mesh":"default","name":"`+name+`","networking":{"address":"127.0.0.2","inbound":[{"port":80,"tags":{"kuma.io/service":"`+name+`","kuma.io/protocol":"http"}}]}}`),
			worlds.Decode(t, c.catalog, `{"type":"MeshHTTPRoute","mesh":"default","name":"`+name+`","spec":{"to":[{"targetRef":{"kind":"MeshService","name":"`+name+`"},"rules":[{"matches":[{"path":{"type":"PathPrefix","value":"/admin"}}],"default":{}}]}]}}`),
			worlds.Decode(t, c.catalog, `{"type":"MeshTrafficPermission","mesh":"default","name":"`+name+`","spec":{"targetRef":{"kind":"MeshHTTPRoute","name":"`+name+`"},"rules":[{"default":{"deny":[{"spiffeID":{"type":"Prefix","value":"spiffe://default"}}]}}]}}`))
	}
	for _, x := range []struct {
		dialects []route.Dialect
		name     string
		fails    bool
	}{{sound, "bad", false}, {buggy, "good", false}, {buggy, "bad", true}} {
		m, _ := resolve.Compile(snapshot.New(1, objects...), x.dialects, c.kinds)
		r, ok := m.Dataplane(api.Ref{Kind: api.KindDataplane, Mesh: "default", Name: x.name})
		switch {
		case !ok || strings.HasPrefix(r.Failed, "planted in ") != x.fails:
			t.Errorf("%s failed %q", x.name, r.Failed)
		case x.fails && len(r.Inbounds) > 0:
			t.Errorf("%s has the inbound %+v", x.name, r.Inbounds[0].Inbound)
		case !x.fails && (len(r.Inbounds) != 1 || len(r.Inbounds[0].Rules) == 0):
			t.Errorf("%s has no rules: %s", x.name, resolvetest.Dump(m))
		}
	}
}

// TestAMeshWhoseIdentitiesFailOpensNothing: where it cannot be found out what a mesh says of
// identities, its dataplanes fail, and none takes plain text for it (spec/identity.md 7, I13).
func TestAMeshWhoseIdentitiesFailOpensNothing(t *testing.T) {
	t.Parallel()
	c := newComposition(t)
	strict := worlds.Decode(t, c.catalog, `{"type":"Mesh","name":"default","mtls":`+worlds.StrictMTLS+`}`)
	plane := worlds.Decode(t, c.catalog, `{"type":"Dataplane","mesh":"default","name":"a","networking":{"address":"127.0.0.2","inbound":[{"port":80,"tags":{"kuma.io/service":"web","kuma.io/protocol":"http"}}]}}`)
	broken := &api.Object{Ref: api.MeshInsightRef("default"), Spec: (*api.MeshInsight)(nil)}
	before, _ := resolve.Compile(snapshot.New(1, strict, plane), c.dialects, c.kinds)
	change := []snapshot.Change{{After: broken}}
	later, _ := before.Update(before.Snapshot().With(2, change), change)
	atOnce, _ := resolve.Compile(snapshot.New(1, strict, plane, broken), c.dialects, c.kinds)
	for _, m := range []*resolve.Model{atOnce, later} {
		r, ok := m.Dataplane(plane.Ref)
		if !ok || r.Failed == "" || len(r.Inbounds) > 0 || !m.Reader(nil).Identities("default") {
			t.Errorf("failed %q, identities %v: %s", r.Failed, m.Reader(nil).Identities("default"), resolvetest.Dump(m))
		}
	}
	change = []snapshot.Change{{Before: broken}}
	healed, _ := later.Update(later.Snapshot().With(3, change), change)
	if r, _ := healed.Dataplane(plane.Ref); r.Failed != "" || len(r.Inbounds) != 1 || r.Inbounds[0].TLS == nil {
		t.Errorf("healed it failed %q: %s", r.Failed, resolvetest.Dump(healed))
	}
}

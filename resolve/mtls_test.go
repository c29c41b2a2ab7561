package resolve_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/internal/resolvetest"
	"github.com/weftmesh/weft/internal/worlds"
	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/resolve/effective"
)

// identityDocument draws a document about identities, or what is known of a dataplane.
func identityDocument(t *rapid.T, c *composition) *api.Object {
	pick := func(label string, from ...string) string { return rapid.SampledFrom(from).Draw(t, label) }
	yes := func(label string) bool { return rapid.Bool().Draw(t, label) }
	switch pick("about", "mesh", "trust", "document", "document", "insight", "insight") {
	case "mesh":
		return worlds.SecureMesh(t, world.Catalog(), pick("mtls", worlds.StrictMTLS, worlds.PermissiveMTLS, worlds.NoMTLS, "null"))
	case "trust":
		return &api.Object{Ref: api.Ref{Kind: api.KindMeshTrust, Mesh: "default", Name: pick("trust", "t1", "t2")}, Spec: &api.MeshTrust{TrustDomain: pick("domain", "td", "default")}}
	case "document":
		return worlds.Securing(t, c.catalog)
	}
	i := api.DataplaneInsight{Identity: yes("identity"), TLS: yes("tls"), Plain: yes("plain")}
	if yes("old") {
		i.Shows = []string{"spiffe://old/" + pick("shown", "a", "b")}
	}
	return worlds.Insight(pick("dataplane", "a", "b", "c", "d"), i)
}

func secureDump(m *resolve.Model) string {
	var b strings.Builder
	for r := range m.Dataplanes("") {
		b.WriteString(resolvetest.IdentityText(r))
	}
	return b.String() + resolvetest.Dump(m)
}

// TestUpdateEqualsCompileWithIdentities is the law of updates in worlds in which documents about
// identities, and what is known of sidecars, change too.
func TestUpdateEqualsCompileWithIdentities(t *testing.T) {
	t.Parallel()
	c := newComposition(t)
	rapid.Check(t, func(t *rapid.T) {
		state := snapshot.New(0)
		model, _ := resolve.Compile(state, c.dialects, c.kinds)
		for step := range rapid.IntRange(1, 12).Draw(t, "steps") {
			var changes []snapshot.Change
			if rapid.Bool().Draw(t, "about identities") {
				changes = worlds.ChangesOf(t, state, func(t *rapid.T) *api.Object { return identityDocument(t, c) })
			} else {
				changes = worlds.Changes(t, c.catalog, state)
			}
			state = state.With(uint64(step+1), changes)
			next, affected := model.Update(state, changes)
			clean, _ := resolve.Compile(state, c.dialects, c.kinds)
			if diff := cmp.Diff(secureDump(clean), secureDump(next)); diff != "" {
				t.Fatalf("step %d: compiled (-) and updated (+) differ:\n%s\nchanges: %s", step, diff, describe(changes))
			}
			if diff := cmp.Diff(clean.Kept(), next.Kept()); diff != "" {
				t.Fatalf("step %d: compiled (-) and updated (+) keep different things:\n%s\nchanges: %s", step, diff, describe(changes))
			}
			checkAffected(t, model, next, affected, changes)
			model = next
		}
	})
}

// TestInsightOfOneDataplane: what is heard of one sidecar changes the endpoints of what it
// serves, and of others no inbound, no outbound and no cluster.
func TestInsightOfOneDataplane(t *testing.T) {
	t.Parallel()
	c := newComposition(t)
	rapid.Check(t, func(t *rapid.T) {
		s := worlds.Snapshot(t, c.catalog, 6)
		s = s.With(8, []snapshot.Change{{After: worlds.SecureMesh(t, world.Catalog(), worlds.PermissiveMTLS)}, {After: worlds.Insight("a", api.DataplaneInsight{Identity: true})}})
		model, _ := resolve.Compile(s, c.dialects, c.kinds)
		changes := []snapshot.Change{{After: worlds.Insight("a", api.DataplaneInsight{Identity: true, TLS: true})}}
		next, affected := model.Update(s.With(9, changes), changes)
		for r := range next.Dataplanes("") {
			old, _ := model.Dataplane(r.Ref)
			if !slices.Equal(old.Outbounds, r.Outbounds) || !slices.Equal(old.Inbounds, r.Inbounds) || !slices.Equal(old.Trust, r.Trust) {
				t.Fatalf("%s has other listeners or secrets", r.Ref)
			}
			serves := false
			for i, now := range r.Clusters {
				was := old.Clusters[i]
				if was.Cluster != now.Cluster {
					t.Fatalf("%s has another cluster %s", r.Ref, now.Cluster.Name)
				}
				about := slices.ContainsFunc(now.List, func(e effective.Endpoint) bool { return e.Dataplane.Name == "a" && e.Dataplane.Mesh == "default" })
				if serves = serves || about; was.Endpoints != now.Endpoints && !about {
					t.Fatalf("%s has other endpoints of %s", r.Ref, now.Cluster.Name)
				}
			}
			if !serves && slices.Contains(affected.Dataplanes, r.Ref) {
				t.Fatalf("%s is affected", r.Ref)
			}
		}
	})
}

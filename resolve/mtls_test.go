package resolve_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
	"pgregory.net/rapid"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/decode"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/internal/cases"
	"github.com/weftmesh/weft/internal/worlds"
	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/resolve/effective"
)

// secureMesh is a Mesh with authorities.
func secureMesh(t worlds.Fataler, mtls string) *api.Object {
	t.Helper()
	return worlds.Decode(t, world.Catalog(), `{"type":"Mesh","name":"default","meshServices":{"mode":"Everywhere"},"mtls":`+mtls+`}`)
}

// The authorities of a Mesh.
const (
	strictMTLS     = `{"enabledBackend":"ca","backends":[{"name":"ca","type":"builtin"}]}`
	permissiveMTLS = `{"enabledBackend":"ca","backends":[{"name":"ca","type":"builtin","mode":"PERMISSIVE","dpCert":{"rotation":{"expiration":"1h"}}}]}`
	noMTLS         = `{"backends":[{"name":"ca","type":"builtin"}]}`
)

// insightOn is what is known of a dataplane.
func insightOn(name string, i api.DataplaneInsight) *api.Object {
	return &api.Object{Ref: api.InsightRef(api.Ref{Mesh: "default", Name: name}), Spec: &i}
}

// identityDocument draws a document about identities, or what is known of a dataplane.
func identityDocument(t *rapid.T, c *composition) *api.Object {
	pick := func(label string, from ...string) string { return rapid.SampledFrom(from).Draw(t, label) }
	yes := func(label string) bool { return rapid.Bool().Draw(t, label) }
	switch pick("about", "mesh", "trust", "document", "document", "insight", "insight") {
	case "mesh":
		return secureMesh(t, pick("mtls", strictMTLS, permissiveMTLS, noMTLS, "null"))
	case "trust":
		return &api.Object{Ref: api.Ref{Kind: api.KindMeshTrust, Mesh: "default", Name: pick("trust", "t1", "t2")}, Spec: &api.MeshTrust{TrustDomain: pick("domain", "td", "default")}}
	case "document":
		return worlds.Securing(t, c.catalog)
	}
	i := api.DataplaneInsight{Identity: yes("identity"), TLS: yes("tls"), Plain: yes("plain")}
	if yes("old") {
		i.Shows = []string{"spiffe://old/" + pick("shown", "a", "b")}
	}
	return insightOn(pick("dataplane", "a", "b", "c", "d"), i)
}

// secureText is what is resolved about identities.
func secureText(r *effective.Resolved) string {
	var b strings.Builder
	text := func(v any) string { out, _ := json.Marshal(v); return string(out) }
	fmt.Fprintf(&b, "%s identity %s tls %v\n", r.Ref.Name, text(r.Identity), r.TLS)
	if r.Closed != nil {
		fmt.Fprintf(&b, " closed where no inbound is, by %s %s\n", r.Closed.Ref, r.Closed.Field)
	}
	for _, t := range r.Trust {
		fmt.Fprintf(&b, " trust %s", t.Name)
		for _, d := range t.Domains {
			fmt.Fprintf(&b, " %s (%d roots)", d.Name, len(d.Roots))
		}
		b.WriteString("\n")
	}
	for _, in := range r.Inbounds {
		fmt.Fprintf(&b, " in %s guarded %v %s\n", in.Name, in.Guarded, text(in.TLS))
	}
	for _, c := range r.Clusters {
		fmt.Fprintf(&b, " cluster %s %s", c.Cluster.Name, text(c.TLS))
		for _, e := range c.List {
			fmt.Fprintf(&b, " %s:%d plain %v", e.Address, e.Port, e.Plain)
		}
		b.WriteString("\n")
	}
	return b.String()
}

func secureDump(m *resolve.Model) string {
	var b strings.Builder
	for r := range m.Dataplanes("") {
		b.WriteString(secureText(r))
	}
	return b.String() + dump(m)
}

// TestIdentityCases resolves the documents of each case under testdata/identities with what is
// known of sidecars, and compares what is said about identities.
func TestIdentityCases(t *testing.T) {
	t.Parallel()
	c := newComposition(t)
	cases.Files(t, "testdata/identities/*.txtar", func(t *testing.T, file string, a *txtar.Archive) *txtar.Archive {
		objects, err := decode.Objects(c.catalog, file, a.Files[0].Data)
		for _, v := range api.Violations(err) {
			if v.Severity == api.Error {
				t.Fatal(v)
			}
		}
		for line := range strings.Lines(string(a.Files[1].Data)) {
			f := strings.Fields(line)
			objects = append(objects, insightOn(f[0], api.DataplaneInsight{Identity: slices.Contains(f, "identity"), TLS: slices.Contains(f, "tls"), Plain: slices.Contains(f, "plain")}))
		}
		model, notes := resolve.Compile(snapshot.New(1, objects...), c.dialects, c.kinds)
		var b strings.Builder
		for r := range model.Dataplanes("") {
			b.WriteString(secureText(r))
		}
		for _, n := range notes {
			if n.Code == "SpiffeIDInvalid" {
				fmt.Fprintf(&b, "note %s %s\n", n.Origin.Ref, n.Message)
			}
		}
		return &txtar.Archive{Comment: a.Comment, Files: []txtar.File{a.Files[0], a.Files[1], {Name: "want", Data: []byte(b.String())}}}
	})
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
		s = s.With(8, []snapshot.Change{{After: secureMesh(t, permissiveMTLS)}, {After: insightOn("a", api.DataplaneInsight{Identity: true})}})
		model, _ := resolve.Compile(s, c.dialects, c.kinds)
		changes := []snapshot.Change{{After: insightOn("a", api.DataplaneInsight{Identity: true, TLS: true})}}
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

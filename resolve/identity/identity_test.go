package identity_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/matcher"
	"github.com/weftmesh/weft/resolve/identity"
)

// labelled is a dataplane with these labels.
func labelled(written map[string]string) *matcher.Dataplane {
	return &matcher.Dataplane{Name: "web-1", Labels: api.Labels{Written: written}}
}

func of(name string, want map[string]string) *api.Object {
	return &api.Object{Ref: api.Ref{Kind: api.KindMeshIdentity, Mesh: "default", Name: name},
		Spec: &api.MeshIdentity{Selector: &api.IdentitySelector{Dataplane: &api.LabelSelector{MatchLabels: want}}}}
}

// TestSelect: the most particular identity, then the smallest name (spec/identity.md 8, cases
// 7 and 8); one without a selector is nobody's.
func TestSelect(t *testing.T) {
	t.Parallel()
	all := &api.Object{Ref: api.Ref{Name: "z-all"}, Spec: &api.MeshIdentity{Selector: &api.IdentitySelector{}}}
	none := &api.Object{Ref: api.Ref{Name: "a-none"}, Spec: &api.MeshIdentity{}}
	web, b, a := of("web", map[string]string{"app": "web"}), of("b", map[string]string{"team": "x"}), of("a", map[string]string{"team": "x"})
	for _, c := range []struct {
		labels map[string]string
		among  []*api.Object
		want   string
	}{
		{map[string]string{"app": "web"}, []*api.Object{none, all, web}, "web"},
		{map[string]string{"app": "api"}, []*api.Object{none, all, web}, "z-all"},
		{map[string]string{"team": "x"}, []*api.Object{all, b, a}, "a"},
		{map[string]string{"app": "api"}, []*api.Object{none, web}, ""},
	} {
		got := ""
		if o := identity.Select(c.among, &labelled(c.labels).Labels); o != nil {
			got = o.Name
		}
		if got != c.want {
			t.Errorf("%v has %q, want %q", c.labels, got, c.want)
		}
	}
}

// TestOrderDoesNotMatter: whichever way identities are listed, a dataplane has the same one.
func TestOrderDoesNotMatter(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var all []*api.Object
		for _, name := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b", "c", "d", "e"}), 1, 5, rapid.ID[string]).Draw(t, "names") {
			all = append(all, of(name, rapid.MapOfN(rapid.SampledFrom([]string{"x", "y"}), rapid.SampledFrom([]string{"1", "2"}), 0, 2).Draw(t, name)))
		}
		labels := &labelled(map[string]string{"x": "1", "y": "1"}).Labels
		if x, y := identity.Select(all, labels), identity.Select(rapid.Permutation(all).Draw(t, "shuffled"), labels); x != y {
			t.Fatalf("%v, then %v", x, y)
		}
	})
}

// TestByTemplate: the names that identities give, and what is said of a dataplane that lacks
// something (case 9).
func TestByTemplate(t *testing.T) {
	t.Parallel()
	pod := identity.Facts{Mesh: "default", Zone: api.Zone{Name: "east", Environment: api.EnvKubernetes}, ServiceAccount: "web",
		Dataplane: &matcher.Dataplane{Name: "web-1", Namespace: "shop", Labels: api.Labels{Written: map[string]string{"app": "web"}}}}
	host := identity.Facts{Mesh: "default", Zone: api.Zone{Name: "east"}, Dataplane: labelled(map[string]string{identity.WorkloadLabel: "web"})}
	bare := identity.Facts{Mesh: "default", Zone: api.Zone{Name: "east"}, Dataplane: labelled(nil)}
	path := func(text string) *api.MeshIdentity {
		domain := "td"
		return &api.MeshIdentity{SpiffeID: &api.IdentityNames{TrustDomain: &domain, Path: &text}}
	}
	for _, c := range []struct {
		by   *api.MeshIdentity
		of   identity.Facts
		want string
	}{
		{&api.MeshIdentity{}, pod, "spiffe://default.east.mesh.local/ns/shop/sa/web"},
		{&api.MeshIdentity{}, host, "spiffe://default.east.mesh.local/workload/web"},
		{&api.MeshIdentity{}, bare, "dataplane web-1: path: the dataplane has no Workload"},
		{path(`/x/{{ label "app" }}`), pod, "spiffe://td/x/web"},
		{path(`/x/{{ label "team" }}`), pod, "dataplane web-1: path: the dataplane has no label team"},
		{path(`x`), pod, "dataplane web-1: the path \"x\" does not begin with a slash"},
	} {
		id, err := identity.ByTemplate(c.by, c.of)
		got := id.String()
		if err != nil {
			got = err.Error()
		}
		if !strings.HasPrefix(got, c.want) {
			t.Errorf("%s, want %s", got, c.want)
		}
	}
}

// TestByTags: the names of all inbounds together, services first.
func TestByTags(t *testing.T) {
	t.Parallel()
	f := identity.Facts{Mesh: "default", Dataplane: &matcher.Dataplane{Name: "web-1", Tags: []map[string]string{
		{"kuma.io/service": "web", "version": "v1"}, {"kuma.io/service": "admin", "version": "v1"}}}}
	got, err := identity.ByTags(f)
	want := []string{"spiffe://default/admin", "spiffe://default/web", "kuma://kuma.io/service/admin", "kuma://kuma.io/service/web", "kuma://version/v1"}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Error(diff, err)
	}
	f.Dataplane.Tags = nil
	if _, err := identity.ByTags(f); err == nil || !strings.HasPrefix(err.Error(), "dataplane web-1: the dataplane has no tag kuma.io/service") {
		t.Error(err)
	}
}

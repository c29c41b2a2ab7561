package kube

import (
	"log/slog"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/store"
)

// TestAPositionGoesBackWithItsCluster: a list that is older than what was known says that the
// documents were restored, and versions count from there.
func TestAPositionGoesBackWithItsCluster(t *testing.T) {
	t.Parallel()
	s := &Store{cfg: Config{Log: slog.New(slog.DiscardHandler)}, wake: make(chan struct{}, 1), feeds: map[*feed]bool{}, kinds: map[string]int{},
		changed: map[api.Ref]*api.Object{}, moved: map[*feed]bool{}, told: map[*feed]uint64{}}
	f := &feed{connection: &connection{resource: resource{kind: "X"}, of: s}, objects: map[string]*api.Object{}, wrong: map[string][]*api.Violation{}}
	f.Resource = "xs"
	f.read = func(obj any) (*api.Object, []*api.Violation) {
		u := obj.(*unstructured.Unstructured)
		return &api.Object{Ref: api.Ref{Kind: "X", Name: u.GetName()}, ResourceVersion: u.GetResourceVersion()}, nil
	}
	s.feeds[f] = true
	x := func(name, version string) *unstructured.Unstructured {
		u := &unstructured.Unstructured{Object: map[string]any{}}
		u.SetName(name)
		u.SetResourceVersion(version)
		return u
	}
	name := f.resource.name()
	wants := func(what string, heard, changed uint64) {
		t.Helper()
		want := store.Step{Heard: store.Position{}, Changed: store.Position{}}
		if heard > 0 {
			want.Heard[name] = heard
		}
		if changed > 0 {
			want.Changed[name] = changed
		}
		if diff := cmp.Diff(want, s.step()); diff != "" {
			t.Errorf("%s: %s", what, diff)
		}
	}
	replace := func(version string, all ...any) {
		t.Helper()
		if err := f.Replace(all, version); err != nil {
			t.Fatal(err)
		}
	}
	replace("900", x("a", "500"))
	if got := s.step().Follows; len(got) != 1 || got[0] != name {
		t.Errorf("followed are %v", got)
	}
	s.told, f.of.moved[f] = map[*feed]uint64{}, true
	wants("the first list", 900, 500)
	if err := f.Add(x("b", "1000")); err != nil {
		t.Fatal(err)
	}
	wants("an object", 1000, 1000)
	replace("1000", x("a", "500"), x("b", "1000"))
	wants("the same list", 0, 0)
	replace("600", x("a", "500"))
	wants("a restored list", 600, 600)
	if err := f.Add(x("c", "601")); err != nil {
		t.Fatal(err)
	}
	wants("an object after that", 601, 601)
	replace("", x("c", "601"))
	wants("a list without a version", 0, 601)
}

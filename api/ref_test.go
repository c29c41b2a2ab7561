package api_test

import (
	"testing"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/snapshot"
)

// TestNamesWithANamespace: <name>.<namespace> stands for the object of that
// namespace, unless another has that very name.
func TestNamesWithANamespace(t *testing.T) {
	t.Parallel()
	dp := func(namespace, name string) api.Ref {
		return api.Ref{Kind: api.KindDataplane, Mesh: "default", Namespace: namespace, Name: name}
	}
	there := snapshot.New(1, &api.Object{Ref: dp("shop", "web-1")}, &api.Object{Ref: dp("", "a.b")}, &api.Object{Ref: dp("b", "a")}, &api.Object{Ref: dp("c", "a.b")})
	for asked, want := range map[api.Ref]api.Ref{
		dp("", "web-1.shop"):     dp("shop", "web-1"),
		dp("shop", "web-1"):      dp("shop", "web-1"),
		dp("", "web-1"):          dp("", "web-1"),
		dp("", "web-1.other"):    dp("", "web-1.other"),
		dp("", "a.b"):            dp("", "a.b"),
		dp("", "a.b.c"):          dp("c", "a.b"),
		dp("", ".shop"):          dp("", ".shop"),
		dp("none", "web-1.shop"): dp("none", "web-1.shop"),
	} {
		if got := asked.Resolve(there.Has); got != want {
			t.Errorf("%s stands for %s, want %s", asked, got, want)
		}
	}
	if a, b := dp("shop", "web-1").FullName(), dp("", "web-1").FullName(); a != "web-1.shop" || b != "web-1" {
		t.Errorf("full names %s and %s", a, b)
	}
}

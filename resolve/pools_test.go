package resolve_test

import (
	"net/netip"
	"testing"

	"pgregory.net/rapid"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/resolve/pods"
	"github.com/weftmesh/weft/resolve/vips"
)

// TestPoolsNeverMeet: whatever services are called, one of a kind never has an address that one of
// another kind is given: neither a Service that no cluster has given any, nor who has a virtual one.
func TestPoolsNeverMeet(t *testing.T) {
	t.Parallel()
	kinds := []string{vips.Classic, api.KindMeshService, api.KindMeshExternalService, api.KindMeshMultiZoneService}
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.StringMatching(`[a-z][a-z0-9-]{0,20}[a-z0-9]`)
		service := &api.Object{Ref: api.Ref{Kind: api.KindService, Namespace: name.Draw(t, "namespace"), Name: name.Draw(t, "name")}}
		of := map[byte]string{}
		meet := func(kind string, a netip.Addr) {
			first := a.As4()[0]
			if by, taken := of[first]; taken {
				t.Fatalf("%s of a %s lies in the pool of a %s", a, kind, by)
			}
			of[first] = kind
		}
		for _, a := range pods.Addresses(service, &api.Service{}) {
			at := netip.MustParseAddr(a)
			if vips.Pooled(at) || !at.Is4() {
				t.Fatalf("%s is one that services are given", a)
			}
			meet(api.KindService, at)
		}
		for _, kind := range kinds {
			r := vips.AddressRequest{Key: "a", Kind: kind, KRI: name.Draw(t, "kri")}
			block, _, ok := r.Wants(rapid.IntRange(0, vips.Rounds-1).Draw(t, "round"))
			if !ok {
				t.Fatalf("a %s has no pool", kind)
			}
			meet(kind, vips.Assign(block, []vips.AddressRequest{r}, 0, func(netip.Addr) bool { return false }).At["a"])
		}
		if len(of) != len(kinds)+1 {
			t.Fatalf("there are %d pools", len(of))
		}
	})
}

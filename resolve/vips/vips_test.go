package vips_test

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/resolve/vips"
)

// TestAddresses: an address follows from the KRI, lies in the pool of the kind, and has a
// twin.
func TestAddresses(t *testing.T) {
	t.Parallel()
	for kind, first := range map[string]byte{api.KindMeshService: 241, api.KindMeshExternalService: 242, api.KindMeshMultiZoneService: 243} {
		r := vips.AddressRequest{Key: "a", Kind: kind, KRI: "kri_x_default_default__a_"}
		block, _, ok := r.Wants(0)
		if !ok || block[0] != first {
			t.Errorf("%s looks in block %v", kind, block)
		}
		at := vips.Assign(block, []vips.AddressRequest{r}, 0, free).At["a"]
		if !vips.Pooled(at) || vips.BlockOf(at) != block || !vips.Pooled(vips.Twin(at)) {
			t.Errorf("%s has %s", kind, at)
		}
	}
	if got := vips.Twin(netip.MustParseAddr("242.0.0.7")); got != netip.MustParseAddr("fd77:6566:74::f200:7") {
		t.Errorf("twin %s", got)
	}
	if _, _, ok := (vips.AddressRequest{Kind: api.KindService}).Wants(0); ok {
		t.Error("a Service of a cluster has a pool")
	}
}

func free(netip.Addr) bool { return false }

// TestAssign: nobody shares an address, nobody has one that is taken, the order of requests
// does not matter, and one more moves at most those behind it in the same block.
func TestAssign(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		block := vips.Block{241, 1, 2}
		taken := map[byte]bool{}
		for _, p := range rapid.SliceOfN(rapid.Byte(), 0, 256).Draw(t, "taken") {
			taken[p] = true
		}
		isTaken := func(a netip.Addr) bool { return taken[a.As4()[3]] }
		var list []vips.AddressRequest
		for n := range rapid.IntRange(1, 60).Draw(t, "requests") {
			list = append(list, vips.AddressRequest{Key: fmt.Sprint(n), Kind: api.KindMeshService, KRI: fmt.Sprint(rapid.IntRange(0, 40).Draw(t, "kri"))})
		}
		got := vips.Assign(block, list, 0, isTaken)
		seen := map[netip.Addr]bool{}
		for _, a := range got.At {
			if seen[a] || isTaken(a) || vips.BlockOf(a) != block || a.As4()[3] == 0 || a.As4()[3] == 255 {
				t.Fatalf("%s is given twice, is taken or lies elsewhere", a)
			}
			seen[a] = true
		}
		if len(got.At)+len(got.Unassigned) != len(list) {
			t.Fatalf("%d of %d requests are answered", len(got.At)+len(got.Unassigned), len(list))
		}
		if len(got.Unassigned) > 0 && len(got.At)+len(taken) < 254 {
			t.Fatal("a request is lost while there is room")
		}
		shuffled := rapid.Permutation(list).Draw(t, "shuffled")
		if again := vips.Assign(block, shuffled, 0, isTaken); !maps.Equal(again.At, got.At) || !slices.Equal(again.Unassigned, got.Unassigned) {
			t.Fatal("the order of requests matters")
		}
	})
}

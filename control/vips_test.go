package control

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/internal/worlds"
	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/resolve/vips"
	"github.com/weftmesh/weft/store"
	"github.com/weftmesh/weft/store/bolt"
	"github.com/weftmesh/weft/store/memory"
)

// external is a MeshExternalService.
func external(t *testing.T, name string) *api.Object {
	return worlds.Decode(t, world.Catalog(), fmt.Sprintf(`{"type": "MeshExternalService", "mesh": "default", "name": %q,
		"spec": {"match": {"type": "HostnameGenerator", "port": 80, "protocol": "http"}, "endpoints": [{"address": "192.0.2.1", "port": 80}]}}`, name))
}

func vipOf(t *testing.T, s *api.Snapshot, name string) string {
	t.Helper()
	o, ok := s.Get(api.Ref{Kind: api.KindMeshExternalService, Mesh: "default", Name: name})
	if !ok {
		t.Fatalf("%s is not stored", name)
	}
	st, _ := o.Status.(*api.ServiceStatus)
	if st == nil || len(st.VIPs) != 2 {
		t.Fatalf("%s has status %+v", name, o.Status)
	}
	return st.VIPs[0].IP
}

var inDefault = api.Zone{Name: "default"}

// TestVIPsAreKept is row 46 of spec/kubernetes.md 8: of two MeshExternalServices one is
// deleted and a third comes at once. Their addresses are three, and stay over restarts.
func TestVIPsAreKept(t *testing.T) {
	t.Parallel()
	dir, ctx := t.TempDir(), context.Background()
	seal := &vault{path: filepath.Join(dir, secretsKeyFile)}
	open := func() *withVIPs {
		s, err := bolt.Open(bolt.Config{Dir: dir, Decode: decodeStored(world.Catalog()), Encode: seal.encode, Open: seal.open, Now: time.Now})
		if err != nil {
			t.Fatal(err)
		}
		v, err := newVIPs(ctx, withDefaults{s, true}, inDefault, time.Now)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	put := func(v *withVIPs, names ...string) *api.Snapshot {
		var writes []store.Write
		for _, n := range names {
			writes = append(writes, store.Write{Put: external(t, n)})
		}
		s, _, err := v.Apply(ctx, store.Writes(writes...))
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	v := open()
	s := put(v, "one", "two")
	one, two := vipOf(t, s, "one"), vipOf(t, s, "two")
	gone := api.Ref{Kind: api.KindMeshExternalService, Mesh: "default", Name: "one"}
	if _, _, err := v.Apply(ctx, store.Writes(store.Write{Delete: &gone})); err != nil {
		t.Fatal(err)
	}
	three := vipOf(t, put(v, "three"), "three")
	if err := v.Close(); err != nil {
		t.Fatal(err)
	}
	v = open()
	defer v.Close()
	if got := []string{vipOf(t, v.Snapshot(), "two"), vipOf(t, v.Snapshot(), "three")}; !slices.Equal(got, []string{two, three}) {
		t.Errorf("after a restart %v, before %v", got, []string{two, three})
	}
	if one == two || two == three || one == three {
		t.Errorf("addresses %s, %s, %s", one, two, three)
	}
}

// TestVIPsOfStoresBefore: what a store of an earlier weft holds is given addresses when it
// is opened, and the model gives the same ones.
func TestVIPsOfStoresBefore(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	v, err := newVIPs(ctx, memory.New(api.NewSnapshot(7, external(t, "old")), nil, time.Now), inDefault, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	m, _ := resolve.CompileIn(inDefault, api.NewSnapshot(1, external(t, "old")), world.Dialects(), world.Kinds())
	d, ok := m.Destination("default", "extsvc_old:80")
	if got := vipOf(t, v.Snapshot(), "old"); !ok || got != d.VIPs[0] {
		t.Errorf("stored is %s, by the hash it is %v", got, d.VIPs)
	}
}

// TestVIPsRest: the address of a service that is gone is given to no other for an hour, but
// to itself when it comes back.
func TestVIPsRest(t *testing.T) {
	t.Parallel()
	ctx, now := context.Background(), time.Unix(0, 0)
	v, err := newVIPs(ctx, memory.New(api.NewSnapshot(0), nil, time.Now), api.Zone{}, func() time.Time { return now })
	if err != nil {
		t.Fatal(err)
	}
	apply := func(w store.Write) *api.Snapshot {
		s, _, err := v.Apply(ctx, store.Writes(w))
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	one := vipOf(t, apply(store.Write{Put: external(t, "one")}), "one")
	ref := external(t, "one").Ref
	apply(store.Write{Delete: &ref})
	// Another whose hash says the same address.
	other := external(t, "other")
	free := func() string {
		request := resolve.VIPRequest(external(t, "one"), nil)
		block, _, _ := request.Wants(0)
		request.Key = "other"
		return vips.Assign(block, []vips.Request{request}, 0, v.isTaken(other.Ref, "default")).At["other"].String()
	}
	if free() == one {
		t.Error("the address of a service that has just gone is given away")
	}
	if again := vipOf(t, apply(store.Write{Put: external(t, "one")}), "one"); again != one {
		t.Errorf("it had %s and has %s", one, again)
	}
	apply(store.Write{Delete: &ref})
	now = now.Add(time.Hour)
	if free() != one {
		t.Error("the address is not given away after an hour")
	}
}

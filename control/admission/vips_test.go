package admission

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/internal/worlds"
	"github.com/weftmesh/weft/policies/all"
	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/resolve/hostnames"
	"github.com/weftmesh/weft/resolve/vips"
	"github.com/weftmesh/weft/store"
	"github.com/weftmesh/weft/store/memory"
)

var inDefault = api.Zone{Name: "default"}

// opened is a store with addresses, and without default policies.
func opened(ctx context.Context, s store.Store, zone api.Zone, now func() time.Time) (*Store, error) {
	return New(Options{Catalog: api.NewCatalog(api.Types()...), Zone: zone, SkipDefaults: true, Now: now}).Open(ctx, s)
}

// TestVIPsOfStoresBefore: what a store of an earlier weft holds is given addresses when it
// is opened, and the model gives the same ones.
func TestVIPsOfStoresBefore(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	v, err := opened(ctx, memory.New(snapshot.New(7, worlds.External(t, "old")), nil, time.Now), inDefault, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	m, _ := resolve.CompileIn(inDefault, snapshot.New(1, worlds.External(t, "old")), nil, all.Kinds)
	d, ok := m.Destination("default", "extsvc_old:80")
	if got := worlds.VIPOf(t, v.Snapshot(), "old"); !ok || got != d.VIPs[0] {
		t.Errorf("stored is %s, by the hash it is %v", got, d.VIPs)
	}
}

// TestVIPsRest: the address of a service that is gone is given to no other for an hour, but
// to itself when it comes back.
func TestVIPsRest(t *testing.T) {
	t.Parallel()
	ctx, now := context.Background(), time.Unix(0, 0)
	v, err := opened(ctx, memory.New(snapshot.New(0), nil, time.Now), api.Zone{}, func() time.Time { return now })
	if err != nil {
		t.Fatal(err)
	}
	apply := func(w store.Write) *snapshot.Snapshot {
		s, _, err := v.Apply(ctx, store.Writes(w))
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	one := worlds.VIPOf(t, apply(store.Write{Put: worlds.External(t, "one")}), "one")
	ref := worlds.External(t, "one").Ref
	apply(store.Write{Delete: &ref})
	// Another whose hash says the same address.
	other := worlds.External(t, "other")
	free := func() string {
		request := hostnames.VIPRequest(worlds.External(t, "one"), nil)
		block, _, _ := request.Wants(0)
		request.Key = "other"
		return vips.Assign(block, []vips.AddressRequest{request}, 0, v.chain.vips.books.taken(other)).At["other"].String()
	}
	if free() == one {
		t.Error("the address of a service that has just gone is given away")
	}
	if again := worlds.VIPOf(t, apply(store.Write{Put: worlds.External(t, "one")}), "one"); again != one {
		t.Errorf("it had %s and has %s", one, again)
	}
	apply(store.Write{Delete: &ref})
	now = now.Add(time.Hour)
	if free() != one {
		t.Error("the address is not given away after an hour")
	}
}

// TestADuplicateStaysWhereItIs: of two services with one address in their status the older keeps
// it, and the other has another one from its first revision on, at which it stays when the older
// goes. Nobody else is given what either has.
func TestADuplicateStaysWhereItIs(t *testing.T) {
	t.Parallel()
	ctx, now := context.Background(), time.Unix(0, 0)
	clock := func() time.Time { now = now.Add(time.Second); return now }
	at := func(name string) *api.Object {
		o := *worlds.External(t, name)
		o.Status = &api.ServiceStatus{VIPs: []api.VIP{{IP: "242.0.0.1"}}}
		return &o
	}
	v, err := opened(ctx, memory.New(snapshot.New(0), nil, clock), inDefault, clock)
	if err != nil {
		t.Fatal(err)
	}
	var m *resolve.Model
	apply := func(w ...store.Write) {
		t.Helper()
		s, _, err := v.Apply(ctx, store.Writes(w...))
		if err != nil {
			t.Fatal(err)
		}
		m, _ = resolve.CompileIn(inDefault, s, nil, all.Kinds)
	}
	called := func(name string) []string {
		t.Helper()
		d, ok := m.Destination("default", "extsvc_"+name+":80")
		if !ok || len(d.VIPs) == 0 {
			t.Fatalf("%s is called nowhere", name)
		}
		return d.VIPs
	}
	apply(store.Write{Put: at("older")})
	apply(store.Write{Put: at("a-younger")})
	own := called("a-younger")[0]
	if got := called("older")[0]; got != "242.0.0.1" || own == got {
		t.Fatalf("the older is called at %s, the younger at %s", got, own)
	}
	older, younger := at("older").Ref, at("a-younger").Ref
	apply(store.Write{Delete: &older})
	if got := called("a-younger"); !slices.Contains(got, own) {
		t.Errorf("it was called at %s, and now at %v", own, got)
	}
	// The address is still in the status of one.
	now = now.Add(2 * time.Hour)
	if other := at("third"); !v.chain.vips.books.taken(other)(netip.MustParseAddr("242.0.0.1")) || !v.chain.vips.books.taken(other)(netip.MustParseAddr(own)) {
		t.Error("what the younger has is given to a third")
	}
	apply(store.Write{Delete: &younger})
	if other := at("third"); !v.chain.vips.books.taken(other)(netip.MustParseAddr(own)) {
		t.Error("what the younger had does not rest")
	}

	// A write that fails takes nothing.
	inner := v.Store
	v.Store = failing{inner}
	if _, _, err := v.Apply(ctx, store.Writes(store.Write{Put: at("never")})); !errors.Is(err, errFull) {
		t.Fatal(err)
	}
	v.Store = inner
	if held := len(v.chain.vips.books.by); held != 0 {
		t.Errorf("%d addresses are held by nobody", held)
	}
	// What a store had before has the same.
	first, second := *at("x"), *at("y")
	first.Created, second.Created = time.Unix(2, 0), time.Unix(1, 0)
	v, err = opened(ctx, memory.New(snapshot.New(7, &first, &second), nil, clock), inDefault, clock)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]int{"x": 3, "y": 1} {
		o, _ := v.Snapshot().Get(worlds.External(t, name).Ref)
		if got := o.Status.(*api.ServiceStatus).VIPs; len(got) != want {
			t.Errorf("%s has %v", name, got)
		}
	}
}

// failing asks a plan, twice, and fails.
type failing struct{ store.Store }

var errFull = errors.New("the disk is full")

func (f failing) Apply(_ context.Context, plan store.Plan) (*snapshot.Snapshot, []store.Result, error) {
	for range 2 {
		if _, err := plan(f.Snapshot()); err != nil {
			return nil, nil, err
		}
	}
	return nil, nil, errFull
}

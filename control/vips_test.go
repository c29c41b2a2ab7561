package control

import (
	"context"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/control/admission"
	"github.com/weftmesh/weft/control/storage"
	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/internal/worlds"
	"github.com/weftmesh/weft/store"
	"github.com/weftmesh/weft/store/bolt"
)

// TestVIPsAreKept is row 46 of spec/kubernetes.md 8: of two MeshExternalServices one is
// deleted and a third comes at once. Their addresses are three, and stay over restarts.
func TestVIPsAreKept(t *testing.T) {
	t.Parallel()
	dir, ctx := t.TempDir(), context.Background()
	seal := storage.NewSealer(world.Catalog(), filepath.Join(dir, storage.SecretsKeyFile))
	open := func() *admission.Store {
		s, err := bolt.Open(bolt.Config{Dir: dir, Decode: storage.DecodeStored(world.Catalog()), Encode: seal.Encode, Open: seal.Open, Now: time.Now})
		if err != nil {
			t.Fatal(err)
		}
		v, err := world.Settings{}.Admission(admission.Options{SkipDefaults: true, Now: time.Now}).Open(ctx, s)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	put := func(v *admission.Store, names ...string) *snapshot.Snapshot {
		var writes []store.Write
		for _, n := range names {
			writes = append(writes, store.Write{Put: worlds.External(t, n)})
		}
		s, _, err := v.Apply(ctx, store.Writes(writes...))
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	v := open()
	s := put(v, "one", "two")
	one, two := worlds.VIPOf(t, s, "one"), worlds.VIPOf(t, s, "two")
	gone := api.Ref{Kind: api.KindMeshExternalService, Mesh: "default", Name: "one"}
	if _, _, err := v.Apply(ctx, store.Writes(store.Write{Delete: &gone})); err != nil {
		t.Fatal(err)
	}
	three := worlds.VIPOf(t, put(v, "three"), "three")
	if err := v.Close(); err != nil {
		t.Fatal(err)
	}
	v = open()
	defer v.Close()
	if got := []string{worlds.VIPOf(t, v.Snapshot(), "two"), worlds.VIPOf(t, v.Snapshot(), "three")}; !slices.Equal(got, []string{two, three}) {
		t.Errorf("after a restart %v, before %v", got, []string{two, three})
	}
	if one == two || two == three || one == three {
		t.Errorf("addresses %s, %s, %s", one, two, three)
	}
}

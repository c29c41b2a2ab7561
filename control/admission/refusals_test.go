package admission_test

import (
	"testing"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/control/admission"
	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/internal/worlds"
	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/store"
)

// TestRefusalsGoByWhatIsStored: a permission on a route is judged by the route that is stored, though
// the model has an older one of it, or one that was deleted since.
func TestRefusalsGoByWhatIsStored(t *testing.T) {
	t.Parallel()
	decode := func(text string) *api.Object { return worlds.Decode(t, world.Catalog(), text) }
	route := func(top string) *api.Object {
		return decode(`{"type":"MeshHTTPRoute","mesh":"default","name":"r","spec":{"targetRef":` + top + `,"to":[{"targetRef":{"kind":"MeshService","name":"web"},"rules":[{"matches":[{"path":{"type":"PathPrefix","value":"/"}}],"default":{}}]}]}}`)
	}
	some, all := route(`{"kind":"Dataplane","labels":{"a":"b"}}`), route(`{"kind":"Mesh"}`)
	base := snapshot.New(1, decode(`{"type":"Mesh","name":"default","mtls":{"enabledBackend":"ca","backends":[{"name":"ca","type":"builtin"}]}}`),
		decode(`{"type":"Dataplane","mesh":"default","name":"web-1","networking":{"address":"10.0.0.1","inbound":[{"port":80,"tags":{"kuma.io/service":"web","kuma.io/protocol":"http"}}]}}`))
	permission := []store.Write{{Put: decode(`{"type":"MeshTrafficPermission","mesh":"default","name":"p","spec":{"targetRef":{"kind":"MeshHTTPRoute","name":"r"},"rules":[{"default":{"allow":[{"spiffeID":{"type":"Exact","value":"spiffe://default/ops"}}]}}]}}`)}}
	for _, s := range []struct {
		what          string
		stale, stored *api.Object
		refused       bool
	}{
		{"all have it by now", some, all, false},
		{"some have it by now", all, some, true},
		{"some have it, and nothing changed", some, some, true},
		{"it is gone by now", some, nil, false},
		{"it is new", nil, some, true},
	} {
		behind, now := base, base
		if s.stale != nil {
			behind = base.With(2, []snapshot.Change{{After: s.stale}})
		}
		if s.stored != nil {
			now = base.With(3, []snapshot.Change{{After: s.stored}})
		}
		m, _ := resolve.Compile(behind, world.Dialects(), world.Kinds())
		if _, found := chain(m).Admit(admission.People, now, admission.WriteRequest{Writes: permission}); (found != nil) != s.refused {
			t.Errorf("%s: %v", s.what, found)
		}
	}
}

// chain is the chain of a control plane whose newest model is m.
func chain(m *resolve.Model) *admission.Chain {
	return world.Settings{}.Admission(admission.Options{Model: func() *resolve.Model { return m }, Now: time.Now})
}

package kuma

import (
	"encoding/json"
	"sync"
	"sync/atomic"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/resolve"
)

// Meta names an object in Kuma's inspect API.
type Meta struct {
	Type   string      `json:"type"`
	Mesh   string      `json:"mesh"`
	Name   string      `json:"name"`
	Labels *api.Labels `json:"labels"`
	KRI    string      `json:"kri,omitempty"`

	text []byte // in JSON, where it was printed already
}

// metas names objects by what they are: a view names thousands, and each time the same ones. It is
// kept beside the model, and follows its changes.
type metas struct {
	catalog *api.Catalog
	of      sync.Map // *Meta by *api.Object
	size    atomic.Int64
}

type metasKey struct{ catalog *api.Catalog }

// metasOf are those of the objects of a model, without those of documents that are no more.
func metasOf(m *resolve.Reader, c *api.Catalog) *metas {
	return resolve.Followed(m, metasKey{c}, func() *metas { return &metas{catalog: c} }, func(was *metas, changes []api.Change) *metas {
		for _, change := range changes {
			if _, had := was.of.LoadAndDelete(change.Before); had {
				was.size.Add(-1)
			}
		}
		there := int64(0)
		for _, t := range c.Types() {
			there += int64(m.Snapshot().CountOfKind(t.Name))
		}
		if was.size.Load() > 2*there { // some are of objects of which no change told
			return &metas{catalog: c}
		}
		return was
	})
}

// meta names an object.
func (x *metas) meta(o *api.Object) *Meta {
	if known, ok := x.of.Load(o); ok {
		return known.(*Meta)
	}
	labels := x.catalog.Labels(o)
	m := &Meta{Type: o.Kind, Mesh: o.Mesh, Name: o.FullName(), Labels: &labels, KRI: x.catalog.KRI(o)}
	m.text, _ = json.Marshal(m) // else it is tried again where it is printed
	if _, had := x.of.Swap(o, m); !had {
		x.size.Add(1)
	}
	return m
}

// meta names an object, which may stand at a rule of every kind.
func (x *viewBuilder) meta(ref api.Ref) *Meta {
	x.model.Visit()
	if o, ok := x.model.Snapshot().Get(ref); ok {
		return x.known.meta(o)
	}
	return &Meta{Type: ref.Kind, Mesh: ref.Mesh, Name: ref.FullName(), Labels: &api.Labels{}}
}

// author names the object of an origin, which stands at every rule that it takes part in.
func (x *viewBuilder) author(o *api.Origin) *Meta {
	m := x.named[o]
	if m == nil {
		m = x.meta(o.Ref)
		x.named[o] = m
	}
	return m
}

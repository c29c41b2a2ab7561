package kuma

import (
	"encoding/json"

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

type metasKey struct{ catalog *api.Catalog }

// metasOf are the names of objects by what they are: a view names thousands, and each time the same
// ones.
func metasOf(m *resolve.Reader, c *api.Catalog) *resolve.QueryCache[*api.Object, *Meta] {
	return resolve.CacheOf[*api.Object, *Meta](m, metasKey{c}, func() int { return 2 * m.Snapshot().Len() })
}

// metaOf names an object.
func metaOf(c *api.Catalog, o *api.Object) *Meta {
	labels := c.Labels(o)
	m := &Meta{Type: o.Kind, Mesh: o.Mesh, Name: o.FullName(), Labels: &labels, KRI: c.KRI(o)}
	m.text, _ = json.Marshal(m) // else it is tried again where it is printed
	return m
}

// meta names an object, which may stand at a rule of every kind.
func (x *viewBuilder) meta(ref api.Ref) *Meta {
	x.model.Visit()
	if o, ok := x.model.Snapshot().Get(ref); ok {
		return x.known.Find(o, func() *Meta { return metaOf(x.catalog, o) })
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

package web

import (
	"cmp"
	"slices"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/decode"
)

// lasting are the labels that stay with an object for its life (spec/kuma.md 1.2).
var lasting = []string{api.LabelOrigin, api.LabelZone}

// unfit is what keeps objects out of the store although each is sound by itself.
func (s *server) unfit(objects []*api.Object) []*api.Violation {
	now := s.Documents.Snapshot()
	found := s.homeless(objects)
	for _, o := range objects {
		if before, ok := now.Get(o.Ref); ok {
			found = append(found, s.changed(before, o)...)
		}
	}
	return found
}

// homeless are the objects whose mesh neither exists nor comes along.
func (s *server) homeless(objects []*api.Object) []*api.Violation {
	now := s.Documents.Snapshot()
	known := map[string]bool{"": true}
	for _, o := range objects {
		if o.Kind == api.KindMesh {
			known[o.Name] = true
		}
	}
	var found []*api.Violation
	for _, o := range objects {
		if known[o.Mesh] || now.Has(api.Ref{Kind: api.KindMesh, Name: o.Mesh}) {
			continue
		}
		v := api.Path("mesh").Breaks("there is no mesh %s; create it first, or in the same apply", api.Clip(o.Mesh))
		v.Object, v.Position = o.Ref, decode.Locate(o.Source, "mesh")
		found = append(found, v)
	}
	return found
}

// changed are the lasting labels that after would change. To write down what
// readers are shown anyway changes nothing.
func (s *server) changed(before, after *api.Object) []*api.Violation {
	was, is := s.Catalog.Shown(before).Labels, s.Catalog.Shown(after).Labels
	var found []*api.Violation
	for _, key := range lasting {
		if was[key] == is[key] {
			continue
		}
		at := decode.LabelPath(after.Source, key)
		v := at.Breaks("the label is %q and cannot be changed; write that, or delete the object first", was[key])
		if was[key] == "" {
			v = at.Breaks("the label cannot be added later; leave it out, or delete the object first")
		}
		v.Object, v.Position = after.Ref, decode.Locate(after.Source, at)
		found = append(found, v)
	}
	return found
}

// inOrder are violations in the order of their places.
func inOrder(found []*api.Violation) []*api.Violation {
	slices.SortStableFunc(found, func(a, b *api.Violation) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return found
}

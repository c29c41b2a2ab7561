package conditions

import (
	"maps"
	"slices"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/nearest"
	"github.com/weftmesh/weft/resolve/index"
)

// names are those of all things of a sort in a mesh, among which that is looked for which somebody
// may have meant. Many who are lost ask for them, so they are gathered once for all.
type names struct {
	has map[string]bool
	*nearest.List
}

func newNames(has map[string]bool) *names {
	return &names{has, nearest.NewList(slices.Collect(maps.Keys(has)))}
}

// destNames are those of all destinations.
func (m Mesh) destNames() *names {
	for range m.DestinationsNamed(index.Any) {
		break // so that it is known what was looked at
	}
	return m.namesIn("destinations", func(m Mesh) *names {
		has := map[string]bool{}
		for d := range m.DestinationsNamed(index.Any) {
			if !d.Listed {
				has[d.Name] = true
			}
		}
		return newNames(has)
	})
}

// routeNames are the display names of all routes of a kind.
func (m Mesh) routeNames(kind string) *names {
	for range m.RoutesByName.Values(m.At, index.AnyOf(kind)) {
		break
	}
	return m.namesIn(kind, func(m Mesh) *names {
		var all []string
		for r := range m.RoutesByName.Values(m.At, index.AnyOf(kind)) {
			all = append(all, r.Object.DisplayName())
		}
		return &names{List: nearest.NewList(all)}
	})
}

// planeNames are the names of all dataplanes, or else of their services.
func (m Mesh) planeNames(own bool) *names {
	for range m.Dataplanes.Values(m.At) {
		break
	}
	of := "services of dataplanes"
	if own {
		of = "dataplanes"
	}
	return m.namesIn(of, func(m Mesh) *names {
		has := map[string]bool{}
		for p := range m.Dataplanes.Values(m.At) {
			if own {
				has[p.Facts.Name], has[p.Facts.Display()] = true, true
				continue
			}
			for _, tags := range p.Facts.Tags {
				if n := tags[api.TagService]; n != "" {
					has[n] = true
				}
			}
		}
		return newNames(has)
	})
}

// namesIn are the names that gather finds in all of the mesh, also where a question stops.
func (m Mesh) namesIn(what string, gather func(Mesh) *names) *names {
	if m.Cache == nil {
		return gather(m)
	}
	if known, ok := m.Cache.words.Load(what); ok {
		return known.(*names)
	}
	found := gather(Mesh{Mesh: m.Stage.Mesh(m.Cache.graph)})
	m.Cache.words.Store(what, found)
	return found
}

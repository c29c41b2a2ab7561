package resolve

import (
	"iter"
	"slices"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/resolve/derive"
)

// reading answers what builders ask of a mesh, at a graph or for a derivation.
type reading struct {
	*collections
	at derive.At
}

func (x reading) meshMode() string {
	for _, mode := range x.modes.All(x.at) {
		return *mode
	}
	return disabled
}

func (x reading) dest(id string) *dest {
	d, _ := x.dests.Get(x.at, id)
	return d
}

func (x reading) destsNamed(name string) iter.Seq[*dest] {
	if name == anyTarget {
		return values(x.dests.All(x.at))
	}
	return values(x.destsByName.In(x.at, name))
}

func (x reading) routesAbout(names ...string) iter.Seq[*routeObject] {
	return inAny(x.at, x.routesByTarget, append(names, anyTarget)...)
}

func (x reading) policiesAbout(names ...string) iter.Seq[*policy] {
	return inAny(x.at, x.policiesByTarget, append(names, anyTarget)...)
}

func (x reading) policiesOn(routes ...string) iter.Seq[*policy] {
	return inAny(x.at, x.policiesByRoute, routes...)
}

func (x reading) readBy(r *routeObject) iter.Seq[*routeObject] {
	return func(yield func(*routeObject) bool) {
		for _, target := range r.reads {
			if !strings.HasSuffix(target, anyTarget) {
				if o, _ := x.routes.Get(x.at, target); o != nil && !yield(o) {
					return
				}
				continue
			}
			for key, o := range x.routes.All(x.at) {
				if strings.HasPrefix(key, strings.TrimSuffix(target, anyTarget)) && !yield(o) {
					return
				}
			}
		}
	}
}

func (x reading) carrying(label string) []*dataplane {
	return slices.Collect(values(x.dataplanesByLabel.In(x.at, label)))
}

func (x reading) meshServices() iter.Seq[*service] {
	return func(yield func(*service) bool) {
		for key, s := range x.services.All(x.at) {
			if strings.HasPrefix(key, api.KindMeshService+"/") && !yield(s) {
				return
			}
		}
	}
}

func values[T any](all iter.Seq2[string, *T]) iter.Seq[*T] {
	return func(yield func(*T) bool) {
		for _, v := range all {
			if !yield(v) {
				return
			}
		}
	}
}

// inAny yields what is in one of the buckets, each once.
func inAny[T any](at derive.At, i *derive.Index[T], buckets ...string) iter.Seq[*T] {
	return func(yield func(*T) bool) {
		seen := map[*T]bool{}
		for n, b := range buckets {
			if slices.Contains(buckets[:n], b) {
				continue
			}
			for _, v := range i.In(at, b) {
				if !seen[v] {
					seen[v] = true
					if !yield(v) {
						return
					}
				}
			}
		}
	}
}

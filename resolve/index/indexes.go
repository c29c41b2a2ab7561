package index

import (
	"cmp"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/weftmesh/weft/api/tuple"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/resolve/derive"
	"github.com/weftmesh/weft/resolve/effective"
)

// Any stands for what is chosen by labels rather than by a name; no service
// has this name.
const Any = "\x01"

// TargetName is in which bucket a ref to a destination is. Whatever ref the
// matcher accepts for a destination must be in a bucket of one of its names, or
// in that of Any, else nobody would find it.
func TargetName(ref api.TargetRef) string {
	if ref.Name == "" {
		return Any
	}
	return ref.Name
}

// routeTarget is the same for a ref to a route object.
func routeTarget(ref api.TargetRef) string {
	if ref.Name == "" {
		return AnyOf(ref.Kind)
	}
	return ref.Kind + "/" + ref.Name
}

// AnyOf stands for all objects of a kind.
func AnyOf(kind string) string { return kind + "/" + Any }

// LabelKey is one label or tag.
func LabelKey(k, v string) string { return tuple.Join(k, v) }

func (c *Stage) addIndexes() {
	c.indexPolicies()
	c.indexRoutes()
	c.ServicesByTarget = c.Services.Index(func(_ string, s *Service, add func(string)) {
		target := ""
		switch spec := s.Object.Spec.(type) {
		case *api.MeshService:
			target = GatherTarget(spec.Selector)
		case *api.Service:
			target = FirstPair(spec.Selector, "")
		}
		if target != "" {
			add(target)
		}
	})
	c.ServicesByID = c.Services.Index(func(_ string, s *Service, add func(string)) {
		for _, d := range s.Dests {
			add(d.ID)
		}
	})
	c.ServicesByHostname = c.Services.Index(func(_ string, s *Service, add func(string)) {
		if len(s.Dests) > 0 { // all of them have the same
			for _, name := range s.Dests[0].Hostnames {
				if !effective.OfClusters(name) {
					add(strings.ToLower(name))
				}
			}
		}
	})
	c.dataplanesByLabel = c.Dataplanes.Index(func(_ string, p *Dataplane, add func(string)) { AddLabels(p, add) })
	c.DataplanesByAddress = c.Dataplanes.Index(func(_ string, p *Dataplane, add func(string)) {
		for i := range p.Spec.Networking.Inbound {
			add(AnswersAt(p, &p.Spec.Networking.Inbound[i]))
		}
	})
	c.DataplanesListing = c.Dataplanes.Index(func(_ string, p *Dataplane, add func(string)) { p.listed(add) })
	c.DataplanesByClassic = c.Dataplanes.Index(func(_ string, p *Dataplane, add func(string)) {
		for i := range p.Spec.Networking.Inbound {
			if n := p.Spec.Networking.Inbound[i].Tags[api.TagService]; n != "" && !p.Facts.Gateway && p.Object.From == nil { // that of a pod means its Service
				add(ClassicID(n))
			}
		}
	})
}

// listed adds the ids of those kuma.io/services that a dataplane names as what it calls, which may be
// there without anybody who answers for them.
func (p *Dataplane) listed(add func(string)) {
	for i := range p.Spec.Networking.Outbound {
		if o := &p.Spec.Networking.Outbound[i]; o.BackendRef == nil && o.Tags[api.TagService] != "" {
			add(ClassicID(o.Tags[api.TagService]))
		}
	}
}

// AnswersAt is by which address an inbound is found.
func AnswersAt(p *Dataplane, in *api.Inbound) string {
	return JoinedAddress(cmp.Or(in.Address, p.Spec.Networking.Address), in.Port)
}

func (c *Stage) indexPolicies() {
	c.PoliciesByKind = c.Policies.Index(func(_ string, p *Policy, add func(string)) { add(p.Object.Kind) })
	c.PoliciesByRoute = c.Policies.Index(func(_ string, p *Policy, add func(string)) {
		for _, it := range p.Items {
			if ref := it.RouteRef(); ref != nil {
				add(routeTarget(*ref))
			}
		}
	})
	c.PoliciesByTarget = c.Policies.Index(func(_ string, p *Policy, add func(string)) {
		for _, it := range p.Items {
			if it.RouteRef() == nil {
				add(TargetName(it.Target))
			}
		}
	})
	c.PoliciesBySelector = c.Policies.Index(func(_ string, p *Policy, add func(string)) {
		if len(p.Inbound) > 0 && p.TopRoute == nil {
			add(selectorTarget(p))
		}
	})
}

func (c *Stage) indexRoutes() {
	c.RoutesByName = c.Routes.Index(func(_ string, r *Route, add func(string)) {
		add(routeTarget(api.TargetRef{Kind: r.Object.Kind, Name: r.Object.Name}))
		add(routeTarget(api.TargetRef{Kind: r.Object.Kind, Name: r.Object.DisplayName()}))
		add(AnyOf(r.Object.Kind))
	})
	c.RoutesByTarget = c.Routes.Index(func(_ string, r *Route, add func(string)) {
		for i := range r.Parsed.Entries {
			add(TargetName(r.Parsed.Entries[i].To))
		}
	})
	c.RoutesByHost = c.Routes.Index(func(_ string, r *Route, add func(string)) {
		for d := range HostsOf(r, "") {
			for _, scope := range r.scopesOf(d.Name) {
				add(InScope(d.ID, scope))
			}
		}
	})
	c.RoutesByAddress = c.Routes.Index(func(_ string, r *Route, add func(string)) {
		for ref := range addressesOf(r) {
			add(addressID(ref.Target.Name))
		}
	})
	c.RoutesByEdges = c.Routes.Index(func(_ string, r *Route, add func(string)) {
		if e := r.Parsed.Edges; e != (api.Edges{}) {
			add(LabelKey(e.Label, e.Value))
		}
	})
	c.routesByRead = c.Routes.Index(func(_ string, r *Route, add func(string)) {
		for _, target := range r.Reads {
			add(target)
		}
	})
}

// selectorTarget is one label or tag that every dataplane carries which a policy
// with an inbound side selects; Any where there is none.
func selectorTarget(p *Policy) string {
	top := p.Object.Spec.(*policies.Spec).Top()
	want := top.Tags
	switch top.Kind {
	case api.KindDataplane:
		if top.Name != "" {
			return LabelKey(ownName, top.Name)
		}
		want = top.Labels
	case api.KindMeshService, api.KindMeshServiceSubset:
		return LabelKey(api.TagService, top.Name)
	case api.KindMeshSubset:
	default:
		return Any
	}
	return FirstPair(want, Any)
}

// What a dataplane is stands among its labels; no label has these keys.
const (
	ownName      = "/name"
	ownNamespace = "/namespace"
	OwnType      = "/type"
	Gateway      = "Gateway"
)

// GatherTarget is the one label or tag by which the dataplanes that a selector
// selects are found: each carries it. It is empty where there is no selector.
func GatherTarget(s *api.ServiceSelector) string {
	if s == nil {
		return ""
	}
	want := s.DataplaneTags
	if s.DataplaneLabels != nil {
		want = s.DataplaneLabels.MatchLabels
	}
	if s.DataplaneRef != nil {
		return LabelKey(ownName, s.DataplaneRef.Name)
	}
	return FirstPair(want, "")
}

// FirstPair is one of the labels or tags that are wanted; none if there are none.
func FirstPair(want map[string]string, none string) string {
	if len(want) == 0 {
		return none
	}
	k := slices.Min(slices.Collect(maps.Keys(want)))
	return LabelKey(k, want[k])
}

// AddLabels adds every label and tag of a dataplane, and its names.
func AddLabels(p *Dataplane, add func(string)) {
	add(LabelKey(ownName, p.Object.Name))
	add(LabelKey(ownName, p.Facts.Display()))
	add(LabelKey(ownNamespace, p.Facts.Namespace))
	if p.Facts.Gateway {
		add(LabelKey(OwnType, Gateway))
	}
	for k, v := range p.Facts.Labels.All() {
		add(LabelKey(k, v))
	}
	for _, tags := range p.Facts.Tags {
		for k, v := range tags {
			add(LabelKey(k, v))
		}
	}
}

// InAny yields what is in one of the buckets, each once.
func InAny[T any](at derive.At, i *derive.Index[T], buckets ...string) iter.Seq[*T] {
	return func(yield func(*T) bool) {
		var seen map[*T]bool
		for n, b := range buckets {
			if slices.Contains(buckets[:n], b) {
				continue
			}
			for v := range i.Values(at, b) {
				if seen[v] {
					continue
				}
				if len(buckets) > 1 {
					if seen == nil {
						seen = map[*T]bool{}
					}
					seen[v] = true
				}
				if !yield(v) {
					return
				}
			}
		}
	}
}

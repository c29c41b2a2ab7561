package resolve

import (
	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/resolve/effective"
)

// nameHolder is who has a name that a generator makes: a service, by one of its own names or
// by a generator, a route, or a cluster.
type nameHolder struct {
	service *service
	by      *generator // nil of a name that it has without one
	route   *routeObject
}

// holderOfName is who has a name that a generator makes of a service. Names that are had without
// a generator come first, then the generator with the first word, of those the oldest service.
func (m hostnamesMesh) holderOfName(s *service, name string) (h nameHolder) {
	for o := range m.servicesByHostname.Values(m.at, name) {
		switch {
		case o == s:
			return nameHolder{service: s}
		case m.isOutside(o.object): // it is told to nobody
		case !m.competes(o, s, name):
		case h.service == nil || senior(o.object, h.service.object):
			h.service = o
		}
	}
	if h.service != nil || effective.OfClusters(name) {
		return h
	}
	if h.route = m.routeOfHost(s, name); h.route != nil {
		return h
	}
	for n := range m.namingsByName.Values(m.at, name) {
		c := n.says(name)
		if !m.competes(n.service, s, name) {
			continue
		}
		if h.service != nil {
			order := c.by.compare(h.by)
			if order > 0 || order == 0 && !senior(n.service.object, h.service.object) {
				continue
			}
		}
		h = nameHolder{service: n.service, by: c.by}
	}
	return h
}

// routeOfHost is the oldest route that serves a host and may take its name from a service: one
// of the mesh's operators, or of the service's own namespace (spec/threats.md T10). nil for none.
func (m hostnamesMesh) routeOfHost(s *service, name string) *routeObject {
	var oldest *routeObject
	for r := range m.routesByTarget.Values(m.at, name) {
		for i := range r.opinion.Entries {
			if to := r.opinion.Entries[i].To; to.Kind == api.KindHost && to.Name == name && !r.object.Shadow() && mayName(r.object.Home(), s.object.Home()) && (oldest == nil || senior(r.object, oldest.object)) {
				oldest = r
			}
		}
	}
	return oldest
}

func mayName(route, service api.Home) bool {
	return route.System || route.Namespace == service.Namespace
}

// The reasons for which a generator gives a service no name (spec/kubernetes.md 3.9).
const (
	templateError = "TemplateError"
	collision     = "Collision"
)

// lostClaim says why a service has not the name of a claim: reason is empty where it has it.
func (m hostnamesMesh) lostClaim(s *service, c *claim) (reason, why string) {
	if c.name == "" {
		return templateError, c.broken
	}
	switch h := m.holderOfName(s, c.name); {
	case h.service == s:
		return "", ""
	case h.route != nil:
		return collision, c.name + " is a host of " + h.route.object.Ref.String() + " already"
	case h.service == nil:
		return collision, c.name + " is a name of the cluster, whose own DNS answers for all below svc.cluster.local"
	case h.by == nil:
		return collision, c.name + " is the name of " + h.service.object.Ref.String() + " already"
	default:
		return collision, c.name + " is the name of " + h.service.object.Ref.String() + " already, by " + h.by.object.Ref.String()
	}
}

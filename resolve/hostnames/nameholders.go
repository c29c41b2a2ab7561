package hostnames

import (
	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/resolve/index"
)

// NameHolder is who has a name that a generator makes: a service, by one of its own names or
// by a generator, a route, or a cluster.
type NameHolder struct {
	service *index.Service
	by      *Generator // nil of a name that it has without one
	route   *index.Route
}

// holderOfName is who has a name that a generator makes of a service. Names that are had without
// a generator come first, then the generator with the first word, of those the oldest service.
func (m Mesh) holderOfName(s *index.Service, name string) (h NameHolder) {
	for o := range m.ServicesByHostname.Values(m.At, name) {
		switch {
		case o == s:
			return NameHolder{service: s}
		case m.IsOutside(o.Object): // it is told to nobody
		case !m.Competes(o, s, name):
		case h.service == nil || Senior(o.Object, h.service.Object):
			h.service = o
		}
	}
	if h.service != nil || effective.OfClusters(name) {
		return h
	}
	if h.route = m.routeOfHost(s, name); h.route != nil {
		return h
	}
	for n := range m.namingsByName.Values(m.At, name) {
		c := n.says(name)
		if !m.Competes(n.Service, s, name) {
			continue
		}
		if h.service != nil {
			order := c.By.compare(h.by)
			if order > 0 || order == 0 && !Senior(n.Service.Object, h.service.Object) {
				continue
			}
		}
		h = NameHolder{service: n.Service, by: c.By}
	}
	return h
}

// routeOfHost is the oldest route that serves a host and may take its name from a service: one
// of the mesh's operators, or of the service's own namespace (spec/threats.md T10). nil for none.
func (m Mesh) routeOfHost(s *index.Service, name string) *index.Route {
	var oldest *index.Route
	for r := range m.RoutesByTarget.Values(m.At, name) {
		for i := range r.Parsed.Entries {
			if to := r.Parsed.Entries[i].To; to.Kind == api.KindHost && to.Name == name && !r.Object.Shadow() && mayName(r.Object.Home(), s.Object.Home()) && (oldest == nil || Senior(r.Object, oldest.Object)) {
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

// Conflict says why a service has not the name of a claim: reason is empty where it has it.
func (m Mesh) Conflict(s *index.Service, c *claim) (reason, why string) {
	if c.Name == "" {
		return templateError, c.broken
	}
	switch h := m.holderOfName(s, c.Name); {
	case h.service == s:
		return "", ""
	case h.route != nil:
		return collision, c.Name + " is a host of " + h.route.Object.Ref.String() + " already"
	case h.service == nil:
		return collision, c.Name + " is a name of the cluster, whose own DNS answers for all below svc.cluster.local"
	case h.by == nil:
		return collision, c.Name + " is the name of " + h.service.Object.Ref.String() + " already"
	default:
		return collision, c.Name + " is the name of " + h.service.Object.Ref.String() + " already, by " + h.by.Object.Ref.String()
	}
}

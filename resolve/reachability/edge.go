package reachability

import (
	"iter"
	"slices"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/resolve/index"
	"github.com/weftmesh/weft/resolve/services"
	"github.com/weftmesh/weft/route"
)

// plainHTTP is the port at which a mesh calls hosts, and edge dataplanes serve at
// every port of theirs what is for all of them (spec/httpproxy.md 1, spec/routegroup.md 4).
const plainHTTP = 80

// Listening is where an edge dataplane listens: where the first object by ref says that
// names it, else where it says itself.
func (m Mesh) Listening(p *index.Dataplane) []route.Listener {
	if !p.Facts.Edge {
		return nil
	}
	var by *index.Route
	for label, value := range p.Facts.Labels.All() {
		for r := range m.RoutesByEdges.Values(m.At, index.LabelKey(label, value)) {
			if p.Facts.Among(r.Parsed.Edges) && !r.Object.Shadow() && (by == nil || r.Object.Ref.Compare(by.Object.Ref) < 0) {
				by = r
			}
		}
	}
	if by != nil {
		return by.Parsed.Listeners
	}
	return m.ownListeners(p)
}

// EdgesNamed yields the edge dataplanes, by ref.
func (m Mesh) EdgesNamed(e api.Edges) iter.Seq[*index.Dataplane] {
	return func(yield func(*index.Dataplane) bool) {
		if e == (api.Edges{}) {
			return
		}
		for p := range m.Carrying(index.LabelKey(e.Label, e.Value)) {
			if p.Facts.Among(e) && !yield(p) {
				return
			}
		}
	}
}

// edgeCalls adds those to the hosts that an edge dataplane serves: at the port of a
// listener those that it alone has there with others of its kind, and of those for
// everybody what the listener covers and nobody has said anything about for it.
func (m Mesh) edgeCalls(p *index.Dataplane, add func(Call)) {
	type place struct {
		port uint32
		host string
	}
	served := map[place]bool{}
	scope := m.HostScope(p)
	serve := func(l *route.Listener, d *services.Destination) {
		if at := (place{l.Port, d.Name}); !served[at] && m.MayServe(p, d) {
			served[at] = true
			add(Call{Address: p.Spec.Networking.Address, Port: l.Port, Index: -1, Dest: d, Edge: true})
		}
	}
	list := m.Listening(p)
	for i := range list {
		l := &list[i]
		for d := range m.HostsSeen(l.Port, scope) {
			if m.isForEdges(d) && m.hasRouteFor(p, d) && !(l.TLS != nil && shut(list, l.Port, d.Name)) {
				serve(l, d)
			}
		}
	}
	for i := range list {
		l := &list[i]
		if l.Connections { // in which nobody asks for hosts
			continue
		}
		if l.TLS != nil {
			m.EdgeTLSCalls(list, l, scope, func(d *services.Destination) { serve(l, d) })
			continue
		}
		for d := range m.HostsSeen(plainHTTP, scope) {
			if l.Covers(d.Name) && !m.isForEdges(d) {
				serve(l, d)
			}
		}
	}
}

// isForEdges reports whether what is said about d is said for some edge dataplanes.
func (m Mesh) isForEdges(d *services.Destination) bool {
	said, _ := m.Routing.Get(m.At, d.Key)
	return said != nil && slices.ContainsFunc(said.Contributions, func(c *index.Contribution) bool { return c.Entry.Edges != (api.Edges{}) })
}

package resolve

import (
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/resolve/index"
	"github.com/weftmesh/weft/resolve/services"
	"github.com/weftmesh/weft/route"
)

// composition is what contributions to a destination come to: one for all classes
// that have the same ones.
type composition struct {
	route.Composition
	from []*index.Contribution // weakest first
}

// compose composes what is said about a destination to those who have the
// contributions that bits mark.
func (m routingMesh) compose(d *services.Destination, all []*index.Contribution, bits string) *composition {
	n := &composition{}
	own := false // what is said to the callers of one namespace hides what is said to all
	// Where edge dataplanes listen for whole connections nobody asks for hosts.
	connections := false
	for i, x := range all {
		own = own || bits[i] == '1' && x.Entry.Callers != ""
		connections = connections || bits[i] == '1' && x.OfConnectionsAtEdges()
	}
	var candidates []route.Candidate
	for i, x := range all {
		if bits[i] == '1' && (x.Entry.Callers != "") == own && x.OfConnectionsAtEdges() == connections {
			n.from = append(n.from, x)
			candidates = append(candidates, route.Candidate{Opinion: x.Route.Parsed, Entry: x.Entry})
		}
	}
	dialect := &m.Dialects[0] // which says what holds where nobody says anything
	if len(n.from) > 0 {
		dialect, _ = index.KindOf(m.Dialects, n.from[0].Route.Object.Kind)
	}
	if at := spokenFor(d, n.from); len(n.from) == 0 && !at.Protocol.HTTPLike() {
		n.Connections = &route.Composed{Do: route.Itself{}}
	} else {
		n.Composition = dialect.Compose(frontendOf(at), candidates)
	}
	return n
}

// spokenFor is d for those who have the contributions, one of which may know the
// protocol that nobody wrote down.
func spokenFor(d *services.Destination, from []*index.Contribution) *effective.Destination {
	for _, c := range from {
		if at := d.As(c.Route.Parsed.Speaks); at != d.Destination && !c.Route.Parsed.Connections {
			return at
		}
	}
	return d.Destination
}

func frontendOf(d *effective.Destination) route.Frontend {
	return route.Frontend{Kind: d.Kind, Name: d.Name, Namespace: d.Namespace, Port: d.Port, Protocol: d.Protocol, Secure: d.TLS != nil}
}

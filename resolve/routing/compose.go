package routing

import (
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/resolve/index"
	"github.com/weftmesh/weft/resolve/services"
	"github.com/weftmesh/weft/route"
)

// Composition is what contributions to a destination come to: one for all classes
// that have the same ones.
type Composition struct {
	route.Composition
	From []*index.Contribution // weakest first
}

// Compose composes what is said about a destination to those who have the
// contributions that bits mark.
func (m Mesh) Compose(d *services.Destination, all []*index.Contribution, bits string) *Composition {
	n := &Composition{}
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
			n.From = append(n.From, x)
			candidates = append(candidates, route.Candidate{ParsedRoute: x.Route.Parsed, Entry: x.Entry})
		}
	}
	dialect := &m.Dialects[0] // which says what holds where nobody says anything
	if len(n.From) > 0 {
		dialect, _ = index.KindOf(m.Dialects, n.From[0].Route.Object.Kind)
	}
	if at := SpokenFor(d, n.From); len(n.From) == 0 && !at.Protocol.HTTPLike() {
		n.Connections = &route.MergedRule{Do: route.Passthrough{}}
	} else {
		n.Composition = dialect.Compose(FrontendOf(at), candidates)
	}
	return n
}

// SpokenFor is d for those who have the contributions, one of which may know the
// protocol that nobody wrote down.
func SpokenFor(d *services.Destination, from []*index.Contribution) *effective.Destination {
	for _, c := range from {
		if at := d.As(c.Route.Parsed.Speaks); at != d.Destination && !c.Route.Parsed.Connections {
			return at
		}
	}
	return d.Destination
}

// FrontendOf is a destination as dialects see it.
func FrontendOf(d *effective.Destination) route.Frontend {
	return route.Frontend{Kind: d.Kind, Name: d.Name, Namespace: d.Namespace, Port: d.Port, Protocol: d.Protocol, TLS: d.TLS != nil}
}

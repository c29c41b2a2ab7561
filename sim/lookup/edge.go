package lookup

import (
	"slices"
	"strings"

	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/sim/wire"
)

// atEdge is one of the hosts that the listener of an edge dataplane serves to which a
// client from outside comes at a; nil where it serves none. Whatever address the client
// asks for, it has come to that dataplane.
func atEdge(r *effective.Resolved, a *wire.URL) *effective.Outbound {
	i := slices.IndexFunc(r.Outbounds, func(o *effective.Outbound) bool { return o.Edge && o.Port == a.Port })
	if i < 0 {
		return nil
	}
	return r.Outbounds[i]
}

// edgeAt is the port of an edge dataplane to which a client comes at a; the error says
// that it does not listen there, or not for such clients.
func edgeAt(r *effective.Resolved, a *wire.URL) (*effective.Edge, error) {
	missing := &NotReached{Dataplane: r.Ref.FullName(), Target: a.At(a.Port)}
	var ports []string
	for _, x := range r.Edges {
		scheme := "http"
		switch {
		case x.Connections:
			scheme = wire.TCPScheme
		case len(x.TLS) > 0:
			scheme = wire.HTTPSScheme
		}
		if x.Port == a.Port && (a.Scheme == scheme || x.Connections || a.Scheme == wire.TCPScheme && len(x.TLS) > 0) {
			return x.Edge, nil
		}
		ports = append(ports, scheme+"://"+a.At(x.Port))
	}
	missing.Advice = "it listens at no port; give it one in networking.gateway.listeners"
	if from := r.Dataplane.From; from != nil {
		missing.Advice = "it listens at no port; give it one by the annotation weft.io/edge-listeners of " + from.Kind + " " + from.FullName()
	}
	if len(ports) > 0 {
		missing.Advice = "its clients ask for " + strings.Join(ports, ", ")
	}
	return nil, missing
}

package sim

import (
	"slices"
	"strings"

	"github.com/weftmesh/weft/resolve/effective"
)

// atEdge is one of the hosts that the listener of an edge dataplane serves to which a
// client from outside comes at a; nil where it serves none. Whatever address the client
// asks for, it has come to that dataplane.
func atEdge(r *effective.Resolved, a *address) *effective.Outbound {
	i := slices.IndexFunc(r.Outbounds, func(o *effective.Outbound) bool { return o.Edge && o.Port == a.port })
	if i < 0 {
		return nil
	}
	return r.Outbounds[i]
}

// edgeAt is the port of an edge dataplane to which a client comes at a; the error says
// that it does not listen there, or not for such clients.
func edgeAt(r *effective.Resolved, a *address) (*effective.Edge, error) {
	missing := &NotReached{Dataplane: r.Ref.FullName(), Target: a.at(a.port)}
	var ports []string
	for _, x := range r.Edges {
		scheme := "http"
		switch {
		case x.Connections:
			scheme = bareScheme
		case len(x.TLS) > 0:
			scheme = secureScheme
		}
		if x.Port == a.port && (a.scheme == scheme || x.Connections || a.scheme == bareScheme && len(x.TLS) > 0) {
			return x.Edge, nil
		}
		ports = append(ports, scheme+"://"+a.at(x.Port))
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

// fromOutside makes c what an edge listener makes of a request before it looks at the
// path: a host has no dot at its end, and what only a mesh may say is not said.
func (c *call) fromOutside(scheme string) {
	c.outside = true
	if i := strings.LastIndexByte(c.authority, '.'); i >= 0 && (i+1 == len(c.authority) || c.authority[i+1] == ':') {
		c.authority = c.authority[:i] + c.authority[i+1:]
	}
	c.headers["host"], c.headers["x-forwarded-proto"], c.headers["x-request-id"] = c.authority, scheme, requestID
	for _, name := range []string{"x-envoy-decorator-operation", "x-envoy-downstream-service-cluster", "x-envoy-downstream-service-node"} {
		delete(c.headers, name)
		delete(c.sent, name)
	}
	delete(c.sent, "x-request-id")
	delete(c.sent, "x-forwarded-proto")
}

// mergeSlashes makes slashes in a row one, as Envoy does on edge listeners.
func mergeSlashes(path string) string {
	for strings.Contains(path, "//") {
		path = strings.ReplaceAll(path, "//", "/")
	}
	return path
}

package xds

import (
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"

	"github.com/weftmesh/weft/resolve/effective"
)

// What the tests hold against Envoy itself.
var CheckRoute = checkRoute

// UncheckedRoute is r as Envoy would get it if nobody looked what Envoy takes.
func UncheckedRoute(r *effective.Route) *routev3.Route {
	s := divide(r.Backends)
	out := &routev3.Route{Name: r.Name, Match: RouteMatch(r.Match.Conditions)}
	act(out, r, s)
	modify(out, r, s)
	return out
}

// ReadClaims is the script that reads the claims of tokens.
var ReadClaims = readClaims

// CallersMatch is for TestCallersMatch.
var CallersMatch = callersMatch

// Remade reports whether the content of a resource is not kept.
func Remade(r *Resource) bool { return r.remade != nil }

// Forgotten reports whether the content of a resource has to be made again.
func Forgotten(r *Resource) bool { return Remade(r) && r.remade.made.Value() == nil }

package routes

import (
	"errors"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/route"
	"github.com/weftmesh/weft/xds/check"
	"github.com/weftmesh/weft/xds/filters"
	"github.com/weftmesh/weft/xds/origin"
)

// checkedRoute is out, or what takes its place if Envoy would refuse it: a 500
// for the same requests where at least the match is good, else nothing. So it is
// where it must ask for authorization and is not on a host.
func checkedRoute(out *routev3.Route, r *effective.Route, onHost bool) (*routev3.Route, []api.Note) {
	err := check.Route(out)
	if !onHost && out.TypedPerFilterConfig[filters.AuthorizationName] != nil {
		err = errors.Join(err, errNobodyAsks)
	}
	if err == nil {
		return out, nil
	}
	honest := &routev3.Route{Name: out.Name, Match: out.Match, Metadata: out.Metadata, StatPrefix: out.StatPrefix, Action: respond(&route.Respond{Status: 500})}
	outcome := "what it matches is answered 500"
	if check.Route(honest) != nil {
		honest, outcome = nil, "the route is left out"
	}
	return honest, origin.Refused(writersOf(r), outcome, err)
}

// writersOf are all who may have written what is wrong with a route.
func writersOf(r *effective.Route) []*api.Origin {
	out := origin.OfRoute(r)
	for _, e := range r.Policies {
		out = append(out, origin.Winners(e)...)
	}
	return out
}

// errNobodyAsks refuses a route that must ask and is not on a host: the listeners of
// services have no filter that would.
var errNobodyAsks = errors.New("only routes on hosts ask the authorization service")

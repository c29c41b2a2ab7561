package proxyless

import (
	"fmt"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	"google.golang.org/protobuf/proto"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/route/match"
	"github.com/weftmesh/weft/xds/origin"
)

// What gRPC's own client asks of its calls (grpc-go 1.85).

// ofCalls takes the method out of conditions, for every call is a POST; false
// where no call can match.
func ofCalls(conditions match.Conditions) (match.Conditions, bool) {
	call := &match.Request{Method: "POST"}
	var out match.Conditions
	for i := range conditions {
		switch c := &conditions[i]; {
		case c.On != match.OnMethod:
			out = append(out, *c)
		case !c.Holds(call):
			return nil, false
		}
	}
	return out, true
}

// beyondCalls is the first condition that such a client does not ask: it would take
// more or fewer calls than a sidecar. Nil where there is none.
func beyondCalls(conditions match.Conditions) *match.Condition {
	path := conditions.Path()
	for i := range conditions {
		c := &conditions[i]
		switch {
		case c.On == match.OnCookie, c.On == match.OnClaim, c.On == match.OnAuthority, c.On == match.OnPath && c != path, c.Mode&match.MissingIsEmpty != 0:
			return c
		}
	}
	return nil
}

func neverTaken(r *effective.Route, c *match.Condition) []api.Note {
	var notes []api.Note
	for _, o := range origin.OfRoute(r) {
		notes = append(notes, api.Note{
			Origin: o, Severity: api.Warning, Code: "UnsupportedByGRPC",
			Message: fmt.Sprintf("gRPC clients without a sidecar cannot ask whether %s, so their calls never take this rule; give the client a sidecar if they must", c.Text()),
		})
	}
	return notes
}

// withoutSegments is r for a client that knows no prefix by segment: one for the
// prefix itself, one for all below it.
func withoutSegments(r *routev3.Route) []*routev3.Route {
	prefix := r.Match.GetPathSeparatedPrefix()
	if prefix == "" {
		return []*routev3.Route{r}
	}
	below := proto.CloneOf(r)
	r.Match.PathSpecifier = &routev3.RouteMatch_Path{Path: prefix}
	below.Match.PathSpecifier = &routev3.RouteMatch_Prefix{Prefix: prefix + "/"}
	return []*routev3.Route{r, below}
}

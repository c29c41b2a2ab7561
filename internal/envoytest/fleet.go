package envoytest

import (
	"fmt"
	"testing"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"

	"github.com/weftmesh/weft/xds"
)

// The headers by which a Fleet that reveals says what it did with a request.
const (
	// RouteHeader is the response header with the name of the route that was taken.
	RouteHeader = "x-fleet-route"
	// TriesHeader is the response header with the number of attempts, Envoy's own name.
	TriesHeader = "x-envoy-attempt-count"
)

// StartFleet runs one Envoy that is the sidecar of many dataplanes, each at its
// own addresses, which must differ. One that reveals tells in each answer which
// route it took, and how many attempts it made; it does so by additions to its
// routes that change nothing else.
func StartFleet(t testing.TB, states []*xds.State, reveals bool) *Envoy {
	t.Helper()
	u := newUnion(t)
	if reveals {
		u.routes = revealRoutes
	}
	for i, s := range states {
		u.add(fmt.Sprintf("%d/", i), s)
	}
	admin := Socket(t)
	return Start(t, admin, JSON(t, Bootstrap(admin, u.out))).Ready()
}

func revealRoutes(config *routev3.RouteConfiguration) {
	for _, host := range config.VirtualHosts {
		host.IncludeAttemptCountInResponse = true
		for _, r := range host.Routes {
			r.ResponseHeadersToAdd = append(r.ResponseHeadersToAdd, says(RouteHeader, r.Name))
		}
	}
}

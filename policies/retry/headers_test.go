package retry_test

import (
	"testing"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/policies/retry"
	"github.com/weftmesh/weft/xds/envoy"
)

// A header that nothing can be asked stops all repeating, in Envoy and in the
// plan: a limit that is left out would repeat what nobody meant to.
func TestAHeaderThatCannotBeAskedRepeatsNothing(t *testing.T) {
	t.Parallel()
	good, bad := policies.HeaderMatch{Name: "x-a", Value: "1"}, policies.HeaderMatch{Type: "RegularExpression", Name: "x-a", Value: "("}
	for _, x := range []struct {
		request, answer []policies.HeaderMatch
		repeats         bool
	}{
		{request: []policies.HeaderMatch{good}, answer: []policies.HeaderMatch{good}, repeats: true},
		{request: []policies.HeaderMatch{good, bad}},
		{answer: []policies.HeaderMatch{bad}},
	} {
		c := &retry.Conf{HTTP: &retry.HTTP{RetryOn: []string{"5xx"}, RetriableRequestHeaders: x.request, RetriableResponseHeaders: x.answer}}
		r := &routev3.Route{Action: &routev3.Route_Route{Route: &routev3.RouteAction{}}}
		c.WriteRoute(r, envoy.Place{Protocol: api.HTTP})
		if _, ok := c.RetryPlan(api.HTTP); ok != x.repeats || (r.GetRoute().RetryPolicy != nil) != x.repeats {
			t.Errorf("%+v: the plan repeats: %v, Envoy: %v", x, ok, r.GetRoute().RetryPolicy)
		}
	}
}

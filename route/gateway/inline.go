package gateway

import (
	"strconv"
	"time"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/route"
)

// again is what a rule with retry repeats beside the codes that it lists: connections
// that fail, and attempts that take too long (spec/gateway-api.md 2.6).
var again = []string{"ConnectFailure", "RefusedStream", "Reset"}

// attempts is how often a rule with retry repeats a request where it does not say.
const attempts = 2

// inline are the timeouts and retries of a rule.
func (x *reader) inline(r *rule, o *api.Origin, at api.Path) []route.Inline {
	var out []route.Inline
	say := func(field api.Path, p route.InlinePolicy) {
		origin := *o
		origin.Field = field
		out = append(out, route.Inline{Policy: p, Origin: &origin})
	}
	try, whole := (*api.Duration)(nil), (*api.Duration)(nil)
	if r.timeouts != nil {
		try, whole = duration(r.timeouts.BackendRequest), duration(r.timeouts.Request)
	}
	here := at.Field("timeouts")
	switch {
	case whole != nil && (try == nil || r.retry != nil || *try == 0 || *whole != 0 && *whole <= *try):
		say(here.Field("request"), &route.Timeouts{Request: whole})
	case try != nil && r.retry == nil: // the one attempt is the request
		say(here.Field("backendRequest"), &route.Timeouts{Request: try})
	}
	if r.retry == nil {
		return out
	}
	say(at.Field("retry"), retry(r.retry))
	if try != nil {
		say(here.Field("backendRequest"), &route.Retry{PerTry: try})
	}
	return out
}

// retry is what a rule's retry says.
func retry(r *gatewayv1.HTTPRouteRetry) *route.Retry {
	number := uint32(or(r.Attempts, attempts))
	on := append([]string(nil), again...)
	for _, code := range r.Codes {
		on = append(on, strconv.Itoa(int(code)))
	}
	return &route.Retry{Number: &number, On: on, Base: duration(r.Backoff)}
}

// duration is a valid one; nil where there is none.
func duration(d *gatewayv1.Duration) *api.Duration {
	if d == nil {
		return nil
	}
	v, err := time.ParseDuration(string(*d))
	if err != nil {
		panic(err) // Validate has looked at it
	}
	out := api.Duration(v)
	return &out
}

package gateway

import (
	"strconv"
	"time"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/route"
)

// The policies in whose terms a rule speaks.
const (
	timeouts = "MeshTimeout"
	retries  = "MeshRetry"
)

// again is what a rule with retry repeats beside the codes that it lists: connections
// that fail, and attempts that take too long (spec/gateway-api.md 2.6).
var again = []string{"ConnectFailure", "RefusedStream", "Reset"}

// attempts is how often a rule with retry repeats a request where it does not say.
const attempts = 2

// inline are the timeouts and retries of a rule.
func (x *reader) inline(r *rule, o *api.Origin, at api.Path) []route.Inline {
	var out []route.Inline
	say := func(kind string, field api.Path, fields map[string]any) {
		origin := *o
		origin.Field = field
		out = append(out, route.Inline{Kind: kind, Fields: fields, Origin: &origin})
	}
	try, whole := (*api.Duration)(nil), (*api.Duration)(nil)
	if r.timeouts != nil {
		try, whole = duration(r.timeouts.BackendRequest), duration(r.timeouts.Request)
	}
	here := at.Field("timeouts")
	switch {
	case whole != nil && (try == nil || r.retry != nil || *try == 0 || *whole != 0 && *whole <= *try):
		say(timeouts, here.Field("request"), map[string]any{"http.requestTimeout": whole})
	case try != nil && r.retry == nil: // the one attempt is the request
		say(timeouts, here.Field("backendRequest"), map[string]any{"http.requestTimeout": try})
	}
	if r.retry == nil {
		return out
	}
	say(retries, at.Field("retry"), retryFields(r.retry))
	if try != nil {
		say(retries, here.Field("backendRequest"), map[string]any{"http.perTryTimeout": try})
	}
	return out
}

// retryFields are those of a rule's retry.
func retryFields(r *gatewayv1.HTTPRouteRetry) map[string]any {
	number := uint32(or(r.Attempts, attempts))
	on := append([]string(nil), again...)
	for _, code := range r.Codes {
		on = append(on, strconv.Itoa(int(code)))
	}
	out := map[string]any{"http.numRetries": &number, "http.retryOn": on}
	if pause := duration(r.Backoff); pause != nil {
		out["http.backOff.baseInterval"] = pause
	}
	return out
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

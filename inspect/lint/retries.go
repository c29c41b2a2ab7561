package lint

import (
	"slices"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/route/match"
	"github.com/weftmesh/weft/sim/timeline"
	"github.com/weftmesh/weft/sim/wire"
)

// unsafeRetry: requests that may have been carried out are sent again although their method
// says that twice is not the same as once (RFC 9110, 9.2.2). It is a warning where a route or its
// policy is about such requests, and a hint where a policy repeats everything that is sent.
func unsafeRetry(v *view) (found []*api.Violation) {
	var hints []*api.Violation
	for _, r := range v.rows {
		plan, e := r.plan()
		if e == nil || !afterwards(plan) {
			continue
		}
		on, said := r.field(e, "retryOn")
		if !said || on.said.Origin == nil {
			on, said = r.field(e, "numRetries")
		}
		method, named := repeated(plan, methodsOf(r.Matches))
		if !said || method == "" || !named && r.protocol == api.GRPC { // calls of gRPC are POST, all of them
			continue
		}
		const do = "repeat it on ConnectFailure, RefusedStream and ResetBeforeRequest alone, or see that the service knows a request again"
		switch {
		case named:
			v.gather(&found, v.about(on, "UnsafeRetry", "%s to %s is sent again also when it may have been carried out already; "+do, method, r.to.Name))
		case v.onRoutes(on.said.Origin):
			v.gather(&found, v.about(on, "UnsafeRetry", "the rule takes requests of every method, so %s to %s is sent again also when it may have been carried out already; match the methods that are safe, "+do, method, r.to.Name))
		default:
			if x := v.about(on, "UnsafeRetry", "it is for requests of every method, so %s is sent again also when it may have been carried out already, as to %s; leave such methods out of retryOn, or "+do, method, r.to.Name); x != nil {
				x.Severity = api.Info
				hints = append(hints, x)
			}
		}
	}
	for _, x := range hints { // of what no warning is about
		v.gather(&found, x)
	}
	return found
}

// repeated is a method of which twice is not the same as once, and which a plan repeats; named, where
// the rule or the plan names methods. It is empty where there is none.
func repeated(plan timeline.RetryPlan, methods []string) (method string, named bool) {
	named = len(methods) > 0 || !plan.Request("GET", wire.Headers{}) // the plan names methods itself
	if len(methods) == 0 {
		methods = unsafeMethods
	}
	i := slices.IndexFunc(methods, func(m string) bool { return slices.Contains(unsafeMethods, m) && plan.Request(m, wire.Headers{}) })
	if i < 0 {
		return "", named
	}
	return methods[i], named
}

// onRoutes reports whether a document says something of single routes: a route of itself, or a policy
// that is attached to some.
func (v *view) onRoutes(o *api.Origin) bool {
	doc := v.mine[o.Ref]
	if doc == nil {
		return false
	}
	spec, policy := doc.Spec.(*policies.Spec)
	if !policy || spec.Top().IsRoute() {
		return true
	}
	for i := range spec.To {
		if o.Field == api.Path("spec.to").Index(i) {
			return spec.To[i].TargetRef.IsRoute()
		}
	}
	return false
}

// unsafeMethods are those of which twice is not the same as once.
var unsafeMethods = []string{"POST", "PATCH"}

// afterwards reports whether a request is repeated that the service has seen.
func afterwards(p timeline.RetryPlan) bool {
	if p.Reset || p.Headers != nil {
		return true
	}
	for status := uint32(400); p.Status != nil && status < 600; status++ {
		if p.Status(status) {
			return true
		}
	}
	return false
}

// methodsOf are the methods of rules that name one in each of their matches.
func methodsOf(matches []match.Match) (out []string) {
	for i := range matches {
		method := ""
		for _, c := range matches[i].Conditions {
			if c.On == match.OnMethod && c.Op == match.Equal {
				method = c.Value
			}
		}
		if method == "" {
			return nil
		}
		out = append(out, method)
	}
	return out
}

package gateway

import (
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/merge"
	"github.com/weftmesh/weft/route"
	"github.com/weftmesh/weft/route/match"
)

// unmatched is the answer to what no rule matches: a frontend with routes is no longer
// the Service itself. To a gRPC client it is UNIMPLEMENTED.
var unmatched = &route.MergedRule{Key: "gateway-none", Name: "gateway-none", Do: &route.Respond{Status: 404}, NoPolicies: true}

// compose tries the matches of all routes in one order (spec/gateway-api.md 2.3); of
// rules that match the same the older route's holds, then the first by name. At a host
// those come first that name it most exactly.
func compose(f route.Frontend, candidates []route.Candidate) route.Composition {
	candidates = slices.Clone(candidates)
	slices.SortStableFunc(candidates, byAge)
	var out route.Composition
	if f.Kind == api.KindHost {
		candidates = standing(f.Name, candidates)
		out.Rows = elsewhere(f.Name, candidates)
	}
	candidates = slices.CompactFunc(candidates, func(a, b route.Candidate) bool { return a.Object == b.Object })
	if len(candidates) > 0 && candidates[0].Connections {
		return composeConnections(f, candidates)
	}
	type item struct {
		*route.Rule
		near int
	}
	var written []item
	order := compareHTTP
	for _, c := range candidates {
		if c.Object.Kind == KindGRPCRoute {
			order = compareGRPC
		}
		for i := range c.Rules {
			written = append(written, item{&c.Rules[i], nearness(c.Entry)})
		}
	}
	won := merge.FirstWins(written, func(x *item) string { return x.Payload.(*said).key })
	for len(won) > 0 { // what is equally near is in one order
		n := slices.IndexFunc(won, func(w merge.Won[item]) bool { return w.Item.near != won[0].Item.near })
		if n < 0 {
			n = len(won)
		}
		var rules []*route.MergedRule
		for _, w := range won[:n] {
			c := composed(f, w.Item.Rule)
			for _, lost := range w.Over {
				c.Superseded = append(c.Superseded, lost.Origin)
			}
			rules = append(rules, c)
		}
		out.Rows, won = append(out.Rows, route.Ordered(rules, order)...), won[n:]
	}
	if !slices.ContainsFunc(out.Rows, func(r route.Row) bool { return r.Match.Everything() }) {
		out.Default = unmatched
	}
	return out
}

func byAge(a, b route.Candidate) int { return older(a.Object, b.Object) }

// older is negative where x was written before y, or comes first by name.
func older(x, y *api.Object) int {
	return cmp.Or(x.Created.Compare(y.Created), cmp.Compare(x.HomeNamespace(), y.HomeNamespace()), cmp.Compare(x.Name, y.Name))
}

// composed is one rule where clients ask at f.
func composed(f route.Frontend, r *route.Rule) *route.MergedRule {
	s := r.Payload.(*said)
	sum := sha256.Sum256([]byte(s.key))
	out := &route.MergedRule{Key: base64.StdEncoding.EncodeToString(sum[:]), Name: nameOf(r.Origin), Matches: r.Matches, Filters: s.filters,
		Origins: []*api.Origin{r.Origin}, ActionBy: r.Origin, Inline: s.inline}
	if len(s.filters) > 0 {
		out.FiltersBy = r.Origin
	}
	switch {
	case s.closed:
		out.Do = &route.Respond{Status: 500}
	case s.redirect != nil:
		out.Do = redirect(f, s.redirect)
	default:
		out.Do = &route.Forward{Backends: s.backends, NoBackend: route.Respond{Status: s.broken}}
	}
	return out
}

// nameOf is the name of the Envoy route of a rule.
func nameOf(o *api.Origin) string {
	return fmt.Sprintf("%s/%s#%s", o.Kind, o.FullName(), cmp.Or(o.RuleName, fmt.Sprint(*o.Rule)))
}

// redirect is where a rule sends the clients that ask at f. Without a port and a
// scheme of its own the location keeps the port that the client called; with a scheme
// it has the scheme's, which is not written.
func redirect(f route.Frontend, r *gatewayv1.HTTPRequestRedirectFilter) *route.Redirect {
	out := &route.Redirect{Scheme: or(r.Scheme, ""), Hostname: string(or(r.Hostname, "")), Port: uint32(or(r.Port, 0)),
		Path: modified(r.Path), Status: uint32(or(r.StatusCode, 302))}
	usual, asked := map[string]uint32{"http": 80, "https": 443}, "http"
	if f.TLS {
		asked = "https"
	}
	switch {
	case out.Port == usual[cmp.Or(out.Scheme, asked)]:
		out.Port = 0
	case out.Port == 0 && out.Scheme == "" && f.Port != usual[asked]:
		out.Port = f.Port
	}
	if out.Port == 0 && out.Hostname == "" && f.Port != usual[asked] { // Envoy would keep the port that the client wrote
		out.Port = usual[cmp.Or(out.Scheme, asked)]
	}
	return out
}

// compareHTTP orders single matches, most specific first. It is a strict weak order:
// zero leaves the decision to the order of the rules.
func compareHTTP(a, b *match.Match) int {
	return match.MoreSpecific(a, b, match.Equal, match.SegmentPrefix, match.BytePrefix, match.FullMatch)
}

// compareGRPC is compareHTTP for calls: the longer name of a service comes first, then
// the longer name of a method, and expressions after names.
func compareGRPC(a, b *match.Match) int {
	p, q := a.Path(), b.Path()
	s, m := callOf(p)
	t, n := callOf(q)
	return cmp.Or(
		match.FalseFirst(p.Op == match.FullMatch, q.Op == match.FullMatch),
		cmp.Compare(t, s), cmp.Compare(n, m),
		cmp.Compare(b.Count(match.OnHeader), a.Count(match.OnHeader)),
	)
}

// callOf is how long the names are that a path asks for.
func callOf(path *match.Condition) (service, method int) {
	name, rest, _ := strings.Cut(strings.TrimPrefix(path.Value, "/"), "/")
	return len(name), len(rest)
}

package gateway

import (
	"math"
	"slices"
	"strconv"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/route"
)

// filters are those of a rule, or of one of its backends.
func (p *printer) filters(list []route.Filter, line int) []gatewayv1.HTTPRouteFilter {
	var out []gatewayv1.HTTPRouteFilter
	plain := route.PlainOf(list)
	p.NothingFilled("an HTTPRoute", &plain)
	p.NoChecks("an HTTPRoute", &plain)
	if len(plain.Request) > 1 || len(plain.Answer) > 1 {
		p.Fail(route.UnsaidFilter, "an HTTPRoute changes a header once, and this changes one several times")
	}
	for i := range plain.Request {
		out = append(out, gatewayv1.HTTPRouteFilter{Type: gatewayv1.HTTPRouteFilterRequestHeaderModifier, RequestHeaderModifier: headerFilter(&plain.Request[i])})
	}
	for i := range plain.Answer {
		out = append(out, gatewayv1.HTTPRouteFilter{Type: gatewayv1.HTTPRouteFilterResponseHeaderModifier, ResponseHeaderModifier: headerFilter(&plain.Answer[i])})
	}
	if w := plain.Rewrite; w != nil {
		out = append(out, gatewayv1.HTTPRouteFilter{Type: gatewayv1.HTTPRouteFilterURLRewrite, URLRewrite: p.rewrite(w, line)})
	}
	if plain.CORS != nil {
		out = append(out, gatewayv1.HTTPRouteFilter{Type: gatewayv1.HTTPRouteFilterCORS, CORS: p.cors(plain.CORS)})
	}
	for _, m := range plain.Mirrors {
		out = append(out, gatewayv1.HTTPRouteFilter{Type: gatewayv1.HTTPRouteFilterRequestMirror, RequestMirror: p.mirror(m)})
	}
	return out
}

func headerFilter(m *route.HeaderModifier) *gatewayv1.HTTPHeaderFilter {
	out := &gatewayv1.HTTPHeaderFilter{Remove: m.Remove}
	for _, h := range m.Set {
		out.Set = append(out.Set, gatewayv1.HTTPHeader{Name: gatewayv1.HTTPHeaderName(h.Name), Value: h.Value})
	}
	for _, h := range m.Add {
		out.Add = append(out.Add, gatewayv1.HTTPHeader{Name: gatewayv1.HTTPHeaderName(h.Name), Value: h.Value})
	}
	return out
}

func (p *printer) rewrite(w *route.Rewrite, line int) *gatewayv1.HTTPURLRewriteFilter {
	out := &gatewayv1.HTTPURLRewriteFilter{}
	if w.Hostname != "" {
		out.Hostname = new(gatewayv1.PreciseHostname(w.Hostname))
	}
	if w.BackendsHost || w.HostHeader != "" {
		p.Fail(route.UnsaidFilter, "an HTTPRoute takes the host from no header and no backend; it writes one")
	}
	out.Path = modifierOf(p.Replaced(line, w.Path))
	if w.Path != nil && out.Path == nil {
		p.Fail(route.UnsaidFilter, "an HTTPRoute replaces the whole path or the prefix that its match names, and not each match of an expression")
	}
	return out
}

func (p *printer) mirror(m *route.Mirror) *gatewayv1.HTTPRequestMirrorFilter {
	out := &gatewayv1.HTTPRequestMirrorFilter{BackendRef: p.reference(&m.Backend)}
	const parts = 10_000 // of a percentage, each a millionth of all
	switch whole := math.Trunc(m.Percent); {
	case m.Percent == 100:
	case whole == m.Percent:
		out.Percent = new(int32(whole))
	default:
		out.Fraction = &gatewayv1.Fraction{Numerator: int32(math.Round(m.Percent * parts)), Denominator: new(int32(100 * parts))}
	}
	return out
}

// printInline writes the timeouts and retries that a rule can say so that they mean what
// they are; the others are left to policies.
func printInline(out *gatewayv1.HTTPRouteRule, list []route.Inline) {
	said := route.InlineOf(list)
	whole, try := said.Timeouts.Request, said.Retry.PerTry
	again, repeats := retryOf(&said.Retry)
	out.Retry = again
	text := func(d *api.Duration) *gatewayv1.Duration {
		if d == nil {
			return nil
		}
		text := gatewayv1.Duration(d.String())
		if !gepDuration.MatchString(string(text)) {
			return nil
		}
		return &text
	}
	t := gatewayv1.HTTPRouteTimeouts{Request: text(whole)}
	if repeats && (whole == nil || *whole == 0 || try == nil || *try <= *whole) {
		t.BackendRequest = text(try)
	}
	if t.Request != nil || t.BackendRequest != nil {
		out.Timeouts = &t
	}
}

// retryOf is what a rule says of repeating, in its own words; false where it has none for
// it.
func retryOf(says *route.Retry) (*gatewayv1.HTTPRouteRetry, bool) {
	on := says.On
	if says.Number == nil || *says.Number == 0 || len(on) < len(again) || !slices.Equal(on[:len(again)], again) {
		return nil, false
	}
	out := &gatewayv1.HTTPRouteRetry{Attempts: new(int(*says.Number))}
	for _, word := range on[len(again):] {
		code, err := strconv.Atoi(word)
		if err != nil {
			return nil, false
		}
		out.Codes = append(out.Codes, gatewayv1.HTTPRouteRetryStatusCode(code))
	}
	if says.Base != nil {
		out.Backoff = new(gatewayv1.Duration(says.Base.String()))
	}
	return out, true
}

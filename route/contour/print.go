package contour

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/route"
	"github.com/weftmesh/weft/route/match"
)

// printer writes one table.
type printer struct {
	route.Printer
	host *route.CORS // of all that forwards
}

// printTable writes a table as a root for each of its hosts.
func printTable(t *route.Table) *route.Printed {
	p := &printer{route.NewPrinter(t), hostCORS(t.Lines)}
	for _, to := range t.To {
		if to.Name == api.AnyHost {
			p.Out.Unsaid = []route.Unsaid{{Line: -1, Severity: api.Error, Code: route.UnsaidPlace,
				Message: "an " + KindHTTPProxy + " is for one host, and not for all; name the host in the source"}}
			return p.Out
		}
	}
	var routes []Route
	var from []int
	for i := range t.Lines {
		p.Begin(i)
		list := p.routes()
		for range list {
			from = append(from, i)
		}
		routes = append(routes, list...)
	}
	if len(routes) == 0 {
		return p.Out
	}
	for n, to := range t.To {
		ref := t.Ref
		if ref.Kind = KindHTTPProxy; n > 0 {
			ref.Name = fmt.Sprintf("%s-%d", ref.Name, n+1)
		}
		for i := range routes {
			p.Out.Put(ref, api.Path("spec.routes").Index(i), from[i])
		}
		p.wildcard(to)
		p.Out.Objects = append(p.Out.Objects, &api.Object{Ref: ref, Labels: t.Labels, Spec: &HTTPProxy{VirtualHost: &VirtualHost{FQDN: to.Name, CORSPolicy: corsPolicy(p.host)}, Routes: slices.Clone(routes)}})
	}
	return p.Out
}

// wildcard says that the names below a host are only those with one label more.
func (p *printer) wildcard(to api.TargetRef) {
	if !strings.HasPrefix(to.Name, "*") {
		return
	}
	for i := range p.Lines {
		p.Out.Unsaid = append(p.Out.Unsaid, route.Unsaid{Line: i, Severity: api.Warning, Code: route.UnsaidPlace,
			Message: to.Name + " is for names with one label in the place of the *, so names with more are not served"})
	}
}

// routes are those that a line comes to: a prefix of segments is the path itself and all
// below its slash. With a limit it is one route, which asks by an expression: two would
// have a bucket each.
func (p *printer) routes() []Route {
	l := &p.Lines[p.Line]
	paths := []match.Condition{*l.Path()}
	_, forwards := l.Do.(*route.Forward)
	said := route.InlineOf(l.Inline)
	limited := forwards && limitOf(&said.RateLimit) != nil
	if at := l.Path(); at.Op == match.SegmentPrefix && at.Value != "/" && !l.Expression && !limited {
		base := strings.TrimSuffix(at.Value, "/")
		paths = []match.Condition{{On: match.OnPath, Op: match.Equal, Value: base}, {On: match.OnPath, Op: match.BytePrefix, Value: base + "/"}}
	}
	var out []Route
	for i := range paths {
		r, ok := p.route(l, &paths[i])
		if p.Failed {
			return nil
		}
		if ok {
			out = append(out, r)
		}
	}
	return out
}

// route is the line where the path is as on wants it; not ok where that part of it is
// left out.
func (p *printer) route(l *route.Line, on *match.Condition) (Route, bool) {
	out := Route{Conditions: p.conditions(l, on)}
	plain := route.PlainOf(l.Filters)
	p.NoChecks("an "+KindHTTPProxy, &plain)
	switch do := l.Do.(type) {
	case *route.Redirect:
		p.unchanged(&plain)
		out.RequestRedirectPolicy = p.redirectOf(do, l.Path(), on)
	case *route.Respond:
		p.unchanged(&plain)
		out.DirectResponsePolicy = p.answer(do)
	case *route.Forward:
		p.cors(plain.CORS)
		if !slices.ContainsFunc(do.Backends, func(b route.BackendRef) bool { return b.Weight > 0 }) {
			p.unchanged(&plain)
			out.DirectResponsePolicy = p.answer(&do.NoBackend)
			break
		}
		if !p.rewriteOf(&out, &plain, l.Path(), on) {
			return out, false
		}
		p.forwardOf(&out, do, &plain)
		printInline(&out, l.Inline)
		out.EnableWebsockets = l.Upgrade != route.UpgradeOff
		out.LoadBalancerPolicy = balanceOf(do)
	default:
		p.Fail(route.UnsaidAction, "an %s has to name the service, which is not known", KindHTTPProxy)
	}
	return out, true
}

// unchanged wants no changes of an answer that no service gives.
func (p *printer) unchanged(plain *route.Plain) {
	if len(plain.Answer) > 0 {
		p.Fail(route.UnsaidFilter, "an %s changes no headers of its own answers", KindHTTPProxy)
	}
}

func (p *printer) answer(do *route.Respond) *DirectResponsePolicy {
	if len(do.Headers) > 0 {
		p.Fail(route.UnsaidAction, "an %s answers without headers of its own", KindHTTPProxy)
	}
	return &DirectResponsePolicy{StatusCode: do.Status, Body: do.Body}
}

// redirectOf is the location for the part of the line's path that on is.
func (p *printer) redirectOf(d *route.Redirect, path, on *match.Condition) *RequestRedirect {
	out := &RequestRedirect{Scheme: d.Scheme, Hostname: d.Hostname, StatusCode: &d.Status}
	if d.Port != 0 {
		out.Port = new(int64(d.Port))
	}
	if d.Path == nil {
		return out
	}
	to, ok := d.Path.Of(path, on.Value)
	switch {
	case d.Path.Full != nil:
		out.Path = route.Absolute(*d.Path.Full)
	case on.Op == match.Equal && ok:
		out.Path = to
	case on.Op == match.FullMatch || p.Lines[p.Line].Expression || !ok ||
		d.Path.Outcome(path, on) != (&route.PathRewrite{Prefix: &to, Literal: true}).Outcome(asPrefix(on), on):
		p.Fail(route.UnsaidAction, "an %s redirects to a whole path, or replaces the prefix that it asks for", KindHTTPProxy)
	default:
		out.Prefix = to
	}
	return out
}

// asPrefix is on as a prefix of bytes, which / is as well.
func asPrefix(on *match.Condition) *match.Condition {
	out := *on
	out.Op = match.BytePrefix
	return &out
}

// rewriteOf says what services see of host and path; false where the part of the line's
// path is left out, for only prefixes are replaced.
func (p *printer) rewriteOf(out *Route, plain *route.Plain, path, on *match.Condition) bool {
	w := plain.Rewrite
	if w == nil || w.Path == nil {
		return true
	}
	to, ok := w.Path.Of(path, on.Value)
	literal := on.Value == "/"
	if !literal {
		to = strings.TrimSuffix(to, "/")
	}
	switch {
	case on.Op == match.Equal && path.Op == match.SegmentPrefix && ok:
		p.Out.Unsaid = append(p.Out.Unsaid, route.Unsaid{Line: p.Line, Severity: api.Warning, Code: route.UnsaidPart,
			Message: fmt.Sprintf("an %s rewrites what is below a prefix, and not the path %s itself: requests for it do not come to the rule", KindHTTPProxy, on.Value)})
		return false
	case on.Op == match.Equal || on.Op == match.FullMatch || p.Lines[p.Line].Expression || !ok ||
		w.Path.Outcome(path, on) != (&route.PathRewrite{Prefix: &to, Literal: literal && to != ""}).Outcome(asPrefix(on), on):
		p.Fail(route.UnsaidFilter, "an %s replaces the prefix that it asks for, and nothing else of the path", KindHTTPProxy)
	}
	out.PathRewritePolicy = &PathRewritePolicy{ReplacePrefix: []ReplacePrefix{{Replacement: cmp.Or(to, "/")}}}
	return true
}

// forwardOf writes the services.
func (p *printer) forwardOf(out *Route, do *route.Forward, plain *route.Plain) {
	for i := range do.Backends {
		b := &do.Backends[i]
		s := p.service(b)
		if len(do.Backends) > 1 {
			s.Weight = b.Weight
		}
		own := route.PlainOf(b.Filters)
		s.RequestHeadersPolicy, s.ResponseHeadersPolicy = p.policies(&own)
		out.Services = append(out.Services, s)
	}
	out.RequestHeadersPolicy, out.ResponseHeadersPolicy = p.policies(plain)
	for i, m := range plain.Mirrors {
		s := p.service(&m.Backend)
		s.Mirror, s.Weight = true, uint32(m.Percent)
		if i > 0 || float64(s.Weight) != m.Percent || s.Weight == 0 {
			p.Fail(route.UnsaidFilter, "an %s has one mirror, of a whole percentage from 1", KindHTTPProxy)
		}
		out.Services = append(out.Services, s)
	}
}

func (p *printer) service(b *route.BackendRef) Service {
	port, _ := p.ServicePort("an "+KindHTTPProxy, b, "; include an object of that namespace")
	out := Service{Name: b.Target.Name, Port: int64(port)}
	if b.HTTP2 {
		out.Protocol = "h2c"
	}
	if x := b.Balance; x.SlowStart > 0 {
		out.SlowStartPolicy = &SlowStartPolicy{Window: x.SlowStart.String(), Aggression: strconv.FormatFloat(1/x.Exponent, 'f', -1, 64), MinWeightPercent: new(x.LeastWeight)}
	}
	return out
}

// policies are changes of headers.
func (p *printer) policies(plain *route.Plain) (request, answer *HeadersPolicy) {
	request, answer = p.policy(plain.Request), p.policy(plain.Answer)
	w := plain.Rewrite
	if w == nil || w.Hostname == "" && w.HostHeader == "" {
		if w != nil && w.BackendsHost {
			p.Fail(route.UnsaidFilter, "an %s does not take the host of a service", KindHTTPProxy)
		}
		return request, answer
	}
	if request == nil {
		request = &HeadersPolicy{}
	}
	host := w.Hostname
	if w.HostHeader != "" {
		host = "%REQ(" + w.HostHeader + ")%"
	}
	request.Set = append(request.Set, HeaderValue{"Host", host})
	return request, answer
}

func (p *printer) policy(list []route.HeaderModifier) *HeadersPolicy {
	if len(list) == 0 {
		return nil
	}
	if len(list) > 1 || len(list[0].Add) > 0 {
		p.Fail(route.UnsaidFilter, "an %s sets and removes headers, once each, and adds no lines", KindHTTPProxy)
	}
	out := &HeadersPolicy{Remove: list[0].Remove}
	for _, h := range list[0].Set {
		if parts, why := partsOf(h.Value); why != "" || strings.Contains(h.Value, "%CONTOUR_") || len(parts) > 1 || len(parts) == 1 && parts[0].Text != h.Value {
			p.Fail(route.UnsaidFilter, "an %s cannot write %q as it stands, for it would fill that in", KindHTTPProxy, h.Value)
		}
		out.Set = append(out.Set, HeaderValue(h))
	}
	for i := range list[0].Fill {
		f := &list[0].Fill[i]
		if parts, why := partsOf(f.String()); why != "" || f.Add || !slices.Equal(parts, f.Parts) {
			p.Fail(route.UnsaidFilter, "an %s does not fill in %s", KindHTTPProxy, f.String())
		}
		out.Set = append(out.Set, HeaderValue{f.Name, f.String()})
	}
	return out
}

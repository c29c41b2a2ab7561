package skipper

import (
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/route"
	"github.com/weftmesh/weft/route/match"
	"github.com/weftmesh/weft/route/skipper/eskip"
)

// printer writes one table.
type printer struct {
	route.Printer
	group *RouteGroup
}

// printTable writes a table as one RouteGroup.
func printTable(t *route.Table) *route.Printed {
	p := &printer{route.NewPrinter(t), &RouteGroup{}}
	for _, to := range t.To {
		if to.Name != api.AnyHost {
			p.group.Hosts = append(p.group.Hosts, to.Name)
		}
	}
	ref := t.Ref
	ref.Kind = Kind
	for i := range t.Lines {
		p.Begin(i)
		backends := slices.Clone(p.group.Backends)
		r := p.route(&t.Lines[i])
		if p.Failed {
			p.group.Backends = backends
			continue
		}
		p.Out.Put(ref, api.Path("spec.routes").Index(len(p.group.Routes)), i)
		p.group.Routes = append(p.group.Routes, r)
	}
	if len(p.group.Routes) == 0 {
		return p.Out
	}
	p.defaults(ref)
	p.Out.Objects = []*api.Object{{Ref: ref, Labels: t.Labels, Spec: p.group}}
	return p.Out
}

// defaults makes the backends that all routes share those of the group; a group that
// sends everything to them has no routes.
func (p *printer) defaults(ref api.Ref) {
	g := p.group
	first := g.Routes[0].Backends
	for _, r := range g.Routes {
		if !slices.EqualFunc(r.Backends, first, func(a, b BackendRef) bool {
			return a.BackendName == b.BackendName && (a.Weight == b.Weight || a.Weight != nil && b.Weight != nil && *a.Weight == *b.Weight)
		}) {
			return
		}
	}
	g.DefaultBackends = first
	for i := range g.Routes {
		g.Routes[i].Backends = nil
	}
	if r := &g.Routes[0]; len(g.Routes) == 1 && r.PathSubtree == "/" && len(r.Methods)+len(r.Predicates)+len(r.Filters) == 0 {
		lines := p.Out.From[route.RuleRef{Ref: ref, Field: "spec.routes[0]"}]
		g.Routes, p.Out.From = nil, nil
		p.Out.Put(ref, "spec.defaultBackends", lines...)
	}
}

// say is a call as the group writes it.
func say(name string, args ...any) string {
	c := eskip.Call{Name: name}
	for _, a := range args {
		switch a := a.(type) {
		case string:
			c.Args = append(c.Args, eskip.Arg{Kind: eskip.String, Text: a})
		case float64:
			c.Args = append(c.Args, eskip.Arg{Kind: eskip.Number, Number: a})
		}
	}
	return c.String()
}

// route is one line.
func (p *printer) route(l *route.Line) Route {
	var out Route
	p.match(&out, l)
	plain := route.PlainOf(l.Filters)
	p.NoCORS("a "+Kind, &plain)
	p.unread(&plain)
	if len(plain.Guards)+len(plain.ClientLimits) > 0 {
		p.Fail(route.UnsaidFilter, "this filter is not translated into a %s", Kind)
	}
	for _, m := range slices.Backward(plain.Answer) { // the last filter is the first to change an answer
		out.Filters = append(out.Filters, p.headers(&m, "Response")...)
	}
	if plain.Delay > 0 {
		out.Filters = append(out.Filters, say("latency", plain.Delay.String()))
	}
	switch do := l.Do.(type) {
	case *route.Redirect:
		out.Filters = append(out.Filters, p.redirectTo(do))
		out.Backends = []BackendRef{{BackendName: p.shunt()}}
	case *route.Respond:
		out.Filters = append(out.Filters, p.answer(do)...)
		out.Backends = []BackendRef{{BackendName: p.shunt()}}
	case *route.Forward:
		if !slices.ContainsFunc(do.Backends, func(b route.BackendRef) bool { return b.Weight > 0 }) {
			out.Filters = append(out.Filters, p.answer(&do.NoBackend)...)
			out.Backends = []BackendRef{{BackendName: p.shunt()}}
			break
		}
		for _, m := range plain.Request {
			out.Filters = append(out.Filters, p.headers(&m, "Request")...)
		}
		out.Filters = append(out.Filters, p.rewrite(plain.Rewrite)...)
		out.Filters = append(out.Filters, p.hosts(do, plain.Rewrite)...)
		hash, hashable := hashFilters(do)
		out.Filters = append(out.Filters, hash...)
		for _, m := range plain.Mirrors {
			out.Filters = append(out.Filters, p.tee(m))
		}
		out.Filters = append(out.Filters, p.fadeIn(do)...)
		out.Filters = append(out.Filters, inlineFilters(l.Inline)...)
		out.Backends = p.backends(do, hashable)
	default:
		p.Fail(route.UnsaidAction, "a %s has to name the service, which is not known", Kind)
	}
	return out
}

func (p *printer) headers(m *route.HeaderModifier, of string) []string {
	var out []string
	for _, h := range m.Set {
		out = append(out, say("set"+of+"Header", h.Name, h.Value))
	}
	for i := range m.Fill {
		how := "set"
		if m.Fill[i].Add {
			how = "append"
		}
		out = append(out, say(how+of+"Header", m.Fill[i].Name, p.template(&m.Fill[i])))
	}
	for _, h := range m.Add {
		out = append(out, say("append"+of+"Header", h.Name, h.Value))
	}
	for _, name := range m.Remove {
		out = append(out, say("drop"+of+"Header", name))
	}
	return out
}

// rewrite is what the service sees of host and path.
func (p *printer) rewrite(w *route.Rewrite) []string {
	if w == nil {
		return nil
	}
	var out []string
	if w.HostHeader != "" {
		out = append(out, say("setRequestHeader", "Host", spelled([]route.Part{{Header: w.HostHeader}})))
	}
	if w.Hostname != "" {
		out = append(out, say("setRequestHeader", "Host", w.Hostname))
	}
	on := p.Lines[p.Line].Path()
	switch r := p.Replaced(p.Line, w.Path); {
	case w.Path == nil:
	case r != nil && r.Full != nil:
		out = append(out, say("setPath", route.Absolute(*r.Full)))
	case w.Path.Each != nil:
		out = append(out, say("modPath", w.Path.Each.Expression, substituted(w.Path.Each.With)))
	default:
		from := strings.TrimSuffix(on.Value, "/")
		to, ok := w.Path.Of(on, on.Value)
		if !ok || on.Op == match.FullMatch {
			p.Fail(route.UnsaidFilter, "a %s replaces the path, or a prefix that it asks for", Kind)
		}
		if from == "" {
			from = "/"
		}
		if to != "/" {
			to = strings.TrimSuffix(to, "/")
		}
		if from == "/" && to != "/" {
			to += "/"
		}
		expression := "^" + regexp.QuoteMeta(from)
		if to == "/" && from != "/" && on.Op == match.BytePrefix { // else the slash behind the prefix would stand beside it
			expression += "/?"
		}
		out = append(out, say("modPath", expression, strings.ReplaceAll(to, "$", "$$")))
	}
	return out
}

// substituted is a replacement in Skipper's words: of \1 it makes ${1}, as substitution
// reads it.
func substituted(with string) string {
	var b strings.Builder
	for i := 0; i < len(with); i++ {
		switch c := with[i]; {
		case c == '$':
			b.WriteString("$$")
		case c != '\\' || i+1 == len(with):
			b.WriteByte(c)
		case with[i+1] == '\\':
			b.WriteByte('\\')
			i++
		default:
			b.WriteString("${" + with[i+1:i+2] + "}")
			i++
		}
	}
	return b.String()
}

func (p *printer) redirectTo(d *route.Redirect) string {
	if d.Scheme == "" {
		p.Fail(route.UnsaidAction, "a %s redirects to a scheme that it names, and not to that of the request", Kind)
	}
	to := d.Scheme + "://" + d.Hostname
	if d.Port != 0 {
		to += ":" + strconv.FormatUint(uint64(d.Port), 10)
	}
	if d.Path != nil {
		r := p.Replaced(p.Line, d.Path)
		if r == nil || r.Full == nil {
			p.Fail(route.UnsaidAction, "a %s redirects to a whole path, and keeps no part of one", Kind)
			return ""
		}
		to += route.Absolute(*r.Full)
	}
	return say("redirectTo", float64(d.Status), to)
}

func (p *printer) answer(do *route.Respond) []string {
	var out []string
	kind := "text/plain"
	switch {
	case len(do.Headers) == 1 && do.Headers[0].Name == "content-type" && do.Body != "":
		kind = do.Headers[0].Value
	case len(do.Headers) > 0:
		p.Fail(route.UnsaidAction, "a %s answers without headers of its own", Kind)
	}
	if do.Status != http.StatusNotFound && (do.Body == "" || do.Status != http.StatusOK) || do.Status == http.StatusNotFound && do.Body != "" {
		out = append(out, say("status", float64(do.Status)))
	}
	if do.Body != "" {
		out = append(out, say("inlineContent", do.Body, kind))
	}
	return out
}

// shunt is the name of the backend of which there is none.
func (p *printer) shunt() string { return p.backend(Backend{Name: shunt, Type: shunt}) }

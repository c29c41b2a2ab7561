package gateway

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strconv"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/redact"
	"github.com/weftmesh/weft/route"
)

// printer writes one table.
type printer struct{ route.Printer }

// printTable writes a table as HTTPRoutes: one, or several where it has more rules than
// one may have.
func printTable(t *route.Table) *route.Printed {
	p := &printer{route.NewPrinter(t)}
	type written struct {
		gatewayv1.HTTPRouteRule
		lines []int
	}
	var rules []written
	for _, g := range t.Groups() {
		for chunk := range slices.Chunk(g.Lines, maxMatches) {
			if r, lines := p.rule(g.MergedRule, chunk); len(lines) > 0 {
				rules = append(rules, written{r, lines})
			}
		}
	}
	n, matches := 0, 0
	var o *api.Object
	var spec *HTTPRoute
	for _, r := range rules {
		if o == nil || len(spec.Rules) == maxRules || matches+len(r.Matches) > maxAllMatches {
			n, matches = n+1, 0
			o, spec = p.object(n)
			p.Out.Objects = append(p.Out.Objects, o)
		}
		p.Out.Put(o.Ref, api.Path("spec.rules").Index(len(spec.Rules)), r.lines...)
		spec.Rules = append(spec.Rules, r.HTTPRouteRule)
		matches += len(r.Matches)
	}
	return p.Out
}

// object is HTTPRoute n of the table. Where several are equally old the names decide.
func (p *printer) object(n int) (*api.Object, *HTTPRoute) {
	spec := &HTTPRoute{}
	for _, to := range p.To {
		if to.Kind != api.KindHost {
			spec.ParentRefs = append(spec.ParentRefs, p.parent(to))
		} else if to.Name != api.AnyHost {
			spec.Hostnames = append(spec.Hostnames, gatewayv1.Hostname(to.Name))
		}
	}
	if p.To[0].Kind == api.KindHost {
		ref := gatewayv1.ParentReference{Name: gatewayv1.ObjectName(p.Gateway.Name)}
		if p.Gateway.Namespace != p.Ref.Namespace {
			ref.Namespace = new(gatewayv1.Namespace(p.Gateway.Namespace))
		}
		if p.Port != 0 {
			ref.Port = new(gatewayv1.PortNumber(p.Port))
		}
		if p.Listener != "" {
			ref.SectionName = new(gatewayv1.SectionName(p.Listener))
		}
		spec.ParentRefs = []gatewayv1.ParentReference{ref}
	}
	ref := p.Ref
	if ref.Kind = KindHTTPRoute; n > 1 {
		ref.Name = fmt.Sprintf("%s-%02d", ref.Name, n)
	}
	return &api.Object{Ref: ref, Labels: p.Labels, Spec: spec}, spec
}

func (p *printer) parent(to api.TargetRef) gatewayv1.ParentReference {
	out := gatewayv1.ParentReference{Group: new(gatewayv1.Group("")), Kind: new(gatewayv1.Kind(api.KindService)), Name: gatewayv1.ObjectName(to.Name)}
	if to.Namespace != p.Ref.Namespace {
		out.Namespace = new(gatewayv1.Namespace(to.Namespace))
	}
	if n, err := strconv.ParseInt(to.SectionName, 10, 32); err == nil {
		out.Port = new(gatewayv1.PortNumber(n))
	} else if to.SectionName != "" {
		out.SectionName = new(gatewayv1.SectionName(to.SectionName))
	}
	return out
}

// rule is those of the lines of c that can be printed, as one rule.
func (p *printer) rule(c *route.MergedRule, lines []int) (out gatewayv1.HTTPRouteRule, printed []int) {
	p.Begin(lines[0])
	out.Filters = p.filters(c.Filters, lines[0])
	p.action(&out, c.Do)
	if p.Failed {
		p.FailToo(lines[1:])
		return out, nil
	}
	if name := p.NameOf(c); name != "" {
		out.Name = new(gatewayv1.SectionName(name))
	}
	printInline(&out, c.Inline)
	out.Matches, printed = route.MatchesOf(&p.Printer, lines, p.match)
	if len(out.Matches) == 1 && everything(&out.Matches[0]) {
		out.Matches = nil
	}
	return out, printed
}

// everything reports whether a match is what a rule without matches asks for.
func everything(m *gatewayv1.HTTPRouteMatch) bool {
	wholePath := m.Path == nil || *m.Path.Type == gatewayv1.PathMatchPathPrefix && *m.Path.Value == "/"
	return wholePath && m.Method == nil && len(m.Headers)+len(m.QueryParams) == 0
}

func (p *printer) action(out *gatewayv1.HTTPRouteRule, do route.Action) {
	switch do := do.(type) {
	case *route.Forward:
		for i := range do.Backends {
			out.BackendRefs = append(out.BackendRefs, p.backend(&do.Backends[i]))
		}
	case *route.Redirect:
		out.Filters = append(out.Filters, gatewayv1.HTTPRouteFilter{Type: gatewayv1.HTTPRouteFilterRequestRedirect, RequestRedirect: p.redirect(do)})
	case *route.Respond:
		if do.Status != http.StatusInternalServerError || do.Body != "" || len(do.Headers) > 0 { // as a rule without backends answers
			p.Fail(route.UnsaidAction, "an HTTPRoute answers by itself with 500 alone, and this is %d", do.Status)
		}
	default:
		p.Fail(route.UnsaidAction, "the HTTPRoute would have to name the destination, which is not known")
	}
}

func (p *printer) redirect(d *route.Redirect) *gatewayv1.HTTPRequestRedirectFilter {
	out := &gatewayv1.HTTPRequestRedirectFilter{Path: modifierOf(p.Replaced(p.Line, d.Path))}
	if d.Path != nil && out.Path == nil {
		p.Fail(route.UnsaidAction, "an HTTPRoute redirects to a whole path, or replaces the prefix that its match names")
	}
	if d.Scheme != "" {
		out.Scheme = &d.Scheme
	}
	if d.Hostname != "" {
		out.Hostname = new(gatewayv1.PreciseHostname(d.Hostname))
	}
	switch {
	case d.Port != 0:
		out.Port = new(gatewayv1.PortNumber(d.Port))
	case d.Scheme == "" && d.Hostname != "": // else the location has the port that clients call
		out.Port = new(gatewayv1.PortNumber(80))
	}
	out.StatusCode = new(int(d.Status))
	return out
}

func modifierOf(r *route.PathRewrite) *gatewayv1.HTTPPathModifier {
	switch {
	case r == nil:
		return nil
	case r.Full != nil:
		return &gatewayv1.HTTPPathModifier{Type: gatewayv1.FullPathHTTPPathModifier, ReplaceFullPath: r.Full}
	}
	return &gatewayv1.HTTPPathModifier{Type: gatewayv1.PrefixMatchHTTPPathModifier, ReplacePrefixMatch: r.Prefix}
}

// backend is a ref; one that names a kind for which there is no backend fails.
func (p *printer) backend(b *route.BackendRef) gatewayv1.HTTPBackendRef {
	var out gatewayv1.HTTPBackendRef
	out.BackendObjectReference = p.reference(b)
	if b.Weight != 1 {
		out.Weight = new(int32(b.Weight))
	}
	out.Filters = p.filters(b.Filters, p.Line)
	return out
}

func (p *printer) reference(b *route.BackendRef) gatewayv1.BackendObjectReference {
	ref := b.Target
	out := gatewayv1.BackendObjectReference{Name: gatewayv1.ObjectName(ref.Name)}
	section, err := strconv.ParseUint(ref.SectionName, 10, 16)
	port := cmp.Or(b.Port, uint32(section))
	switch {
	case b.Outside != nil:
		p.Fail(route.UnsaidBackend, "an HTTPRoute names services, and not the address %s; write a MeshExternalService", ref.Name)
	case b.Unresolved != nil:
		p.Fail(route.UnsaidBackend, "the backend leads nowhere: %s", b.Unresolved.Message)
	case len(ref.Labels)+len(ref.Tags) > 0 || ref.Kind == api.KindMeshServiceSubset:
		p.Fail(route.UnsaidBackend, "an HTTPRoute names backends, and selects none by labels or tags")
	case ref.SectionName != "" && err != nil:
		p.Fail(route.UnsaidBackend, "an HTTPRoute names the port of a backend by its number, and not as %s", redact.Clip(ref.SectionName))
	case port == 0 && ref.Kind == api.KindMeshService, ref.Kind != api.KindMeshService && ref.Kind != api.KindService:
		out.Group, out.Kind = new(gatewayv1.Group("kuma.io")), new(gatewayv1.Kind(ref.Kind))
	}
	if port != 0 {
		out.Port = new(gatewayv1.PortNumber(port))
	}
	if home := cmp.Or(ref.Namespace, b.Home.Namespace); home != p.Ref.Namespace {
		out.Namespace = new(gatewayv1.Namespace(home))
	}
	return out
}

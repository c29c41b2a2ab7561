package kuma

import (
	"net/http"
	"slices"
	"strconv"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/route"
)

// printer writes one table.
type printer struct{ route.Printer }

// printTable writes a table as one MeshHTTPRoute.
func printTable(t *route.Table) *route.Printed {
	p := &printer{route.NewPrinter(t)}
	var rules []Rule
	var from [][]int
	for _, g := range t.Groups() {
		if r, lines := p.rule(&g); len(lines) > 0 {
			rules, from = append(rules, r), append(from, lines)
		}
	}
	if len(rules) == 0 {
		return p.Out
	}
	spec := &HTTPRoute{}
	ref := t.Ref
	ref.Kind = KindHTTPRoute
	for i, to := range t.To {
		to = to.InMesh()
		if to.Namespace == ref.Namespace {
			to.Namespace = ""
		}
		copied := slices.Clone(rules)
		for j := range rules {
			if i > 0 { // a name is one rule's
				copied[j].Name = ""
			}
			p.Out.Put(ref, api.Path("spec.to").Index(i).Field("rules").Index(j), from[j]...)
		}
		spec.To = append(spec.To, To{TargetRef: to, Rules: copied})
	}
	p.Out.Objects = []*api.Object{{Ref: ref, Labels: t.Labels, Spec: spec}}
	return p.Out
}

// rule is those lines of a group that can be printed, as one rule.
func (p *printer) rule(g *route.RuleGroup) (out Rule, printed []int) {
	p.Begin(g.Lines[0])
	p.filters(&out.Default, g.MergedRule)
	p.action(&out.Default, g.Do)
	if p.Failed {
		p.FailToo(g.Lines[1:])
		return out, nil
	}
	if name := p.NameOf(g.MergedRule); ruleName.MatchString(name) {
		out.Name = name
	}
	out.Matches, printed = route.MatchesOf(&p.Printer, g.Lines, p.match)
	return out, printed
}

func (p *printer) action(out *Default, do route.Action) {
	switch do := do.(type) {
	case route.Passthrough:
	case *route.Forward:
		out.BackendRefs = []BackendRef{}
		for i := range do.Backends {
			b := &do.Backends[i]
			if len(b.Filters) > 0 {
				p.Fail(route.UnsaidFilter, "%s has no filters for one of several backends", KindHTTPRoute)
			}
			out.BackendRefs = append(out.BackendRefs, p.backend(b))
		}
		if len(do.Backends) == 0 {
			p.refuse(out, do.NoBackend.Status)
		}
	case *route.Redirect:
		out.Filters = append(out.Filters, Filter{Type: requestRedirect, RequestRedirect: p.redirect(do)})
	case *route.Respond:
		if do.Body != "" || len(do.Headers) > 0 {
			p.Fail(route.UnsaidAction, "%s does not answer by itself", KindHTTPRoute)
		}
		p.refuse(out, do.Status)
	}
}

// refuse answers with the status that there is for backends of which none has a weight.
func (p *printer) refuse(out *Default, status uint32) {
	if status != http.StatusInternalServerError {
		p.Fail(route.UnsaidAction, "%s answers by itself with %d alone, and this is %d", KindHTTPRoute, http.StatusInternalServerError, status)
		return
	}
	to := p.To[0]
	out.BackendRefs = []BackendRef{p.backend(&route.BackendRef{Target: api.TargetRef{Kind: to.Kind, Name: to.Name, Namespace: to.Namespace, SectionName: to.SectionName}})}
}

func (p *printer) redirect(d *route.Redirect) *RequestRedirect {
	out := redirectOf(d, p.Replaced(p.Line, d.Path))
	if d.Path != nil && out.Path == nil {
		p.Fail(route.UnsaidAction, "%s redirects to a whole path, or replaces the prefix that its match names", KindHTTPRoute)
	}
	return out
}

// redirectOf is a redirect to another path than d's own.
func redirectOf(d *route.Redirect, path *route.PathRewrite) *RequestRedirect {
	out := &RequestRedirect{Scheme: d.Scheme, Hostname: d.Hostname, StatusCode: d.Status, Path: rewriteOf(path)}
	if d.Port != 0 {
		out.Port = &d.Port
	}
	return out
}

func rewriteOf(r *route.PathRewrite) *PathRewrite {
	switch {
	case r == nil:
		return nil
	case r.Full != nil:
		return &PathRewrite{Type: "ReplaceFullPath", ReplaceFullPath: new(route.Absolute(*r.Full))}
	}
	return &PathRewrite{Type: "ReplacePrefixMatch", ReplacePrefixMatch: r.Prefix}
}

func (p *printer) backend(b *route.BackendRef) BackendRef {
	ref := b.Target.InMesh()
	if b.Outside != nil {
		p.Fail(route.UnsaidBackend, "%s names services, and not the address %s; write a MeshExternalService", KindHTTPRoute, ref.Name)
	}
	out := BackendRef{Kind: ref.Kind, Name: ref.Name, Namespace: ref.Namespace, Labels: ref.Labels, Tags: ref.Tags, SectionName: ref.SectionName, Weight: &b.Weight}
	if out.Namespace == p.Ref.Namespace || out.Namespace == "" && b.Home.Namespace == p.Ref.Namespace {
		out.Namespace = ""
	} else if out.Namespace == "" {
		out.Namespace = b.Home.Namespace
	}
	port := b.Port
	if n, err := strconv.ParseUint(ref.SectionName, 10, 16); err == nil && port == 0 {
		port, out.SectionName = uint32(n), ""
	}
	if port != 0 {
		out.Port = &port
	}
	if b.Unresolved != nil {
		p.Fail(route.UnsaidBackend, "the backend leads nowhere: %s", b.Unresolved.Message)
	}
	return out
}

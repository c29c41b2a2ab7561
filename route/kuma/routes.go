package kuma

import (
	"cmp"
	"fmt"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/route"
	"github.com/weftmesh/weft/route/match"
)

// read says what one object means.
func read(o *api.Object, _ route.Lister) *route.ParsedRoute {
	switch spec := o.Spec.(type) {
	case *HTTPRoute:
		return readHTTP(o, spec)
	case *TCPRoute:
		return readTCP(o, spec)
	}
	panic(fmt.Sprintf("%s holds a %T", o.Ref, o.Spec))
}

func readHTTP(o *api.Object, spec *HTTPRoute) *route.ParsedRoute {
	out := parsed(o, spec)
	for i := range spec.To {
		to := &spec.To[i]
		here := api.Path("spec.to").Index(i)
		entry := route.Entry{To: to.TargetRef, Index: i, Field: here.Field("targetRef")}
		at := here.Field("rules")
		for j := range to.Rules {
			rule, notes := ruleOf(o, &to.Rules[j], i, j, at.Index(j))
			entry.Rules, out.Notes = append(entry.Rules, rule), append(out.Notes, notes...)
		}
		out.Entries = append(out.Entries, entry)
	}
	return out
}

// parsed is what both kinds of route say alike of themselves.
func parsed(o *api.Object, spec interface {
	Top() api.TargetRef
	RoleIn(home api.Home) string
}) *route.ParsedRoute {
	top := spec.Top()
	return &route.ParsedRoute{Object: o, Top: top, Role: spec.RoleIn(o.Home()), Notes: gatewayNotes(o.Ref, top)}
}

// gatewayNotes say that an object that selects gateways selects nothing.
func gatewayNotes(ref api.Ref, top api.TargetRef) []api.Note {
	if top.Kind != api.KindMeshGateway {
		return nil
	}
	return []api.Note{{Origin: &api.Origin{Ref: ref}, Severity: api.Error, Code: "TargetNotFound", Field: "spec.targetRef",
		Message: "weft has no MeshGateway; use an edge dataplane (networking.gateway.type BUILTIN) and target it as Dataplane"}}
}

// ruleOf reads rule j of entry i of o, which stands at at.
func ruleOf(o *api.Object, r *Rule, i, j int, at api.Path) (out route.Rule, notes []api.Note) {
	says := &rule{key: Key(r.Matches)}
	out = route.Rule{Origin: &api.Origin{Ref: o.Ref, To: &i, Rule: &j, RuleName: r.Name, Field: at}, Payload: says}
	out.Matches, notes = matches(r.Matches, at.Field("matches"), out.Origin)
	at = at.Field("default")
	if r.Default.Filters != nil {
		says.filters = make([]route.Filter, 0, len(r.Default.Filters))
	}
	for i := range r.Default.Filters {
		f := &r.Default.Filters[i]
		if f.Type == requestRedirect {
			says.redirect = f.RequestRedirect.redirect()
			continue
		}
		says.filters = append(says.filters, f.filter(o, at.Field("filters").Index(i)))
		if f.Type == requestMirror {
			out.Mirrors = append(out.Mirrors, says.filters[len(says.filters)-1].Mirror.Backend)
		}
	}
	says.backends = backends(o, r.Default.BackendRefs, at.Field("backendRefs"))
	for i := range says.backends {
		says.backends[i].Broken = lost
	}
	out.Backends = says.backends
	if len(says.backends) > 0 && says.redirect == nil { // without any the destination itself has the requests
		out.Unserved = route.Unserved(says.backends, fmt.Sprintf(route.EachAnswered, lost))
	}
	return out, notes
}

// backends reads the refs of a list that stands at at; nil for one that is absent.
func backends(o *api.Object, refs []BackendRef, at api.Path) []route.BackendRef {
	if refs == nil {
		return nil
	}
	out := make([]route.BackendRef, len(refs))
	for b := range refs {
		out[b] = refs[b].backend(o, at.Index(b))
	}
	return out
}

func (b *BackendRef) backend(o *api.Object, at api.Path) route.BackendRef {
	out := route.BackendRef{Target: b.ref(), Home: o.Home(), Weight: 1, Field: at}
	if b.Port != nil {
		out.Port = *b.Port
	}
	if b.Weight != nil {
		out.Weight = *b.Weight
	}
	return out
}

// filter reads f, which is valid and no redirect: the field that its type names is there.
func (f *Filter) filter(o *api.Object, at api.Path) route.Filter {
	switch f.Type {
	case requestHeaderModifier:
		return route.Filter{RequestHeaders: f.RequestHeaderModifier.modifier()}
	case responseHeaderModifier:
		return route.Filter{ResponseHeaders: f.ResponseHeaderModifier.modifier()}
	case urlRewrite:
		w := f.URLRewrite
		return route.Filter{Rewrite: &route.Rewrite{Hostname: w.Hostname, Path: w.Path.rewrite(), BackendsHost: w.HostToBackendHostname}}
	case requestMirror:
		m := &route.Mirror{Backend: f.RequestMirror.BackendRef.backend(o, at.Field("requestMirror").Field("backendRef")), Percent: 100}
		if p := f.RequestMirror.Percentage; p != nil {
			m.Percent, _ = p.value()
		}
		return route.Filter{Mirror: m}
	}
	panic("filter of type " + f.Type)
}

func (m *HeaderModifier) modifier() *route.HeaderModifier {
	return &route.HeaderModifier{Set: headers(m.Set), Add: headers(m.Add), Remove: m.Remove}
}

func (r *RequestRedirect) redirect() *route.Redirect {
	out := &route.Redirect{Scheme: r.Scheme, Hostname: r.Hostname, Path: r.Path.rewrite(), Status: cmp.Or(r.StatusCode, 302)}
	if r.Port != nil {
		out.Port = *r.Port
	}
	return out
}

func (p *PathRewrite) rewrite() *route.PathRewrite {
	if p == nil {
		return nil
	}
	return &route.PathRewrite{Full: p.ReplaceFullPath, Prefix: p.ReplacePrefixMatch}
}

// Compare orders single matches, most specific first (spec/kuma.md 2.1). It is a
// strict weak order: zero leaves the decision to the order of the rules.
func Compare(a, b *match.Match) int {
	return match.MoreSpecific(a, b, match.Equal, match.SegmentPrefix, match.FullMatch)
}

package kuma

import (
	"fmt"
	"slices"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/inspect/terminal"
	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/route"
	"github.com/weftmesh/weft/route/kuma"
)

// routeConf is what a rule does, in the form of the default of a MeshHTTPRoute.
type routeConf struct {
	kuma.Default
	// OtherActions are, in words, what a rule of another language does besides.
	OtherActions []string `json:"otherActions,omitempty"`
}

// routeConfOf is the conf of a merged rule: of MeshHTTPRoutes as their documents spell it, of another
// language what it comes to.
func routeConfOf(m *resolve.Reader, rt *effective.Route) (out routeConf) {
	if documentConf(m, rt, &out.Default) {
		return out
	}
	out.filters(rt)
	switch do := rt.Answer.(type) {
	case *route.Redirect:
		if f, ok := kuma.RedirectOf(do); ok {
			out.Filters = append(out.Filters, f)
		} else {
			out.say("%s", terminal.AnswerText(do))
		}
		return out
	case *route.Respond:
		out.say("%s", terminal.AnswerText(do))
		return out
	}
	out.backends(rt)
	return out
}

// filters are those of the rule.
func (c *routeConf) filters(rt *effective.Route) {
	mirrors := rt.Mirrors
	for i := range rt.Filters {
		f := &rt.Filters[i]
		own, ok := kuma.FilterOf(f)
		if f.Mirror != nil && len(mirrors) > 0 {
			m := &mirrors[0]
			if mirrors = mirrors[1:]; m.Host == "" && m.Kind != api.KindAddress && len(m.Filters) == 0 {
				own, ok = kuma.MirrorOf(refOf(&m.Backend), m.Percent), true
			}
		}
		if ok {
			c.Filters = append(c.Filters, own)
		} else {
			c.say("%s", terminal.FilterText(f))
		}
	}
}

// backends are those of a rule that forwards, with how it does.
func (c *routeConf) backends(rt *effective.Route) {
	for i := range rt.Backends {
		b := &rt.Backends[i]
		ref := refOf(b)
		c.BackendRefs = append(c.BackendRefs, ref)
		to := strings.Join(strings.Fields(fmt.Sprintf("to %s %s", ref.Kind, api.Ref{Namespace: ref.Namespace, Name: ref.Name}.FullName())), " ")
		for j := range b.Filters {
			c.say("%s: %s", to, terminal.FilterText(&b.Filters[j]))
		}
		if b.HTTP2 {
			c.say("%s: in HTTP/2", to)
		}
		if balance := b.Balance.String(); balance != "" {
			c.say("%s: %s", to, balance)
		}
	}
	if rt.Answers() != nil {
		c.say("%s, for no backend can be used", terminal.AnswerText(rt.Answers()))
	}
	if hash := route.HashText(rt.Hash); hash != "" {
		c.say("requests are told apart by %s", hash)
	}
	if upgrade := rt.Upgrade.String(); upgrade != "" {
		c.say("WebSockets %s", upgrade)
	}
}

func (c *routeConf) say(format string, args ...any) {
	c.OtherActions = append(c.OtherActions, fmt.Sprintf(format, args...))
}

// refOf is a backend as a document names it.
func refOf(b *effective.Backend) kuma.BackendRef {
	kind := api.TargetRef{Kind: b.Kind}.InMesh().Kind
	out := kuma.BackendRef{Kind: kind, Name: b.Name, Namespace: b.Namespace, Tags: b.Tags, Weight: &b.Weight}
	if b.Port != 0 {
		out.Port = &b.Port
	}
	return out
}

// documentConf is what the documents of MeshHTTPRoutes spell for a rule: of each list the strongest
// that is there. It is false where the rule is of another language.
func documentConf(m *resolve.Reader, rt *effective.Route, out *kuma.Default) (ok bool) {
	for _, o := range slices.Backward(rt.Origins) {
		r := written(m, o)
		if r == nil {
			continue
		}
		if ok = true; out.Filters == nil {
			out.Filters = r.Default.Filters
		}
		if out.BackendRefs == nil {
			out.BackendRefs = r.Default.BackendRefs
		}
	}
	return ok
}

// written is the rule of a MeshHTTPRoute that an origin names.
func written(m *resolve.Reader, o *api.Origin) *kuma.Rule {
	if o == nil || o.To == nil || o.Rule == nil {
		return nil
	}
	if obj, ok := m.Snapshot().Get(o.Ref); ok {
		if spec, ok := obj.Spec.(*kuma.HTTPRoute); ok {
			return &spec.To[*o.To].Rules[*o.Rule]
		}
	}
	return nil
}

// connectionConfOf is the list of backends that holds: of a MeshTCPRoute as its document spells it.
func connectionConfOf(m *resolve.Reader, t *effective.TCPTable) (out kuma.TCPDefault) {
	by := t.BackendsBy
	if obj, ok := m.Snapshot().Get(by.Ref); ok && by.To != nil && by.Rule != nil {
		if spec, ok := obj.Spec.(*kuma.TCPRoute); ok {
			return spec.To[*by.To].Rules[*by.Rule].Default
		}
	}
	for i := range t.Backends {
		out.BackendRefs = append(out.BackendRefs, refOf(&t.Backends[i]))
	}
	return out
}

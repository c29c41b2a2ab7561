package kuma

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/inspect"
	"github.com/weftmesh/weft/merge"
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/resolve/effective"
)

// The answers of Kuma's newer inspect API, which identify things by KRI.

// Layout is GET …/dataplanes/{dp}/_layout.
type Layout struct {
	KRI       string            `json:"kri"`
	Labels    map[string]string `json:"labels"`
	Inbounds  []Port            `json:"inbounds"`
	Outbounds []Port            `json:"outbounds"` // sorted by KRI
	Listeners []Port            `json:"listeners"`
	SpiffeID  string            `json:"spiffeId,omitempty"` // that it should have
}

// Port is one listener.
type Port struct {
	KRI      string       `json:"kri"`
	Port     uint32       `json:"port"` // of an outbound the destination's, where it has one
	Protocol api.Protocol `json:"protocol"`
	Name     string       `json:"proxyResourceName"`
}

// PolicyList is an answer of the _policies endpoints.
type PolicyList struct {
	Policies []KindPolicy `json:"policies"`
}

// KindPolicy is what one kind says at one place: Conf for destinations, where it is a list, and for
// a whole dataplane, Rules for inbounds.
type KindPolicy struct {
	Kind    string      `json:"kind"`
	Conf    any         `json:"conf,omitempty"`
	Rules   []KRIRule   `json:"rules,omitempty"`
	Origins []KRIOrigin `json:"origins"`
}

// KRIRule is one rule of an inbound.
type KRIRule struct {
	KRI  string `json:"kri,omitempty"`
	Conf any    `json:"conf"`
}

// KRIOrigin names an object.
type KRIOrigin struct {
	KRI string `json:"kri"`
}

// kris names things for one mesh.
type kris struct {
	model   *resolve.Reader
	catalog *api.Catalog
}

func (x kris) of(ref api.Ref, section string) string {
	if o, ok := x.model.Snapshot().Get(ref); ok {
		return x.catalog.KRI(o) + section
	}
	return api.KRI{Short: x.short(ref.Kind), Mesh: ref.Mesh, Namespace: ref.Namespace, Name: ref.Name, Section: section}.String()
}

func (x kris) short(kind string) string {
	t, _ := x.catalog.Type(kind)
	return t.Short
}

func (x kris) destination(mesh string, d *effective.Destination) string {
	if d.Ref.Name != "" {
		return x.of(d.Ref, d.PortName)
	}
	k := api.KRI{Short: x.short(d.Kind), Mesh: mesh, Name: d.Name}
	if k.Short == "" { // a host, of which no document is: one at each port
		k.Short, k.Section = ofNoDocument(d.Kind), strconv.FormatUint(uint64(d.Port), 10)
	}
	return k.String()
}

// ofNoDocument is the short name, in KRIs, of a kind that no document has.
func ofNoDocument(kind string) string { return strings.ToLower(kind) }

// CheckKRI reports what is wrong with a KRI that the layout of a dataplane might have.
func CheckKRI(c *api.Catalog, text string) error {
	_, err := c.ParseKRI(text)
	if err != nil && strings.HasPrefix(text, "kri_"+ofNoDocument(api.KindHost)+"_") && strings.Count(text, "_") >= 6 {
		return nil
	}
	return err
}

// origins names the objects behind origins, each once, where its strongest word stands.
func (x kris) origins(list []*api.Origin) []KRIOrigin {
	out := []KRIOrigin{}
	for _, o := range lastOf(list, ofOneObject) {
		out = append(out, KRIOrigin{x.of(o.Ref, "")})
	}
	return out
}

// LayoutOf lists the listeners of a dataplane.
func LayoutOf(m *resolve.Reader, c *api.Catalog, dp api.Ref) (Layout, error) {
	r, err := inspect.Dataplane(m, dp)
	if err != nil {
		return Layout{}, err
	}
	x := kris{m, c}
	l := Layout{KRI: x.of(dp, ""), Labels: map[string]string{}, Inbounds: []Port{}, Outbounds: []Port{}, Listeners: []Port{}}
	if labels := c.ShownLabels(r.Dataplane); labels != nil {
		l.Labels = labels
	}
	if r.Identity != nil && r.Identity.Problem == "" && len(r.Identity.Names) > 0 {
		l.SpiffeID = r.Identity.Names[0]
	}
	for _, in := range r.Inbounds {
		l.Inbounds = append(l.Inbounds, Port{x.of(dp, in.Name), in.Port, in.Protocol, "inbound:" + address(in.Address, in.Port)})
	}
	for _, o := range r.Outbounds {
		listener := "outbound:"
		if o.Edge {
			listener = "edge:"
		}
		l.Outbounds = append(l.Outbounds, Port{x.destination(dp.Mesh, o.Destination), cmp.Or(o.Destination.Port, o.Port), o.Destination.Protocol, listener + address(o.Address, o.Port)})
	}
	slices.SortStableFunc(l.Outbounds, func(a, b Port) int { return cmp.Compare(a.KRI, b.KRI) })
	return l, nil
}

// kindPolicies shows policies without their built-in defaults.
func (x kris) kindPolicies(list effective.Policies, show func(*KindPolicy, *policies.Effective, policies.Conf)) PolicyList {
	out := PolicyList{Policies: []KindPolicy{}}
	for _, kind := range pluginOrder(x.model.Kinds()) {
		e := list.Of(kind.Name)
		if e == nil {
			continue
		}
		conf, origins := onlySaid(e, documents)
		p := KindPolicy{Kind: e.Kind.Name, Origins: x.origins(origins)}
		show(&p, e, conf)
		out.Policies = append(out.Policies, p)
	}
	return out
}

func asConf(p *KindPolicy, _ *policies.Effective, c policies.Conf) { p.Conf = []any{c} }

// asRules shows what each item says, weakest first.
func (x kris) asRules(p *KindPolicy, e *policies.Effective, _ policies.Conf) {
	_, origins := onlySaid(e, documents)
	for _, o := range origins {
		conf, _ := onlySaid(e, func(s merge.Said) bool { return s.Origin.Same(o) })
		p.Rules = append(p.Rules, KRIRule{KRI: x.of(o.Ref, ""), Conf: conf})
	}
}

// DataplanePolicies is GET …/dataplanes/{dp}/_policies: of the kinds that say one thing of a whole
// dataplane. What they say of single routes is not among it.
func DataplanePolicies(m *resolve.Reader, c *api.Catalog, dp api.Ref) (PolicyList, error) {
	out, x := PolicyList{Policies: []KindPolicy{}}, kris{m, c}
	if _, err := inspect.Dataplane(m, dp); err != nil {
		return out, err
	}
	for _, kind := range pluginOrder(m.Kinds()) {
		if !kind.Single {
			continue
		}
		if conf, origins := folded(kind, wholeItems(m.Matched(dp, kind.Name).Items())); len(origins) > 0 {
			out.Policies = append(out.Policies, KindPolicy{Kind: kind.Name, Conf: conf, Origins: x.origins(origins)})
		}
	}
	return out, nil
}

// InboundPolicies is GET …/_inbounds/{kri}/_policies.
func InboundPolicies(m *resolve.Reader, c *api.Catalog, dp api.Ref, kri string) (PolicyList, error) {
	r, err := inspect.Dataplane(m, dp)
	if err != nil {
		return PolicyList{}, err
	}
	x := kris{m, c}
	for _, in := range r.Inbounds {
		if same(kri, x.of(dp, in.Name)) {
			return x.kindPolicies(in.Policies, x.asRules), nil
		}
	}
	return PolicyList{}, inspect.NotFound("inbound of "+dp.Name, kri, nil)
}

// OutboundPolicies is GET …/_outbounds/{kri}/_policies, and with the KRI of a
// route …/_outbounds/{kri}/_routes/{routeKri}/_policies.
func OutboundPolicies(m *resolve.Reader, c *api.Catalog, dp api.Ref, kri, routeKRI string) (PolicyList, error) {
	x := kris{m, c}
	o, err := x.outbound(dp, kri)
	if err != nil {
		return PolicyList{}, err
	}
	if routeKRI == "" {
		return x.kindPolicies(o.Policies, asConf), nil
	}
	if rule := x.ruleNamed(o, routeKRI); rule != nil {
		return x.kindPolicies(rule.policies(o), asConf), nil
	}
	return PolicyList{}, inspect.NotFound("route", routeKRI, nil)
}

func (x kris) outbound(dp api.Ref, kri string) (*effective.Outbound, error) {
	r, err := inspect.Dataplane(x.model, dp)
	if err != nil {
		return nil, err
	}
	var have []string
	for _, o := range r.Outbounds {
		k := x.destination(dp.Mesh, o.Destination)
		if same(kri, k) {
			return o, nil
		}
		have = append(have, k)
	}
	return nil, inspect.NotFound("outbound of "+dp.Name, kri, have)
}

// same compares KRIs; parsing joins the parts of a section.
func same(asked, kri string) bool {
	if asked == kri {
		return true
	}
	head := strings.SplitAfterN(kri, "_", 7)
	return len(head) == 7 && asked == strings.Join(head[:6], "")+strings.ReplaceAll(head[6], "_", "")
}

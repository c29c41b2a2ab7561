package authorization

import (
	"cmp"
	"slices"
	"strings"

	"github.com/weftmesh/weft/api/tuple"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/spiffe"
	"github.com/weftmesh/weft/matcher"
	"github.com/weftmesh/weft/merge"
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/resolve/derive"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/resolve/identity"
	"github.com/weftmesh/weft/resolve/index"
)

// Collected is what several policies of a kind of which confs add up say of one inbound
// together; inbounds about which the same ones say something share it, however many there
// are.
type Collected struct {
	policies []*index.Policy
	layers   []merge.LayerName // of the policies: where they are attached to a route, else Default
	callers  policies.Callers
	names    []string // of the workloads that items of from are about, one item after the other
	*policies.Effective
}

// addCollected derives what policies say together whose confs add up.
func (c *Stage) addCollected() {
	c.securedByName = c.below.DataplaneTLS.Index(func(_ string, s *identity.DataplaneTLS, add func(string)) {
		if len(s.Names) == 1 { // else they are made of tags
			add(s.Names[0])
		}
	})
	c.namesakes = derive.Derive(c.below.Schema, "workloads of a name", c.securedByName, derive.Values[namesakes]{
		Equal: func(a, b *namesakes) bool { return slices.Equal(a.planes, b.planes) },
	}, func(r *derive.Reader, name string) *namesakes { return c.Mesh(r).namesakesOf(name) })
	byDomain := c.below.DataplaneTLS.Group(func(_ string, s *identity.DataplaneTLS, add func(string)) {
		for _, name := range s.Names {
			if parsed, err := spiffe.Parse(name); err == nil { // tags are no SPIFFE IDs
				add(parsed.Domain)
			}
		}
	})
	c.OwnDomains = derive.Derive(c.below.Schema, "trust domains of its own", byDomain, derive.Values[string]{Equal: func(a, b *string) bool { return *a == *b }},
		func(_ *derive.Reader, domain string) *string { return &domain })
	c.collected = derive.Derive(c.below.Schema, "what adds up", c.below.ByBaseline, derive.Values[Collected]{Equal: (*Collected).equal}, func(r *derive.Reader, key string) *Collected { return c.Mesh(r).collectedOne(key) })
}

func (s *Collected) equal(o *Collected) bool {
	return slices.Equal(s.policies, o.policies) && slices.Equal(s.layers, o.layers) && derive.Same(s.callers, o.callers) && slices.Equal(s.names, o.names)
}

// collectedOf is what a set of policies comes to, or several sets all of which are asked.
func (m Mesh) collectedOf(sets []string) *Collected {
	if len(sets) == 1 {
		return m.collectedOne(sets[0])
	}
	out := &Collected{}
	var each []*policies.Effective
	for _, set := range sets {
		one := m.collectedOne(set)
		out.policies, out.layers, out.names = append(out.policies, one.policies...), append(out.layers, one.layers...), append(out.names, one.names...)
		out.callers = one.callers
		each = append(each, one.Effective)
	}
	out.Effective = each[0].Kind.Jointly(each)
	return out
}

func (m Mesh) collectedOne(key string) *Collected {
	parts := tuple.Split(key)
	at := slices.IndexFunc(m.Kinds, func(k *policies.Kind) bool { return k.Name == parts[0] })
	out := &Collected{}
	if len(parts) == 1 { // the kind says nothing there
		out.Effective = m.nobody[at]
		return out
	}
	for domain := range m.OwnDomains.Values(m.At) {
		out.callers.Domains = append(out.callers.Domains, *domain)
	}
	slices.Sort(out.callers.Domains)
	var items []*index.Item
	attached := map[*index.Policy][]merge.LayerName{}
	for _, part := range parts[1:] {
		of, layer := cutLayer(part)
		x := index.Need(m.Policies, m.At, of)
		out.policies, out.layers = append(out.policies, x), append(out.layers, layer)
		out.callers.Mesh = x.Object.Mesh
		if attached[x] = append(attached[x], layer); len(attached[x]) == 1 {
			items = append(items, x.Inbound...)
		}
	}
	slices.SortFunc(items, index.ByRank)
	var said []policies.Collected
	for _, it := range items {
		of := m.itemsOf(it)
		if layers := attached[it.Policy]; layers[0] != merge.Default {
			for i := range of {
				of[i].Name = slices.Max(layers)
			}
		}
		for _, s := range of {
			out.names = slices.Concat(out.names, s.Sure, []string{"|"}, s.Maybe, []string{"\n"})
		}
		said = append(said, of...)
	}
	out.Effective = m.Kinds[at].Gather(out.callers, said)
	return out
}

// itemsOf is what an item says by default, and as an override.
func (m Mesh) itemsOf(it *index.Item) (out []policies.Collected) {
	o := it.Policy.Object
	one := policies.Collected{Layer: it.ByDefault(), KRI: m.kri(o, m.Kinds[it.Policy.Kind].Short), Default: o.IsDefault(), Shadow: o.Shadow()}
	if strings.HasPrefix(string(it.Field), "spec.from") {
		one.From = &it.Target
		one.Sure, one.Maybe = m.NamesOf(&it.Target)
	}
	if len(it.Leaves) > 0 {
		out = append(out, one)
	}
	if len(it.Overrides) > 0 {
		one.Layer.Override, one.Layer.Leaves = true, it.Overrides
		out = append(out, one)
	}
	return out
}

// kri is the identifier of an object of a kind with that short name.
func (m Mesh) kri(o *api.Object, short string) string {
	return api.KRI{Short: short, Mesh: o.Mesh, Zone: cmp.Or(o.Labels[api.LabelZone], m.ZoneLabels[api.LabelZone]), Namespace: o.HomeNamespace(), Name: o.DisplayName()}.String()
}

// WithCollected puts what adds up among what is folded, in the order of kinds.
func (m Mesh) WithCollected(p *index.Dataplane, inbound int, folded effective.Policies) effective.Policies {
	sets, _ := m.Baselines.Get(m.At, index.ObjectKey(p.Object.Ref))
	if sets == nil || len(sets.Inbounds[inbound]) == 0 {
		return folded
	}
	out := slices.Clone(folded)
	for _, key := range sets.Inbounds[inbound] {
		if x := index.Need(m.collected, m.At, key); x.Effective != nil {
			out = append(out, x.Effective)
		}
	}
	return m.withSilent(out)
}

// withSilent adds to what some kinds that authorize say the others which let nobody in of whom no
// document does, in the order of kinds.
func (m Mesh) withSilent(said effective.Policies) effective.Policies {
	if slices.ContainsFunc(said, func(e *policies.Effective) bool { return e.Kind.Authorizer != nil }) {
		for _, e := range m.nobody {
			if e != nil && said.Of(e.Kind.Name) == nil && !e.Kind.Authorizer.OpenByDefault() {
				said = append(said, e)
			}
		}
	}
	slices.SortStableFunc(said, func(a, b *policies.Effective) int {
		return cmp.Compare(slices.Index(m.Kinds, a.Kind), slices.Index(m.Kinds, b.Kind))
	})
	return said
}

// namesakes are the dataplanes that have one name, by ObjectKey.
type namesakes struct{ planes []*index.Dataplane }

func (m Mesh) namesakesOf(name string) *namesakes {
	out := &namesakes{}
	for key := range m.securedByName.In(m.At, name) {
		out.planes = append(out.planes, index.Need(m.Dataplanes, m.At, key))
	}
	slices.SortFunc(out.planes, func(a, b *index.Dataplane) int { return a.Object.Ref.Compare(b.Object.Ref) })
	return out
}

// NamesOf are the names of workloads that a ref of callers is about, by the tags of their
// inbounds: those that nobody else has, and all of them. Names that are made of tags say it
// themselves.
func (m Mesh) NamesOf(ref *api.TargetRef) (sure, maybe []string) {
	g := m.Issuers()
	if g == nil || len(g.Identities) == 0 || ref.Kind == api.KindMesh {
		return nil, nil
	}
	s := matcher.SelectorOf(*ref, matcher.Local{})
	for p := range m.Selecting(s) {
		id := m.TLSOf(p.Object.Ref).GetIdentity()
		if id == nil || len(id.Names) != 1 || slices.Contains(maybe, id.Names[0]) {
			continue
		}
		name := id.Names[0]
		maybe = append(maybe, name)
		if all, _ := m.namesakes.Get(m.At, name); all != nil && !slices.ContainsFunc(all.planes, func(o *index.Dataplane) bool { return !s.Selects(&o.Facts) }) {
			sure = append(sure, name)
		}
	}
	slices.Sort(sure)
	slices.Sort(maybe)
	return sure, maybe
}

package resolve

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/spiffe"
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/resolve/derive"
)

// saidTogether is what several policies of a kind of which confs add up say of one inbound
// together; inbounds about which the same ones say something share it, however many there
// are.
type saidTogether struct {
	policies []*policy
	callers  policies.Callers
	*policies.Effective
}

// saidSets are, for each inbound of a dataplane in the document's order, the sets of policies
// of such kinds that are about it: keys of saidTogether.
type saidSets struct{ inbounds [][]string }

func (s *saidSets) equal(o *saidSets) bool {
	return slices.EqualFunc(s.inbounds, o.inbounds, slices.Equal)
}

// addTogether derives what policies say together whose confs add up. Without a kind of that
// sort there is nothing to look at.
func (c *collections) addTogether() {
	collects := slices.ContainsFunc(c.kinds, func(k *policies.Kind) bool { return k.Collect != nil })
	c.saidSets = derive.Derive(c.schema, "policies that add up", c.dataplanes, derive.Values[saidSets]{Equal: (*saidSets).equal},
		func(r *derive.Reader, key string) *saidSets {
			if !collects {
				return nil
			}
			return mesh{c, r}.saidSetsOf(need(c.dataplanes, r, key))
		})
	c.bySaidSet = c.saidSets.Group(func(_ string, s *saidSets, add func(string)) {
		for _, keys := range s.inbounds {
			for _, key := range keys {
				add(key)
			}
		}
	})
	byDomain := c.identities.Group(func(_ string, id *Identity, add func(string)) {
		for _, name := range id.Names {
			if parsed, err := spiffe.Parse(name); err == nil {
				add(parsed.Domain)
			}
		}
	})
	c.ownDomains = derive.Derive(c.schema, "trust domains of its own", byDomain, derive.Values[string]{Equal: func(a, b *string) bool { return *a == *b }},
		func(_ *derive.Reader, domain string) *string { return &domain })
	c.together = derive.Derive(c.schema, "what adds up", c.bySaidSet, derive.Values[saidTogether]{Equal: func(a, b *saidTogether) bool {
		return slices.Equal(a.policies, b.policies) && same(a.callers, b.callers)
	}}, func(r *derive.Reader, key string) *saidTogether { return mesh{c, r}.togetherOf(key) })
}

// saidSetsOf is nil for a dataplane about which nothing of the sort is said.
func (m mesh) saidSetsOf(p *dataplane) *saidSets {
	var about []*policy
	for x := range m.inboundPolicies(p) {
		if m.kinds[x.kind].Collect != nil && x.topRoute == nil && x.selector.Selects(&p.facts) {
			about = append(about, x)
		}
	}
	if len(about) == 0 {
		return nil
	}
	slices.SortFunc(about, func(a, b *policy) int { return a.own.compare(b.own) })
	out := &saidSets{make([][]string, len(p.spec.Networking.Inbound))}
	for i := range p.spec.Networking.Inbound {
		in := &p.spec.Networking.Inbound[i]
		at := &Inbound{Name: cmp.Or(in.Name, strconv.FormatUint(uint64(in.Port), 10)), Port: in.Port}
		for kind, k := range m.kinds {
			var of []string
			for _, x := range about {
				if x.kind == kind && x.selector.SelectsInbound(&p.facts, in.Tags) && x.onSection(at) {
					of = append(of, objectKey(x.object.Ref))
				}
			}
			if len(of) > 0 {
				out.inbounds[i] = append(out.inbounds[i], k.Name+"\x00"+strings.Join(of, "\x00"))
			}
		}
	}
	return out
}

// togetherOf is what a set of policies comes to.
func (m mesh) togetherOf(key string) *saidTogether {
	name, rest, _ := strings.Cut(key, "\x00")
	at := slices.IndexFunc(m.kinds, func(k *policies.Kind) bool { return k.Name == name })
	out := &saidTogether{}
	for domain := range m.ownDomains.Values(m.at) {
		out.callers.Domains = append(out.callers.Domains, *domain)
	}
	slices.Sort(out.callers.Domains)
	var items []*item
	for _, of := range strings.Split(rest, "\x00") {
		x := need(m.collections.policies, m.at, of)
		out.policies = append(out.policies, x)
		out.callers.Mesh = x.object.Mesh
		items = append(items, x.inbound...)
	}
	slices.SortFunc(items, byRank)
	var said []policies.Collected
	for _, it := range items {
		said = append(said, m.collected(it)...)
	}
	out.Effective = m.kinds[at].Gather(out.callers, said)
	return out
}

// collected is what an item says by default, and as an override.
func (m mesh) collected(it *item) (out []policies.Collected) {
	o := it.policy.object
	one := policies.Collected{Layer: it.byDefault(), KRI: m.kri(o, m.kinds[it.policy.kind].Short), Default: o.IsDefault(), Shadow: o.Shadow()}
	if strings.HasPrefix(string(it.field), "spec.from") {
		one.From = &it.target
	}
	if len(it.leaves) > 0 {
		out = append(out, one)
	}
	if len(it.overrides) > 0 {
		one.Layer.Override, one.Layer.Leaves = true, it.overrides
		out = append(out, one)
	}
	return out
}

// kri is the identifier of an object of a kind with that short name.
func (m mesh) kri(o *api.Object, short string) string {
	return api.KRI{Short: short, Mesh: o.Mesh, Zone: cmp.Or(o.Labels[api.LabelZone], m.zone[api.LabelZone]), Namespace: o.HomeNamespace(), Name: o.DisplayName()}.String()
}

// withTogether puts what adds up among what is folded, in the order of kinds.
func (m mesh) withTogether(p *dataplane, inbound int, folded Policies) Policies {
	sets, _ := m.saidSets.Get(m.at, objectKey(p.object.Ref))
	if sets == nil || len(sets.inbounds[inbound]) == 0 {
		return folded
	}
	out := slices.Clone(folded)
	for _, key := range sets.inbounds[inbound] {
		if x := need(m.together, m.at, key); x.Effective != nil {
			out = append(out, x.Effective)
		}
	}
	slices.SortStableFunc(out, func(a, b *policies.Effective) int {
		return cmp.Compare(slices.Index(m.kinds, a.Kind), slices.Index(m.kinds, b.Kind))
	})
	return out
}

package trafficpermission

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	rbacv3 "github.com/envoyproxy/go-control-plane/envoy/config/rbac/v3"
	httprbacv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/rbac/v3"
	"google.golang.org/protobuf/proto"

	"github.com/weftmesh/weft/merge"
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/sim/permission"
)

// All lets in whom each of several lets in: one that denies is enough.
func (authorizer) All(each []*policies.Effective) *policies.Effective {
	p, c := &Permissions{}, &Conf{}
	var fields []merge.Field
	for _, e := range each {
		x := e.Conf.(*Effective)
		p.Each = append(p.Each, x.Permissions)
		p.Deny, p.Allow = union(p.Deny, x.Permissions.Deny), union(p.Allow, x.Permissions.Allow)
		p.Replaced, p.Shadow = union(p.Replaced, x.Permissions.Replaced), union(p.Shadow, x.Permissions.Shadow)
		p.Anonymous, p.Paths = p.Anonymous || x.Anonymous, p.Paths || x.Paths
		c.Deny, c.Allow, c.AllowWithShadowDeny = append(c.Deny, x.Conf.Deny...), append(c.Allow, x.Conf.Allow...), append(c.AllowWithShadowDeny, x.Conf.AllowWithShadowDeny...)
		fields = joinFields(fields, e.Fields)
	}
	return &policies.Effective{Conf: &Effective{c, p}, Fields: fields}
}

// union is both lists, what is in both once.
func union(a, b []*Entry) []*Entry {
	out := slices.Clip(a)
	for _, e := range b {
		if !slices.ContainsFunc(a, func(o *Entry) bool { return o.Name == e.Name && o.Layer == e.Layer }) {
			out = append(out, e)
		}
	}
	return out
}

// joinFields is what both say of fields. What holds in one of them holds.
func joinFields(a, b []merge.Field) []merge.Field {
	out := slices.Clone(a)
	for _, f := range b {
		i := slices.IndexFunc(out, func(o merge.Field) bool { return o.Field == f.Field })
		if i < 0 {
			out = append(out, f)
			continue
		}
		said := slices.Clone(out[i].Said)
		for _, s := range f.Said {
			k := slices.IndexFunc(said, func(o merge.Said) bool { return o.Origin == s.Origin && o.Override == s.Override })
			switch {
			case k < 0:
				said = append(said, s)
			case s.Lost == merge.NotLost:
				said[k].Lost = merge.NotLost
			}
		}
		slices.SortStableFunc(said, func(a, b merge.Said) int {
			return cmp.Compare(btoi(a.Lost == merge.NotLost), btoi(b.Lost == merge.NotLost))
		})
		out[i].Said = said
	}
	slices.SortFunc(out, func(a, b merge.Field) int { return cmp.Compare(a.Field, b.Field) })
	return out
}

// decideAll is Decide where several have to let a request in.
func (p *Permissions) decideAll(a *Asked) Verdict {
	var out Verdict
	var let []Verdict
	for i, x := range p.Each {
		v := x.Decide(a)
		if !v.Allowed {
			for _, l := range let {
				v.also(&l, "it lets the request in, and the others that are asked have to as well")
			}
			return v
		}
		if i == 0 || out.Unjudged {
			out, v = v, out
		}
		if let = append(let, v); out.ShadowDenied == nil && !out.ShadowNobody {
			out.ShadowDenied, out.ShadowNobody = v.ShadowDenied, v.ShadowNobody
		}
		if i > 0 {
			out.also(&v, "it lets the request in too, as all that are asked have to")
			for _, c := range v.Considered {
				out.consider(c)
			}
		}
	}
	return out
}

// also tells of the entry that decided among others that were asked.
func (v *Verdict) also(o *Verdict, why string) {
	if o.By != nil && o.By != v.By {
		v.consider(Considered{o.By, why})
	}
}

func (v *Verdict) consider(c Considered) {
	if len(v.Considered) < mostConsidered && !slices.ContainsFunc(v.Considered, func(o Considered) bool { return o.By.Name == c.By.Name }) {
		v.Considered = append(v.Considered, c)
	}
}

// accessAll is access where several have to let a caller in.
func (p *Permissions) accessAll(names []string) (out access) {
	for i, x := range p.Each {
		a := x.access(names)
		if i == 0 || a.decision == permission.Deny || a.decision == permission.Some && out.decision == permission.Allow {
			out = a
		}
		if out.decision == permission.Deny {
			return out
		}
	}
	return out
}

// configureAll is configure where several have to let a request in. What the first allows is allowed by the
// filter for that; what the others do not, and what any denies, is denied before.
func (p *Permissions) configureAll(domains []string, set func(string, *httprbacv3.RBAC)) {
	of := view{proved: true, requests: true}
	denies := &rbacv3.RBAC{Action: rbacv3.RBAC_DENY, Policies: map[string]*rbacv3.Policy{}}
	shadow := &httprbacv3.RBAC{}
	for i, x := range p.Each {
		put(denies, x.denies(of, domains), i)
		if i > 0 {
			put(denies, of.rules(rbacv3.RBAC_DENY, []*Entry{{Name: nobody}}, x.Allow), i)
		}
		if x.Trial == nil {
			continue
		}
		if shadow.ShadowRules == nil {
			shadow.ShadowRules = &rbacv3.RBAC{Action: rbacv3.RBAC_DENY, Policies: map[string]*rbacv3.Policy{}}
		}
		put(shadow.ShadowRules, x.tries(of), i)
	}
	set(denyFilter, &httprbacv3.RBAC{Rules: denies})
	set(allowFilter, &httprbacv3.RBAC{Rules: of.rules(rbacv3.RBAC_ALLOW, p.Each[0].Allow, nil)})
	set(shadowFilter, shadow)
	plain := open()
	for _, x := range p.Each {
		if x.Anonymous {
			plain.Rules = both(plain.Rules, x.whole(view{requests: true}))
		}
	}
	set(plainFilter, plain)
}

// put adds policies under their names, and where another policy has it, under a name with the place of
// those that are asked.
func put(to, from *rbacv3.RBAC, place int) {
	for name, policy := range from.Policies {
		if old := to.Policies[name]; old != nil && !proto.Equal(old, policy) {
			name = fmt.Sprintf("%s&%d", name, place+1)
		}
		to.Policies[name] = policy
	}
}

// both allows what a and b allow; a is nil for everything. Neither asks for a name in TLS.
func both(a, b *rbacv3.RBAC) *rbacv3.RBAC {
	if a == nil {
		return b
	}
	var any []*rbacv3.Principal
	for _, name := range slices.Sorted(maps.Keys(b.Policies)) {
		any = append(any, allOf(b.Policies[name].Principals))
	}
	for _, policy := range a.Policies {
		policy.Principals = []*rbacv3.Principal{allOf(append(slices.Clip(policy.Principals), anyOf(any)))}
	}
	return a
}

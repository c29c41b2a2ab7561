package access

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/inspect/plan/step"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/sim/permission"
)

// changedCallees are inbounds, by mesh, that decide otherwise afterwards, and the meshes in
// which anything of that changes.
func changedCallees(s step.Comparison) (map[string][]*callee, map[string]bool) {
	found, meshes := map[string]map[string]*callee{}, map[string]bool{}
	for _, ref := range s.Affected {
		if s.Wanted != nil && !s.Wanted() {
			break
		}
		if s.See != nil && !s.See(ref) {
			continue
		}
		before, had := s.Before.Dataplane(ref)
		after, has := s.After.Dataplane(ref)
		if !had || !has {
			continue
		}
		if !slices.Equal(namesOf(before), namesOf(after)) {
			meshes[ref.Mesh] = true
		}
		for _, x := range Counterparts(before, after) {
			if decidesAlike(x.Before, x.After) {
				continue
			}
			meshes[ref.Mesh] = true
			if found[ref.Mesh] == nil {
				found[ref.Mesh] = map[string]*callee{}
			}
			addCallee(found[ref.Mesh], ref, x.Before, x.After)
		}
	}
	out := map[string][]*callee{}
	for mesh, list := range found {
		out[mesh] = inOrderOf(list)
	}
	return out, meshes
}

// counterpart is a port of a workload before and after, as the documents have it; nil where it is not
// there.
type counterpart struct{ Before, After *effective.Inbound }

// Counterparts are all ports of a dataplane: the one at an address is the same, whatever its name.
func Counterparts(before, after *effective.Resolved) (out []counterpart) {
	at := func(list []effective.InboundUse, in *effective.Inbound) *effective.Inbound {
		i := slices.IndexFunc(list, func(x effective.InboundUse) bool { return x.Address == in.Address && x.Port == in.Port })
		if i < 0 {
			return nil
		}
		return list[i].AsDocumented()
	}
	for _, x := range after.Inbounds {
		out = append(out, counterpart{at(before.Inbounds, x.Inbound), x.AsDocumented()})
	}
	for _, x := range before.Inbounds {
		if at(after.Inbounds, x.Inbound) == nil {
			out = append(out, counterpart{x.AsDocumented(), nil})
		}
	}
	return out
}

func addCallee(all map[string]*callee, ref api.Ref, before, after *effective.Inbound) {
	d := &callee{mesh: ref.Mesh, before: before, after: after}
	d.service = cmp.Or(d.there().Tags[api.TagService], ref.FullName())
	key := fmt.Sprintf("%s %d %s\n%s\n%s", d.service, d.port(), d.there().Protocol, decided(before), decided(after))
	if all[key] == nil {
		all[key] = d
	}
	all[key].on = append(all[key].on, ref)
}

// there is the inbound afterwards, or the one that goes.
func (d *callee) there() *effective.Inbound { return cmp.Or(d.after, d.before) }

func (d *callee) port() uint32 { return d.there().Port }

// decided tells inbounds apart that decide otherwise.
func decided(in *effective.Inbound) string {
	if in == nil {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%p %v", permission.DeciderOf(in), modeOf(in))
	for i := range in.Rules {
		r := &in.Rules[i]
		fmt.Fprintf(&b, "\n%s %p %s", r.Match.Text(), permission.DeciderAt(r), r.Closed)
	}
	return b.String()
}

func inOrderOf[T any](m map[string]*T) []*T {
	out := make([]*T, 0, len(m))
	for _, k := range slices.Sorted(maps.Keys(m)) {
		out = append(out, m[k])
	}
	return out
}

// mode is how an inbound takes callers; the zero value is that of none, which takes nobody.
type mode struct{ tls, plain bool }

func modeOf(in *effective.Inbound) mode {
	if in == nil {
		return mode{}
	}
	return mode{in.TLS != nil, in.TLS.TakesPlain()}
}

// decidesAlike reports whether nothing about who may come in has changed: what is decided is
// one value as long as it is the same. An inbound has another mode than none.
func decidesAlike(a, b *effective.Inbound) bool {
	return a == b || modeOf(a) == modeOf(b) && a.Protocol == b.Protocol && permission.DeciderOf(a) == permission.DeciderOf(b) &&
		slices.EqualFunc(a.Rules, b.Rules, func(x, y effective.InboundRule) bool { return x.Alike(&y) })
}

// namesOf are those that a dataplane is to prove.
func namesOf(r *effective.Resolved) []string {
	if r == nil || r.Identity == nil {
		return nil
	}
	return r.Identity.Names
}

// callersOf are the dataplanes of a mesh that call alike, with one class that speaks plaintext
// from outside, and all inbounds of it that decide as before.
func callersOf(s step.Comparison, mesh string) (callers []*caller, unchanged func() []*callee) {
	found := map[string]*caller{"": {mesh: mesh}}
	var refs []api.Ref
	for o := range s.After.Snapshot().Of(api.KindDataplane, mesh) {
		if s.Wanted != nil && !s.Wanted() {
			break
		}
		before, had := s.Before.Dataplane(o.Ref)
		after, has := s.After.Dataplane(o.Ref)
		if !had || !has || s.See != nil && !s.See(o.Ref) {
			continue
		}
		refs = append(refs, o.Ref)
		c := caller{mesh: mesh, was: namesOf(before), is: namesOf(after)}
		key := strings.TrimSpace(strings.Join(c.was, " ") + "\n" + strings.Join(c.is, " "))
		if found[key] == nil {
			found[key] = &c
		}
		found[key].on = append(found[key].on, o.Ref)
	}
	unchanged = func() []*callee {
		all := map[string]*callee{}
		for _, ref := range refs {
			before, _ := s.Before.Dataplane(ref)
			after, _ := s.After.Dataplane(ref)
			for _, x := range Counterparts(before, after) {
				if decidesAlike(x.Before, x.After) {
					addCallee(all, ref, x.Before, x.After)
				}
			}
		}
		return inOrderOf(all)
	}
	return inOrderOf(found), once(unchanged)
}

func once[T any](f func() T) func() T {
	var known *T
	return func() T {
		if known == nil {
			v := f()
			known = &v
		}
		return *known
	}
}

package plan

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/sim"
)

// changedCallees are inbounds, by mesh, that decide otherwise afterwards, and the meshes in
// which anything of that changes.
func changedCallees(s Step) (map[string][]*callee, map[string]bool) {
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
		for i := range after.Inbounds {
			is := after.Inbounds[i].Inbound
			at := slices.IndexFunc(before.Inbounds, func(x resolve.InboundUse) bool { return *inboundOf(x.Inbound) == *inboundOf(is) })
			if at < 0 || decidesAlike(before.Inbounds[at].Inbound, is) {
				continue
			}
			meshes[ref.Mesh] = true
			if found[ref.Mesh] == nil {
				found[ref.Mesh] = map[string]*callee{}
			}
			addCallee(found[ref.Mesh], ref, before.Inbounds[at].Inbound, is)
		}
	}
	out := map[string][]*callee{}
	for mesh, list := range found {
		out[mesh] = inOrderOf(list)
	}
	return out, meshes
}

func addCallee(all map[string]*callee, ref api.Ref, before, after *resolve.Inbound) {
	service := cmp.Or(after.Tags[api.TagService], ref.FullName())
	key := fmt.Sprintf("%s %d %s %p %p %v %v", service, after.Port, after.Protocol, sim.JudgeOf(before), sim.JudgeOf(after), modeOf(before), modeOf(after))
	if all[key] == nil {
		all[key] = &callee{mesh: ref.Mesh, service: service, before: before, after: after}
	}
	all[key].on = append(all[key].on, ref)
}

func inOrderOf[T any](m map[string]*T) []*T {
	out := make([]*T, 0, len(m))
	for _, k := range slices.Sorted(maps.Keys(m)) {
		out = append(out, m[k])
	}
	return out
}

// mode is how an inbound takes callers.
type mode struct{ tls, plain bool }

func modeOf(in *resolve.Inbound) mode { return mode{in.TLS != nil, in.TLS.TakesPlain()} }

// decidesAlike reports whether nothing about who may come in has changed: what is decided is
// one value as long as it is the same.
func decidesAlike(a, b *resolve.Inbound) bool {
	return a == b || modeOf(a) == modeOf(b) && a.Protocol == b.Protocol && sim.JudgeOf(a) == sim.JudgeOf(b)
}

// namesOf are those that a dataplane is to prove.
func namesOf(r *resolve.Resolved) []string {
	if r == nil || r.Identity == nil {
		return nil
	}
	return r.Identity.Names
}

// callersOf are the dataplanes of a mesh that call alike, with one class that speaks plaintext
// from outside, and all inbounds of it that decide as before.
func callersOf(s Step, mesh string) (callers []*caller, unchanged func() []*callee) {
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
			for i := range after.Inbounds {
				is := after.Inbounds[i].Inbound
				at := slices.IndexFunc(before.Inbounds, func(x resolve.InboundUse) bool { return *inboundOf(x.Inbound) == *inboundOf(is) })
				if at >= 0 && decidesAlike(before.Inbounds[at].Inbound, is) {
					addCallee(all, ref, before.Inbounds[at].Inbound, is)
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

package trafficpermission

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/merge"
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/route/match"
)

// exact is a match of a whole name.
const exact = "Exact"

// Collect is what everything that is said of one inbound comes to: denies of all layers
// together, and of the allow lists those of the nearest layer, overrides beside it
// (spec/identity.md 4.1). The order of documents decides between items of from alone.
func (authorizer) Collect(of policies.Callers, said []policies.Collected) *policies.Effective {
	sound, shadows := []policies.Collected(nil), false
	for _, s := range said {
		if s.Shadow {
			shadows = true
		} else {
			sound = append(sound, s)
		}
	}
	p := permissions(of, sound, false)
	for _, e := range p.Allow {
		shadows = shadows || e.Shadow
	}
	if shadows {
		p.Trial = permissions(of, said, true)
		p.Shadow = p.tried()
	}
	layers := make([]merge.Layer, len(sound))
	for i := range sound {
		layers[i] = sound[i].Layer
	}
	e := &policies.Effective{Conf: &Effective{p.shown(sound), p}, Fields: merge.Gather(layers)}
	p.tell(e.Fields)
	return e
}

// Of are the permissions of an inbound; nil where no document says who may call it.
func Of(e *policies.Effective) *Permissions {
	if e == nil {
		return nil
	}
	if c, ok := e.Conf.(*Effective); ok {
		return c.Permissions
	}
	return nil
}

// permissions lays the lists together; real says that what allows and is counted as if it
// refused does refuse.
func permissions(of policies.Callers, said []policies.Collected, real bool) *Permissions {
	p := &Permissions{}
	var allows []*Entry
	add := func(e *Entry) {
		p.note(e)
		if e.Tier.Denies() {
			p.Deny = append(p.Deny, e)
		} else {
			allows = append(allows, e)
		}
	}
	alone := !slices.ContainsFunc(said, func(s policies.Collected) bool { return !s.Default && !revokes(s.Origin) })
	for i := range said {
		if said[i].From == nil {
			eachMatch(&said[i], real, add)
		}
	}
	fromItems(of, said, real, add)
	p.keepNearest(allows, alone)
	for _, list := range [][]*Entry{p.Deny, p.Allow, p.Replaced} {
		slices.SortFunc(list, func(a, b *Entry) int { return strings.Compare(a.Name, b.Name) })
	}
	return p
}

// note takes down what entries ask of the inbound as a whole.
func (p *Permissions) note(e *Entry) {
	p.Anonymous = p.Anonymous || e.holds.anonymous
	for _, group := range e.holds.http {
		p.Paths = p.Paths || group[0].On == match.OnPath
	}
}

// eachMatch makes an entry of each match of a rule.
func eachMatch(s *policies.Collected, real bool, add func(*Entry)) {
	for _, leaf := range s.Leaves {
		list, ok := leaf.Value.([]Match)
		if !ok {
			continue
		}
		name := schema.Leaves[leaf.Field].Path
		for i := range list {
			e := entryOf(s, name, i)
			e.Says = &list[i]
			if name == allowWithShadowDeny {
				e.Shadow = true
			}
			e.Tier = tierOf(s, name == deny || e.Shadow && real)
			e.holds = clauseOf(&list[i], e.Tier.Denies())
			e.Name = e.name(s.KRI)
			add(e)
		}
	}
}

func tierOf(s *policies.Collected, denies bool) Tier {
	switch {
	case s.Override && denies:
		return OverrideDenies
	case s.Override:
		return OverrideAllows
	case denies:
		return Denies
	case s.Default:
		return DefaultAllows
	}
	return Allows
}

func entryOf(s *policies.Collected, list string, index int) *Entry {
	return &Entry{Origin: s.Origin, Rule: indexOf(s.Origin.Field), List: list, Index: index, From: s.From != nil, Layer: s.Name}
}

// indexOf is the index at the end of a path, as of spec.rules[2].
func indexOf(field api.Path) int {
	text := string(field)
	n, _ := strconv.Atoi(strings.TrimSuffix(text[strings.LastIndexByte(text, '[')+1:], "]"))
	return n
}

// fromItems makes entries of the items of from. The last of those that are about a caller is
// Kuma's verdict on it (spec/kuma.md 4.5, E11): a Deny for the whole mesh is no opinion, since
// who is not allowed is denied anyway, and any other Deny stands among those of rules, so
// that no rule that allows takes it back.
func fromItems(of policies.Callers, said []policies.Collected, real bool, add func(*Entry)) {
	// Of a name that several workloads have, of which an item is about some, nobody knows who
	// calls: it is refused where one of them is, and allowed where all are.
	about := func(s *policies.Collected) *clause {
		ids := s.Sure
		if action(s, real) == deny {
			ids = s.Maybe
		}
		c := caller(s.From, of, ids)
		return &c
	}
	var items []*policies.Collected
	opposed := func(refuse bool) (out []*clause) {
		for _, s := range items {
			if (action(s, real) == deny) != refuse {
				out = append(out, about(s))
			}
		}
		return out
	}
	for i := range slices.Backward(said) {
		s := &said[i]
		what := action(s, real)
		if s.From == nil || what == "" {
			continue
		}
		c := about(s)
		c.unless = opposed(what == deny)
		items = append(items, s)
		if what == deny && s.From.Kind == api.KindMesh && len(s.From.Tags) == 0 {
			continue
		}
		e := entryOf(s, written(s), 0)
		e.Says = s.From
		e.Shadow, e.holds, e.Tier = written(s) == shadowAction, *c, tierOf(s, what == deny)
		e.Name = e.name(s.KRI)
		add(e)
	}
}

// action is deny or allow as an item of from decides; empty for one that says neither.
func action(s *policies.Collected, real bool) string {
	switch written(s) {
	case denyAction:
		return deny
	case shadowAction:
		if real {
			return deny
		}
		return allow
	case allowAction:
		return allow
	}
	return ""
}

func written(s *policies.Collected) string {
	for _, leaf := range s.Leaves {
		if v, ok := leaf.Value.(*string); ok {
			return *v
		}
	}
	return ""
}

// keepNearest keeps of entries that allow those of overrides and those of the nearest layer
// that has any. The permission that came with the mesh takes part where it is alone.
func (p *Permissions) keepNearest(allows []*Entry, alone bool) {
	near := func(e *Entry) int { return int(max(e.Layer, merge.Host)) } // what targets no route is one layer
	nearest, by := -1, (*api.Origin)(nil)
	for _, e := range allows {
		if e.Tier == Allows && (near(e) > nearest || near(e) == nearest && precedes(e.Origin, by)) {
			nearest, by = near(e), e.Origin
		}
	}
	for _, e := range allows {
		switch {
		case e.Tier == DefaultAllows && !alone:
			e.ShadowedBy, e.Lost = cmp.Or(by, p.anyOrigin()), merge.ByDefault
		case e.Tier == Allows && near(e) < nearest:
			e.ShadowedBy, e.Lost = by, merge.ByLayer
		}
		if e.Lost == merge.NotLost {
			p.Allow = append(p.Allow, e)
		} else {
			p.Replaced = append(p.Replaced, e)
		}
	}
}

func precedes(a, b *api.Origin) bool {
	return cmp.Or(a.Ref.Compare(b.Ref), cmp.Compare(a.Field, b.Field)) < 0
}

// anyOrigin is one of those because of whom the permission of the mesh gives way.
func (p *Permissions) anyOrigin() *api.Origin {
	for _, e := range p.Deny {
		return e.Origin
	}
	return nil
}

// tried are the entries that refuse in p.Trial and do not in p.
func (p *Permissions) tried() []*Entry {
	var out []*Entry
	for _, e := range p.Trial.Deny {
		if !slices.ContainsFunc(p.Deny, func(o *Entry) bool { return o.Name == e.Name }) {
			out = append(out, e)
		}
	}
	return out
}

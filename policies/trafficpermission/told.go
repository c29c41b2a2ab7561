package trafficpermission

import (
	"cmp"
	"slices"

	"github.com/weftmesh/weft/merge"
	"github.com/weftmesh/weft/policies"
)

// tell writes into fields which lists others stand in the place of.
func (p *Permissions) tell(fields []merge.Field) {
	for _, f := range fields {
		for i := range f.Said {
			s := &f.Said[i]
			for _, e := range p.Replaced {
				if !s.Override && e.Origin == s.Origin && (e.From || e.List == schema.Leaves[f.Field].Path) {
					s.Lost = e.Lost
				}
			}
		}
		// What holds comes last, as in a field of which one value holds.
		slices.SortStableFunc(f.Said, func(a, b merge.Said) int {
			return cmp.Compare(btoi(a.Lost == merge.NotLost), btoi(b.Lost == merge.NotLost))
		})
	}
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// shown is a conf of the lists that hold.
func (p *Permissions) shown(said []policies.Collected) *Conf {
	c, replaced := &Conf{}, map[string]bool{}
	for _, e := range p.Replaced {
		replaced[e.Name] = true
	}
	for i := range said {
		for _, leaf := range said[i].Leaves {
			list, ok := leaf.Value.([]Match)
			if !ok {
				continue
			}
			name := schema.Leaves[leaf.Field].Path
			at := map[string]*[]Match{deny: &c.Deny, allow: &c.Allow, allowWithShadowDeny: &c.AllowWithShadowDeny}[name]
			for k := range list {
				e := entryOf(&said[i], name, k)
				e.Tier = tierOf(&said[i], name == deny)
				if !replaced[e.name(said[i].KRI)] {
					*at = append(*at, list[k])
				}
			}
		}
	}
	return c
}

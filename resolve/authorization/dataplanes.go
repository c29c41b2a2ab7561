package authorization

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/weftmesh/weft/api/tuple"

	"github.com/weftmesh/weft/merge"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/resolve/identity"
	"github.com/weftmesh/weft/resolve/index"
)

// dataplaneRules is what the inbounds of a dataplane tell apart, in the document's order.
type dataplaneRules struct{ inbounds [][]inboundRule }

// inboundRule is what is asked at an inbound, and the key of what its policies come to there.
type inboundRule struct {
	asked  *combination
	set    string
	closed string
}

func (p *dataplaneRules) equal(o *dataplaneRules) bool {
	return slices.EqualFunc(p.inbounds, o.inbounds, slices.Equal)
}

// conflicting is said of rows of another frontend than the one that an inbound goes by.
const conflicting = "an inbound goes by the rules of one frontend, and others stand in the place of these"

func (m Mesh) dataplaneRulesOf(key string) *dataplaneRules {
	p := index.Need(m.Dataplanes, m.At, key)
	if p == nil {
		return nil
	}
	sets, _ := m.Baselines.Get(m.At, key)
	ids := m.FrontendsTo(key)
	out := &dataplaneRules{make([][]inboundRule, len(p.Spec.Networking.Inbound))}
	for i := range p.Spec.Networking.Inbound {
		in := &p.Spec.Networking.Inbound[i]
		first, others := m.FrontendsAt(ids, InboundPlacement{key, index.AnswersAt(p, in)})
		if first == nil {
			continue
		}
		for _, w := range others { // denied before anything else is asked
			for _, row := range w.Rows {
				if len(row.attached) > 0 {
					out.inbounds[i] = append(out.inbounds[i], inboundRule{asked: row.alone(), closed: cmp.Or(row.Closed, conflicting)})
				}
			}
		}
		for _, asked := range first.asked {
			at := inboundRule{asked: asked, closed: asked.closed}
			if at.closed == "" {
				var each []string
				for _, row := range asked.of {
					each = append(each, m.ruleSet(sets, i, row))
				}
				at.set = tuple.Join(each...)
			}
			out.inbounds[i] = append(out.inbounds[i], at)
		}
	}
	return out
}

// FrontendsTo are the destinations of which rules lead to inbounds of a dataplane, sorted.
func (m Mesh) FrontendsTo(plane string) []string {
	var out []string
	for id := range m.byDataplane.In(m.At, plane) {
		out = append(out, id)
	}
	slices.Sort(out)
	return out
}

// FrontendsAt are those that lead to an inbound, as far as they count there: the one by whose rules
// it goes, which has the oldest policy, and the others. Those that say the same are one.
func (m Mesh) FrontendsAt(ids []string, at InboundPlacement) (first *ArrivingRules, others []*ArrivingRules) {
	var all []*ArrivingRules
	for _, id := range ids {
		places, f := index.Need(m.Placements, m.At, id), index.Need(m.Frontends, m.At, id)
		if places == nil || f == nil {
			continue
		}
		if w := places.Path(at); w != nil && !slices.ContainsFunc(all, w.Alike) {
			all = append(all, w)
		}
	}
	if len(all) == 0 {
		return nil, nil
	}
	slices.SortStableFunc(all, func(a, b *ArrivingRules) int { return cmp.Compare(a.oldest, b.oldest) })
	return all[0], all[1:]
}

// ruleSet is the key of what is said of all requests of an inbound and of those of a row: the kind, and the
// policies as parts of it, with the layer before the key of one that is attached to a route.
func (m Mesh) ruleSet(sets *identity.Baseline, inbound int, row *Row) string {
	parts := []string{m.Kinds[m.kind].Name}
	if sets != nil {
		for _, key := range sets.Inbounds[inbound] {
			if of := tuple.Split(key); of[0] == parts[0] {
				parts = append(parts, of[1:]...)
			}
		}
	}
	for _, by := range row.attached {
		parts = append(parts, tuple.Join(strconv.Itoa(int(by.layer)), index.ObjectKey(by.policy.Object.Ref)))
	}
	return tuple.Join(parts...)
}

// cutLayer is the policy of a part of a set, and the layer at which it is attached; Default
// for none.
func cutLayer(part string) (key string, layer merge.LayerName) {
	number, key, attached := tuple.CutLast(part)
	if !attached {
		return part, merge.Default
	}
	n, _ := strconv.Atoi(number) // ruleSet wrote it
	return key, merge.LayerName(n)
}

// RulesAt are the rules of an inbound of a dataplane. Where a bug keeps them from being
// known, the inbound fails.
func (m Mesh) RulesAt(p *index.Dataplane, inbound int) []effective.InboundRule {
	if m.byService.Len(m.At, serviceOf(p)) == 0 {
		return nil
	}
	judged := index.Need(m.dataplaneRules, m.At, index.ObjectKey(p.Object.Ref))
	if judged == nil {
		return nil
	}
	var out []effective.InboundRule
	for _, at := range judged.inbounds[inbound] {
		r := effective.InboundRule{Match: at.asked.match, Rules: at.asked.rules, Closed: at.closed}
		switch {
		case at.closed != "":
			r.Permission = m.Kinds[m.kind].Nobody()
		case at.set != "":
			r.Permission = index.Need(m.collectedAtRules, m.At, at.set).Effective
		}
		out = append(out, r)
	}
	return out
}

package kuma

import (
	"slices"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/merge"
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/resolve"
)

// Kuma's subset rules (spec/kuma.md 4.5): a view, which takes no part in what is
// effective.

// maxRules bounds the view: the number of rules may grow exponentially with
// the number of tags.
const maxRules = 1000

// tagged is what an item of a policy says by default, or over everything, as a set
// of tags.
type tagged struct {
	tags   tags
	origin *api.Origin
	leaves []merge.Leaf
	item   *resolve.Item
}

// inMergeOrderOf is what items say, weakest first: their defaults in the order of list, whose
// place they take, then those attached to rules, then the overrides of all. What is attached
// comes in the order that it has at its rule; at different rules nothing meets.
func inMergeOrderOf(list []tagged, attached ...atRule) []tagged {
	out, over := list[:0], []tagged(nil)
	for _, it := range list {
		overrides := it.item.Overrides()
		if len(overrides) > 0 {
			over = append(over, tagged{it.tags, it.origin, overrides, it.item})
		}
		if it.leaves = it.item.Leaves(); len(it.leaves) > 0 || len(overrides) == 0 {
			out = append(out, it)
		}
	}
	slices.SortStableFunc(over, func(a, b tagged) int { return resolve.CompareOverrides(a.item, b.item) })
	between := make([][]tagged, len(over)+1) // attached ones, by how many of over they beat
	for _, at := range attached {
		out = append(out, at.defaults...)
		for _, it := range at.overrides {
			beats, _ := slices.BinarySearchFunc(over, it, func(a, b tagged) int { return resolve.CompareOverrides(a.item, b.item) })
			between[beats] = append(between[beats], it)
		}
	}
	for i, it := range over {
		out = append(append(out, between[i]...), it)
	}
	return append(out, between[len(over)]...)
}

// subsetRule is the merged conf of those to whom all matchers apply.
type subsetRule struct {
	matchers []Matcher // sorted by key and value
	conf     policies.Conf
	origins  []*api.Origin // weakest first
}

// subsetRules builds the rules of items, which come weakest first. cut says that
// there would be more than maxRules.
func subsetRules(kind *policies.Kind, items []tagged, inbound bool) (rules []subsetRule, cut bool) {
	if !inbound && oneKey(items) {
		rules = simpleRules(kind, items)
	} else {
		rules, cut = cliqueRules(kind, items)
	}
	slices.SortStableFunc(rules, func(a, b subsetRule) int { return positives(b) - positives(a) })
	if len(rules) > maxRules {
		return rules[:maxRules], true
	}
	return rules, cut
}

func positives(r subsetRule) int {
	n := 0
	for _, m := range r.matchers {
		if !m.Not {
			n++
		}
	}
	return n
}

// oneKey reports whether all tags of the items are of one key, each at most once.
func oneKey(items []tagged) bool {
	key := ""
	for _, it := range items {
		for _, tag := range it.tags {
			if key != "" && key != tag.Key {
				return false
			}
			key = tag.Key
		}
	}
	return true
}

// group is the items with the same tags, and where they stand among all.
type group struct {
	tags  tags
	items []int
}

// groupsOf are the distinct sets of tags in the order in which they come.
func groupsOf(items []tagged) []group {
	groups := make([]group, 0, len(items))
	at := make(map[string]int, len(items))
	var key []byte
	for i, it := range items {
		key = matchersKey(key[:0], it.tags)
		n, ok := at[string(key)]
		if !ok {
			n = len(groups)
			at[string(key)] = n
			groups = append(groups, group{tags: it.tags})
		}
		groups[n].items = append(groups[n].items, i)
	}
	return groups
}

// simpleRules has one rule for each distinct set.
func simpleRules(kind *policies.Kind, items []tagged) []subsetRule {
	groups := groupsOf(items)
	var all, among []int // of those without tags, who are in every rule, and of one rule
	for _, g := range groups {
		if len(g.tags) == 0 {
			all = g.items
		}
	}
	rules := make([]subsetRule, 0, len(groups))
	for _, g := range groups {
		among = append(among[:0], g.items...)
		if len(g.tags) > 0 {
			among = append(among, all...)
			slices.Sort(among)
		}
		rules = append(rules, rule(kind, items, among, g.tags))
	}
	return rules
}

// rule merges those of the items among some that the matchers contain.
func rule(kind *policies.Kind, items []tagged, among []int, matchers []Matcher) subsetRule {
	r := subsetRule{matchers: matchers, origins: make([]*api.Origin, 0, len(among))}
	layers := make([]merge.Layer, 0, len(among))
	for _, i := range among {
		if it := &items[i]; contains(matchers, it.tags) {
			layers = append(layers, merge.Layer{Origin: it.origin, Leaves: it.leaves})
			r.origins = append(r.origins, it.origin)
		}
	}
	r.conf = kind.Schema.Build(kind.New(), merge.Fold(layers))
	return r
}

// cliqueRules enumerates, for every largest group of sets that can hold
// together, who has and who lacks each of their tags. Only its own sets may be
// contained in such a choice: whatever else would be is in the group.
func cliqueRules(kind *policies.Kind, items []tagged) (rules []subsetRule, cut bool) {
	groups := groupsOf(items)
	seen := map[string]bool{}
	cliques, cut := cliquesOf(groups)
	var key []byte
	for _, clique := range cliques {
		var all tags // sets that can hold together agree about every key
		var members []tags
		var among []int
		for _, i := range clique {
			all = append(all, groups[i].tags...)
			members = append(members, groups[i].tags)
			among = append(among, groups[i].items...)
		}
		slices.Sort(among)
		more := combine(all.sorted(), members, nil, func(matchers []Matcher) bool {
			if key = matchersKey(key[:0], matchers); !seen[string(key)] {
				seen[string(key)] = true
				rules = append(rules, rule(kind, items, among, matchers))
			}
			return len(rules) <= maxRules
		})
		if !more {
			return rules, true
		}
	}
	return rules, cut
}

// combine calls yield for each choice of having or lacking every tag in which
// one of sets holds; where none is left no further tag can help, so the effort
// follows the number of choices and not the number of tags.
func combine(all tags, sets []tags, chosen []Matcher, yield func([]Matcher) bool) bool {
	if len(sets) == 0 {
		return true
	}
	if len(all) == 0 {
		return yield(chosen)
	}
	m := all[0]
	chosen = slices.Clip(chosen)
	if !combine(all[1:], sets, append(chosen, m), yield) {
		return false
	}
	lacking := slices.DeleteFunc(slices.Clone(sets), func(s tags) bool { _, has := s.get(m.Key); return has })
	m.Not = true
	return combine(all[1:], lacking, append(chosen, m), yield)
}

package kuma

import (
	"maps"
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
	tags   map[string]string
	origin *api.Origin
	leaves []merge.Leaf
	item   resolve.Item
}

// inMergeOrderOf is what items say, weakest first: their defaults in the order of list, then
// those attached to rules, then the overrides of all. What is attached comes in
// the order that it has at its rule; at different rules nothing meets.
func inMergeOrderOf(list []tagged, attached ...atRule) []tagged {
	out, over := make([]tagged, 0, len(list)), []tagged(nil)
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

// Matcher is one condition of a rule.
type Matcher struct {
	Key   string `json:"key"`
	Not   bool   `json:"not"`
	Value string `json:"value"`
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

func oneKey(items []tagged) bool {
	keys := map[string]bool{}
	for _, it := range items {
		for k := range it.tags {
			keys[k] = true
		}
	}
	return len(keys) <= 1
}

// group is the items with the same tags, and where they stand among all.
type group struct {
	tags  map[string]string
	items []int
}

// groupsOf are the distinct sets of tags in the order in which they come.
func groupsOf(items []tagged) []group {
	var groups []group
	at := map[string]int{}
	for i, it := range items {
		key := tagsText(it.tags)
		n, ok := at[key]
		if !ok {
			n = len(groups)
			at[key] = n
			groups = append(groups, group{tags: it.tags})
		}
		groups[n].items = append(groups[n].items, i)
	}
	return groups
}

func tagsText(tags map[string]string) string {
	s := ""
	for _, k := range slices.Sorted(maps.Keys(tags)) {
		s += k + "\x01" + tags[k] + "\x00"
	}
	return s
}

// simpleRules has one rule for each distinct set.
func simpleRules(kind *policies.Kind, items []tagged) []subsetRule {
	groups := groupsOf(items)
	var all []int // of those without tags, who are in every rule
	for _, g := range groups {
		if len(g.tags) == 0 {
			all = g.items
		}
	}
	var rules []subsetRule
	for _, g := range groups {
		var matchers []Matcher
		for k, v := range g.tags { // one key at most
			matchers = append(matchers, Matcher{Key: k, Value: v})
		}
		among := g.items
		if len(g.tags) > 0 && len(all) > 0 {
			among = slices.Sorted(slices.Values(slices.Concat(all, g.items)))
		}
		rules = append(rules, rule(kind, items, among, matchers))
	}
	return rules
}

// rule merges those of the items among some that the matchers contain.
func rule(kind *policies.Kind, items []tagged, among []int, matchers []Matcher) subsetRule {
	r := subsetRule{matchers: matchers}
	var layers []merge.Layer
	for _, i := range among {
		if it := items[i]; contains(matchers, it.tags) {
			layers = append(layers, merge.Layer{Origin: it.origin, Leaves: it.leaves})
			r.origins = append(r.origins, it.origin)
		}
	}
	r.conf = kind.Schema.Build(kind.New(), merge.Fold(layers))
	return r
}

// contains reports whether the matchers imply every tag.
func contains(matchers []Matcher, tags map[string]string) bool {
	for k, v := range tags {
		if !slices.Contains(matchers, Matcher{Key: k, Value: v}) {
			return false
		}
	}
	return true
}

// cliqueRules enumerates, for every largest group of sets that can hold
// together, who has and who lacks each of their tags. Only its own sets may be
// contained in such a choice: whatever else would be is in the group.
func cliqueRules(kind *policies.Kind, items []tagged) (rules []subsetRule, cut bool) {
	groups := groupsOf(items)
	seen := map[string]bool{}
	cliques, cut := cliquesOf(groups)
	for _, clique := range cliques {
		tags := map[string]string{} // sets that can hold together agree about every key
		var members []map[string]string
		var among []int
		for _, i := range clique {
			maps.Copy(tags, groups[i].tags)
			members = append(members, groups[i].tags)
			among = append(among, groups[i].items...)
		}
		slices.Sort(among)
		more := combine(slices.Sorted(maps.Keys(tags)), tags, members, nil, func(matchers []Matcher) bool {
			if key := matchersText(matchers); !seen[key] {
				seen[key] = true
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
func combine(keys []string, tags map[string]string, sets []map[string]string, chosen []Matcher, yield func([]Matcher) bool) bool {
	if len(sets) == 0 {
		return true
	}
	if len(keys) == 0 {
		return yield(chosen)
	}
	m := Matcher{Key: keys[0], Value: tags[keys[0]]}
	chosen = slices.Clip(chosen)
	if !combine(keys[1:], tags, sets, append(chosen, m), yield) {
		return false
	}
	m.Not = true
	lacking := slices.DeleteFunc(slices.Clone(sets), func(s map[string]string) bool { _, has := s[m.Key]; return has })
	return combine(keys[1:], tags, lacking, append(chosen, m), yield)
}

func matchersText(list []Matcher) string {
	s := ""
	for _, m := range list {
		s += m.Key + "\x01" + m.Value
		if m.Not {
			s += "\x02"
		}
		s += "\x00"
	}
	return s
}

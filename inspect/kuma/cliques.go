package kuma

import (
	"slices"

	"github.com/weftmesh/weft/api"
)

// cliquesOf are the largest groups that can hold together. Sets of different
// services never do, so each service is looked at with those sets alone that
// name none.
func cliquesOf(groups []group) (out [][]int, cut bool) {
	byService := map[string][]int{}
	var services []string
	var open []int
	for i, g := range groups {
		name, ok := g.tags.get(api.TagService)
		if !ok {
			open = append(open, i)
			continue
		}
		if byService[name] == nil {
			services = append(services, name)
		}
		byService[name] = append(byService[name], i)
	}
	if len(services) == 0 {
		return maximalCliques(groups, open)
	}
	for _, name := range services {
		cliques, more := maximalCliques(groups, slices.Concat(byService[name], open))
		cut = cut || more
		for _, c := range cliques {
			ofService := slices.ContainsFunc(c, func(i int) bool { _, ok := groups[i].tags.get(api.TagService); return ok })
			if ofService || !extendable(groups, c) {
				out = append(out, c)
			}
		}
		if len(out) > maxRules {
			return out, true
		}
	}
	slices.SortFunc(out, slices.Compare[[]int])
	return slices.CompactFunc(out, slices.Equal[[]int]), cut
}

// extendable reports whether another set can hold together with all of a clique.
func extendable(groups []group, clique []int) bool {
	for i, g := range groups {
		if !slices.Contains(clique, i) && !slices.ContainsFunc(clique, func(j int) bool { return !g.tags.compatible(groups[j].tags) }) {
			return true
		}
	}
	return false
}

// maxCliques bounds the search.
const maxCliques = 200

// maximalCliques are the largest groups among some sets of which each two are
// compatible, in the order of their first members (Bron and Kerbosch).
func maximalCliques(groups []group, among []int) (out [][]int, cut bool) {
	among = slices.Sorted(slices.Values(among))
	near := make([][]bool, len(among))
	all := make([]int, len(among))
	for i := range among {
		all[i] = i
		near[i] = make([]bool, len(among))
		for j := range among {
			near[i][j] = i != j && groups[among[i]].tags.compatible(groups[among[j]].tags)
		}
	}
	steps := 0
	var extend func(clique, candidates, done []int)
	extend = func(clique, candidates, done []int) {
		steps++
		if len(out) >= maxCliques || steps > 100*maxCliques {
			cut = true
			return
		}
		if len(candidates) == 0 && len(done) == 0 {
			found := make([]int, len(clique))
			for i, n := range clique {
				found[i] = among[n]
			}
			out = append(out, slices.Sorted(slices.Values(found)))
			return
		}
		for len(candidates) > 0 {
			v := candidates[0]
			keep := func(list []int) []int {
				return slices.DeleteFunc(slices.Clone(list), func(x int) bool { return !near[v][x] })
			}
			extend(append(clique[:len(clique):len(clique)], v), keep(candidates), keep(done))
			candidates, done = candidates[1:], append(done[:len(done):len(done)], v)
		}
	}
	extend(nil, all, nil)
	slices.SortFunc(out, slices.Compare[[]int])
	return out, cut
}

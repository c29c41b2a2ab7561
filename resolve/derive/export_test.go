package derive

import (
	"fmt"
	"slices"
)

// Kept is everything that a graph keeps, by name: what an update must leave no
// more and no less of than a graph from nothing has.
func (g *Graph) Kept() []string {
	var out []string
	text := func(n id) string {
		x := g.cell(n)
		return fmt.Sprintf("%d/%q", x.space, x.key)
	}
	cells := 0
	for n := range g.next {
		x := g.cell(n)
		if x == nil {
			continue
		}
		cells++
		if known, ok := g.names.get(x.name); !ok || known != n {
			panic("a cell without its name")
		}
		out = append(out, fmt.Sprintf("cell %s live %v", text(n), x.live))
		for _, what := range x.reads {
			out = append(out, "forward "+text(what)+" by "+text(n))
		}
	}
	for r := range g.readers.from(0) {
		out = append(out, "back "+text(r.what())+" by "+text(r.by()))
	}
	for k, n := range g.members.from(name{}) {
		out = append(out, "in "+text(id(k.space))+" is "+text(n))
	}
	for r := range g.grouped.from(0) {
		out = append(out, "in group "+text(r.what())+" is "+text(r.by()))
	}
	for k, list := range g.held.from(hashed{}) {
		for _, h := range list {
			out = append(out, fmt.Sprintf("held %d %v by %d", k.of, k.hash, h.keys))
		}
	}
	for n := range g.failed.from(0) {
		out = append(out, "failed "+text(n))
	}
	if g.names.size != cells || int(g.next) != cells+g.free.size {
		out = append(out, fmt.Sprintf("%d names, %d cells, %d free of %d", g.names.size, cells, g.free.size, g.next))
	}
	slices.Sort(out)
	return out
}

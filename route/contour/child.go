package contour

import (
	"slices"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/route"
)

// child finds what is wrong with an object that others include: it looks at those
// above it, so that a change below it does not concern it.
func (n rootNamespaces) child(r *report, see route.Lister) {
	general(r)
	up := &climb{roots: n, see: see, of: r.of}
	up.above(r.of, []api.Ref{r.of.Ref}, nil)
	if len(up.chains) == 0 {
		r.errs(orphaned, orphaned, "", "it is in no chain of includes from a root; include it, or give it a virtual host")
		return
	}
	for _, c := range up.cycles {
		if slices.ContainsFunc(up.chains, func(x []step) bool { return apart(x, c) }) {
			cycle(r, c)
		}
	}
	for _, c := range up.chains {
		if in := up.down(c); in != nil {
			for _, e := range edges(r) {
				enter(r, see, &e, in) // what it leads to finds its own mistakes
			}
			shadowed(r, rulesOf(r, in))
		}
	}
}

// step is an include on the way down.
type step struct {
	from *api.Object
	edge edge
}

// climb goes from an object to the roots that include it.
type climb struct {
	roots  rootNamespaces
	see    route.Lister
	of     *api.Object
	chains [][]step    // from a root to the object
	cycles [][]api.Ref // from the object to itself
	visits int
}

// down is the chain that the steps are; nil where they contradict each other, of which
// the including objects are told.
func (c *climb) down(steps []step) *chain {
	in, ok := rootChain(), true
	for _, s := range steps {
		if in, ok = in.below(&report{of: s.from}, &s.edge, &api.Origin{Ref: s.from.Ref, Field: s.edge.at}); !ok {
			return nil
		}
	}
	return in
}

// above finds what includes o; path is the objects from o down to the first one, down
// the includes between them.
func (c *climb) above(o *api.Object, path []api.Ref, down []step) {
	if c.visits++; c.visits > mostVisits {
		return
	}
	for _, by := range c.see.Keyed(KindHTTPProxy, includeKey(o.Ref)) {
		quiet := &report{of: by}
		for _, e := range edges(quiet) {
			if e.target != o.Ref || len(c.chains) >= mostChains {
				continue
			}
			steps := append([]step{{by, e}}, down...)
			switch {
			case by.Ref == c.of.Ref:
				c.cycles = append(c.cycles, append([]api.Ref{by.Ref}, path...))
			case slices.Contains(path, by.Ref):
			case !isRoot(by):
				c.above(by, append([]api.Ref{by.Ref}, path...), steps)
			case c.roots.serves(quiet, c.see):
				c.chains = append(c.chains, steps)
			}
		}
	}
}

// apart reports whether a walk down the chain comes to the object before it comes to
// anybody else of the cycle.
func apart(chain []step, cycle []api.Ref) bool {
	return !slices.ContainsFunc(chain, func(s step) bool { return slices.Contains(cycle[1:len(cycle)-1], s.from.Ref) })
}

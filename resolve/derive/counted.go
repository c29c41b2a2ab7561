package derive

import "iter"

// Counted reads a graph for a question that somebody waits for: visit is told of
// each value that a sequence yields, and nothing more comes once it returns false.
func Counted(g *Graph, visit func() bool) At { return counted{g, visit} }

type counted struct {
	*Graph
	visit func() bool
}

func (c counted) all(of *collection) iter.Seq2[string, any] { return c.each(c.Graph.all(of)) }

func (c counted) in(i *index, bucket string) iter.Seq2[string, any] {
	return c.each(c.Graph.in(i, bucket))
}

func (c counted) each(values iter.Seq2[string, any]) iter.Seq2[string, any] {
	return func(yield func(string, any) bool) {
		for key, v := range values {
			if !c.visit() || !yield(key, v) {
				return
			}
		}
	}
}

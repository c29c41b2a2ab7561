package derive

// Counted reads a graph for a question that somebody waits for: visit is told of
// each value that a sequence yields, and nothing more comes once it returns false.
func Counted(g *Graph, visit func() bool) At { return counted{g, visit} }

type counted struct {
	*Graph
	visit func() bool
}

func (c counted) each(of *collection, f func(key string, v any) bool) {
	c.Graph.each(of, func(key string, v any) bool { return c.visit() && f(key, v) })
}

func (c counted) eachIn(i *index, bucket string, f func(key string, v any) bool) {
	c.Graph.eachIn(i, bucket, func(key string, v any) bool { return c.visit() && f(key, v) })
}

func (c counted) question() question { return question(c) }

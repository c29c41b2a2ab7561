package sim

import (
	"slices"

	"github.com/weftmesh/weft/resolve/effective"
)

// Observer is a conf by which others come to know of requests: those who read spans or logs.
type Observer interface {
	Observed() []Observation
}

// Observation is one way in which others come to know of requests.
type Observation struct {
	What  string  // in words: sampled 1%
	Share float64 // of all requests, from 0 to 1
	// Traces says that spans tell of it.
	Traces bool
	Field  string // the leaf that says so
}

// observed says of requests on which policies hold who comes to know of them, and by whose word.
func observed(ps effective.Policies) []string {
	var out []string
	for _, e := range ps {
		o, ok := e.Conf.(Observer)
		if !ok {
			continue
		}
		for _, x := range o.Observed() {
			text := x.What
			if f, ok := e.Get(x.Field); ok {
				if by := e.Author(x.Field); by != "" {
					text += " by " + f.Winner().Origin.Ref.String()
				}
			}
			out = append(out, text)
		}
	}
	slices.Sort(out)
	return out
}

package identity

import (
	"iter"
	"slices"

	"github.com/weftmesh/weft/resolve/index"
)

// Baseline are what policies say of the inbounds of a dataplane beside what is folded for each.
type Baseline struct {
	// For each inbound, in the document's order, the sets of policies of kinds of which confs add up
	// that are about it, as keys (authorization.Collected).
	Inbounds [][]string
	TLS      []*index.Policy // those for the dataplane about how inbounds take mutual TLS
}

func (s *Baseline) equal(o *Baseline) bool {
	return slices.EqualFunc(s.Inbounds, o.Inbounds, slices.Equal) && slices.Equal(s.TLS, o.TLS)
}

// InboundPolicies yields the policies with an inbound side that may select p.
func (m Mesh) InboundPolicies(p *index.Dataplane) iter.Seq[*index.Policy] {
	about := []string{index.Any}
	index.AddLabels(p, func(label string) { about = append(about, label) })
	return index.InAny(m.At, m.PoliciesBySelector, about...)
}

package policies

import (
	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/merge"
)

// Spec is the envelope that all kinds share (spec/kuma.md 3).
type Spec struct {
	Kind      *Kind          `json:"-"`
	TargetRef *api.TargetRef `json:"targetRef,omitempty"` // nil is Mesh
	To        []Item         `json:"to,omitempty"`
	From      []Item         `json:"from,omitempty"`
	Rules     []Rule         `json:"rules,omitempty"`
}

// Item is one entry of to or from.
type Item struct {
	TargetRef api.TargetRef `json:"targetRef"`
	Default   Conf          `json:"default"`
	leaves    []merge.Leaf  // of Default, read once
}

// Rule is one entry of rules: an inbound conf, for callers that match.
type Rule struct {
	Matches []ClientMatch `json:"matches,omitempty"`
	Default Conf          `json:"default"`
	leaves  []merge.Leaf
}

// ClientMatch selects callers by their proven identity or by SNI.
type ClientMatch struct {
	SpiffeID *ValueMatch `json:"spiffeID,omitempty"` // Exact or Prefix
	SNI      *ValueMatch `json:"sni,omitempty"`      // Exact
}

// ValueMatch compares text.
type ValueMatch struct {
	Type  string `json:"type"`
	Value string `json:"value"`
}

// Top is the top-level targetRef, Mesh where it is left out.
func (s *Spec) Top() api.TargetRef {
	if s.TargetRef == nil {
		return api.TargetRef{Kind: api.KindMesh}
	}
	return *s.TargetRef
}

// Leaves are what the item's conf sets.
func (i *Item) Leaves() []merge.Leaf { return i.leaves }

// Leaves are what the rule's conf sets.
func (r *Rule) Leaves() []merge.Leaf { return r.leaves }

// Seal reads the leaves of every conf. Whoever makes a Spec, by decoding or in
// a test, calls it once before the Spec is shared.
func (s *Spec) Seal() *Spec {
	for i := range s.To {
		s.To[i].leaves = s.Kind.Schema.Read(s.To[i].Default)
	}
	for i := range s.From {
		s.From[i].leaves = s.Kind.Schema.Read(s.From[i].Default)
	}
	for i := range s.Rules {
		s.Rules[i].leaves = s.Kind.Schema.Read(s.Rules[i].Default)
	}
	return s
}

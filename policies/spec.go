package policies

import (
	"slices"

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
	// Default is what the policy says of all that the dataplanes call and all that comes in at them.
	Default Conf `json:"default,omitempty"`
	// Override is what it says over everything that is nearer to a route.
	Override Conf `json:"override,omitempty"`
	whole    Item // both, as an item for the whole mesh
}

// Whole is the one entry of a document in the single form, as origins name it.
const Whole api.Path = "spec.default"

// PartOf is where the entry of a document says what it says by default, or as an override.
func PartOf(entry api.Path, part string) api.Path {
	if entry == Whole {
		return api.Path("spec").Field(part)
	}
	return entry.Field(part)
}

// PartName is which part of an entry says something by default, or as an override.
func PartName(override bool) string {
	if override {
		return "override"
	}
	return "default"
}

// Whole is what a document in the single form says, as an item for the whole mesh; nil where the
// kind has lists.
func (s *Spec) Whole() *Item {
	if !s.Kind.Single {
		return nil
	}
	return &s.whole
}

// Item is one entry of to or from. It has a default, an override or both: nil is
// what the document does not have.
type Item struct {
	TargetRef api.TargetRef `json:"targetRef"`
	Default   Conf          `json:"default,omitempty"`
	Override  Conf          `json:"override,omitempty"`
	leaves    []merge.Leaf  // of Default, read once
	overrides []merge.Leaf  // of Override
}

// Rule is one entry of rules: an inbound conf, for callers that match.
type Rule struct {
	Matches   []ClientMatch `json:"matches,omitempty"`
	Default   Conf          `json:"default,omitempty"`
	Override  Conf          `json:"override,omitempty"`
	leaves    []merge.Leaf
	overrides []merge.Leaf
}

// ClientMatch selects callers by their proven identity or by SNI.
type ClientMatch struct {
	SpiffeID *ValueMatch `json:"spiffeID,omitempty"` // Exact or Prefix
	SNI      *ValueMatch `json:"sni,omitempty"`      // Exact
}

// ValueMatch compares text.
type ValueMatch struct {
	Type  string `json:"type" schema:"required,enum=Exact|Prefix"`
	Value string `json:"value" schema:"required"`
}

// Top is the top-level targetRef, Mesh where it is left out.
func (s *Spec) Top() api.TargetRef {
	if s.TargetRef == nil {
		return api.TargetRef{Kind: api.KindMesh}
	}
	return *s.TargetRef
}

// Leaves are what the item's default sets.
func (i *Item) Leaves() []merge.Leaf { return i.leaves }

// Overrides are what the item's override sets.
func (i *Item) Overrides() []merge.Leaf { return i.overrides }

// Leaves are what the rule's default sets.
func (r *Rule) Leaves() []merge.Leaf { return r.leaves }

// Overrides are what the rule's override sets.
func (r *Rule) Overrides() []merge.Leaf { return r.overrides }

// ReadLeaves reads the leaves of every conf. Whoever makes a Spec, by decoding or in
// a test, calls it once before the Spec is shared.
func (s *Spec) ReadLeaves() *Spec {
	for _, list := range [][]Item{s.To, s.From} {
		for i := range list {
			list[i].leaves, list[i].overrides = s.read(list[i].Default), s.readOverride(list[i].Override)
		}
	}
	s.whole = Item{
		TargetRef: api.TargetRef{Kind: api.KindMesh}, Default: s.Default, Override: s.Override,
		leaves: s.read(s.Default), overrides: s.readOverride(s.Override),
	}
	for i := range s.Rules {
		s.Rules[i].leaves, s.Rules[i].overrides = s.read(s.Rules[i].Default), s.readOverride(s.Rules[i].Override)
	}
	return s
}

func (s *Spec) read(c Conf) []merge.Leaf {
	if c == nil {
		return nil
	}
	return s.Kind.Schema.Read(c)
}

// readOverride is read, and what the kind's overrides say beside what is written.
func (s *Spec) readOverride(c Conf) []merge.Leaf {
	if o, ok := c.(Overrider); ok {
		c = o.AsOverride()
	}
	return s.read(c)
}

// HasOverride reports whether any item says something that no route and no
// weaker policy can take back.
func (s *Spec) HasOverride() bool {
	any := func(list []Item) bool {
		return slices.ContainsFunc(list, func(i Item) bool { return i.Override != nil })
	}
	return s.Override != nil || any(s.To) || any(s.From) || slices.ContainsFunc(s.Rules, func(r Rule) bool { return r.Override != nil })
}

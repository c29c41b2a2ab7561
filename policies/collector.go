package policies

import (
	"slices"

	"github.com/weftmesh/weft/api"
)

// CollectorRef names a MeshOpenTelemetryBackend (spec/kinds.md 10): by its name, or by labels the oldest
// that has all of them.
type CollectorRef struct {
	Kind   string            `json:"kind" schema:"required,enum=MeshOpenTelemetryBackend"`
	Name   string            `json:"name,omitempty"`
	Labels map[string]string `json:"labels,omitempty"`
	// To is the collector that the resolver found; nil where there is none that Envoy can send to.
	To *CollectorAddress `json:"-"`
}

// CollectorAddress is where an Envoy sends what it observes, over gRPC.
type CollectorAddress struct {
	Address string // an IP or a DNS name
	Port    uint32
}

// CollectorNamer is a conf that may name collectors by refs. The resolver finds what they lead to and
// hands each conf that takes part on with it (CollectorRef.To).
type CollectorNamer interface {
	// CollectorRefs yields the refs, with their paths below the conf.
	CollectorRefs(yield func(at api.Path, ref *CollectorRef) bool)
	// CopyCollectorRefs is the conf with refs of its own.
	CopyCollectorRefs() Conf
}

// CollectorRefsOf yields the refs to collectors in a list of backends, as CollectorRefs does: ref is that of a
// backend, nil where it has none.
func CollectorRefsOf[B any](backends []B, ref func(*B) *CollectorRef, yield func(at api.Path, ref *CollectorRef) bool) {
	for i := range backends {
		if r := ref(&backends[i]); r != nil && !yield(api.Path("backends").Index(i).Field("openTelemetry").Field("backendRef"), r) {
			return
		}
	}
}

// CopyCollectorRefsOf is a list of backends with refs of its own. With has a backend name another ref, in a
// block that no other backend shares.
func CopyCollectorRefsOf[B any](backends []B, ref func(*B) *CollectorRef, with func(*B, *CollectorRef)) []B {
	out := slices.Clone(backends)
	for i := range out {
		if r := ref(&out[i]); r != nil {
			own := *r
			with(&out[i], &own)
		}
	}
	return out
}

// Check reports what is wrong with the ref by itself.
func (r *CollectorRef) Check(f *Findings, at api.Path) {
	if r.Kind != api.KindMeshOpenTelemetryBackend {
		f.OneOf(at.Field("kind"), r.Kind, api.KindMeshOpenTelemetryBackend)
	}
	switch {
	case r.Name == "" && len(r.Labels) == 0:
		f.Breaks(at, "names no backend; write its name or its labels")
	case r.Name != "" && len(r.Labels) > 0:
		f.Breaks(at.Field("labels"), "cannot stand beside name; write one of them")
	}
}

// NamesCollectors reports whether confs of the kind may name collectors.
func (k *Kind) NamesCollectors() bool {
	_, ok := k.New().(CollectorNamer)
	return ok
}

// CollectorRefs yields the refs to collectors in a document, with their paths.
func (s *Spec) CollectorRefs(yield func(at api.Path, ref *CollectorRef) bool) {
	for at, c := range s.confsAt {
		n, ok := c.(CollectorNamer)
		if !ok {
			continue
		}
		for below, ref := range n.CollectorRefs {
			if !yield(at.Field(string(below)), ref) {
				return
			}
		}
	}
}

// confsAt yields all confs of the document, with their paths.
func (s *Spec) confsAt(yield func(at api.Path, c Conf) bool) {
	const spec = api.Path("spec")
	both := func(at api.Path, def, override Conf) bool {
		return (def == nil || yield(at.Field("default"), def)) && (override == nil || yield(at.Field("override"), override))
	}
	if !both(spec, s.Default, s.Override) {
		return
	}
	for i := range s.To {
		if !both(spec.Field("to").Index(i), s.To[i].Default, s.To[i].Override) {
			return
		}
	}
	for i := range s.From {
		if !both(spec.Field("from").Index(i), s.From[i].Default, s.From[i].Override) {
			return
		}
	}
	for i := range s.Rules {
		if !both(spec.Field("rules").Index(i), s.Rules[i].Default, s.Rules[i].Override) {
			return
		}
	}
}

// WithCollectors is the document with what its refs to collectors lead to, as find knows; itself where
// it has none.
func (s *Spec) WithCollectors(find func(*CollectorRef) *CollectorAddress) *Spec {
	none := true
	for range s.CollectorRefs {
		none = false
		break
	}
	if none {
		return s
	}
	return s.mapped(func(c Conf) Conf {
		n, ok := c.(CollectorNamer)
		if !ok {
			return c
		}
		own := n.CopyCollectorRefs()
		for _, ref := range own.(CollectorNamer).CollectorRefs {
			ref.To = find(ref)
		}
		return own
	})
}

// mapped is the document with f of each conf in its place.
func (s *Spec) mapped(f func(Conf) Conf) *Spec {
	some := func(c Conf) Conf {
		if c == nil {
			return nil
		}
		return f(c)
	}
	out := *s
	out.Default, out.Override = some(s.Default), some(s.Override)
	out.To, out.From, out.Rules = append([]Item(nil), s.To...), append([]Item(nil), s.From...), append([]Rule(nil), s.Rules...)
	for _, list := range [][]Item{out.To, out.From} {
		for i := range list {
			list[i].Default, list[i].Override = some(list[i].Default), some(list[i].Override)
		}
	}
	for i := range out.Rules {
		out.Rules[i].Default, out.Rules[i].Override = some(out.Rules[i].Default), some(out.Rules[i].Override)
	}
	return out.ReadLeaves()
}

// Package services is what can be called, who answers for it, and where a backendRef leads.
package services

import (
	"github.com/weftmesh/weft/resolve/derive"
	"github.com/weftmesh/weft/resolve/hostnames"
)

// Stage is what can be called, by destination id, and who answers for it.
type Stage struct {
	below              hostnames.Mesh
	Destinations       *derive.Collection[Destination]
	DestinationsByName *derive.Index[Destination]
	// destsByAbove finds hosts by those that stand for all hosts below a name.
	destsByAbove        *derive.Index[Destination]
	VirtualDestinations *derive.Index[Destination] // those with virtual addresses, under index.Any
	// DestinationsByHostname finds those by what they are called, as far as the mesh names them.
	DestinationsByHostname *derive.Index[Destination]
	DestinationsApart      *derive.Index[Destination] // of those the ones that not everybody reaches alike
	Members                *derive.Collection[Members]
	MembersIdle            *derive.Index[Members] // of destinations for which nobody answers, under index.Any
}

// Mesh is one mesh at this stage.
type Mesh struct {
	hostnames.Mesh
	*Stage
}

// Mesh is one mesh at this stage, read by at.
func (s *Stage) Mesh(at derive.At) Mesh {
	return Mesh{s.below.Stage.Mesh(at), s}
}

// New adds this stage above the one that it reads.
func New(below hostnames.Mesh) Mesh {
	s := &Stage{below: below}
	s.addDestinations()
	return s.Mesh(nil)
}

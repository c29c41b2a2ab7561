// Package reachability is what each dataplane calls, by which names, and as a part of which class
// of dataplanes.
package reachability

import (
	"github.com/weftmesh/weft/resolve/derive"
	"github.com/weftmesh/weft/resolve/index"
	"github.com/weftmesh/weft/resolve/routing"
)

// Stage is what each dataplane calls, and as a part of which class.
type Stage struct {
	below         routing.Mesh
	byReach       *derive.Group[index.Dataplane]
	reached       *derive.Collection[Calls]
	Calls         *derive.Collection[Calls]
	ClassesCalled *derive.Collection[Classes]
	byClass       *derive.Group[Classes]
	AnyClass      derive.Keys // those of groups for hosts too

	// What those whose traffic is redirected reach of the hosts at a port, by group.
	hostSelectors *derive.Collection[routing.Selectors]
	HostGroups    *derive.Collection[HostGroups]
	byGroup       *derive.Group[HostGroups]
	HostsOfGroups *derive.Collection[HostGroup]
	groupsByClass *derive.Group[HostGroup]

	// Whose workloads may call by the same names: a key for each dataplane.
	HostnamesKeys    *derive.Collection[string]
	HostnamesCallers *derive.Index[string] // all of them, under index.Any
	destsAddressed   *derive.Collection[addressed]
}

// Mesh is one mesh at this stage.
type Mesh struct {
	routing.Mesh
	*Stage
}

// Mesh is one mesh at this stage, read by at.
func (s *Stage) Mesh(at derive.At) Mesh {
	return Mesh{s.below.Stage.Mesh(at), s}
}

// New adds this stage above the one that it reads.
func New(below routing.Mesh) Mesh {
	s := &Stage{below: below}
	s.addCalls()
	s.addHostGroups()
	s.addHostnames()
	return s.Mesh(nil)
}

package pods

import (
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/resolve/derive"
)

// Ran is how many derivations an update of the stage runs, by what it makes.
func (s *Stage) Ran(before *derive.Graph, changes []snapshot.Change) map[string]int {
	var list []derive.Change
	for _, ch := range changes {
		list = append(list, s.source(ch.Ref().Kind).Put(ch.Ref().String(), ch.After))
	}
	_, delta := before.Update(list...)
	return map[string]int{"forms": s.forms.Ran(delta), "dataplanes": s.planes.Ran(delta), "services": s.placed.Ran(delta), "slices": s.naming.Ran(delta), "headless": s.headless.Ran(delta), "instances": s.perPod.Ran(delta)}
}

// Failures are the bugs that a graph met.
func (s *Stage) Failures(g *derive.Graph) []derive.Failure { return g.Failures() }

package control

import (
	"slices"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/inspect"
	"github.com/weftmesh/weft/inspect/plan"
	"github.com/weftmesh/weft/store"
)

// refuses is what keeps documents, sound by themselves, from being written: authorities that
// cannot sign, and policies that nothing can carry out beside what there is.
func (p *Plane) refuses(now *api.Snapshot, writes []store.Write) []*api.Violation {
	from := world.Sources{System: p.settings.SystemNamespaces, Now: p.cfg.clock()()}
	if p.keeper != nil {
		from.File = p.keeper.File
	}
	return append(world.Provided(now, writes, from), p.uncarried(writes)...)
}

// uncarried are the violations of policies on routes that would let nobody in.
func (p *Plane) uncarried(writes []store.Write) []*api.Violation {
	var objects []*api.Object
	for _, w := range writes {
		if world.MayBeUncarried(w.Put) {
			objects = append(objects, w.Put)
		}
	}
	m := p.loop.current.Load()
	if len(objects) == 0 || m == nil {
		return nil
	}
	step, _ := plan.Next(m, slices.Clone(writes), time.Now())
	return inspect.Uncarried(m.Reader(nil), step.After.Reader(nil), objects)
}

package control

import (
	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/store"
)

// refuses is what keeps documents, sound by themselves, from being written.
func (p *Plane) refuses(now *api.Snapshot, writes []store.Write) []*api.Violation {
	from := world.Sources{System: p.settings.SystemNamespaces, Now: p.cfg.clock()(), File: p.keeper.File}
	return world.Refusals(now, p.loop.current.Load(), writes, from)
}

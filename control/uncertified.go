package control

import (
	"errors"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/control/issuer"
	"github.com/weftmesh/weft/resolve"
)

// refused is told why a sidecar is given no certificate; the zero value where it is given one.
func (x *insights) refused(dp api.Ref, why api.IdentityRefusal) {
	x.mu.Lock()
	i := x.entry(dp.AsNode())
	same := i.now().refused == why
	i.change(func(p *passing) { p.refused = why })
	x.mu.Unlock()
	if !same {
		x.stir(dp)
	}
}

// skewed is told by how much the clock of a sidecar is ahead.
func (x *insights) skewed(dp api.Ref, by time.Duration) {
	if by = by.Round(time.Second); by.Abs() <= api.MostSkew {
		by = 0
	}
	x.mu.Lock()
	i := x.entry(dp.AsNode())
	same := i.now().skew == by
	i.change(func(p *passing) { p.skew = by })
	x.mu.Unlock()
	if !same {
		x.stir(dp)
	}
}

// Unproven is why the sidecar of a dataplane would get no certificate of the names that a model
// gives it; not ok where nothing is known to keep it from one.
func (x *insights) Unproven(m *resolve.Model, dp api.Ref) (why api.IdentityRefusal, ok bool) {
	if why, ok := x.plane.noProof(); ok {
		return why, true
	}
	o, there := m.Snapshot().Get(dp)
	who, attached := x.plane.agents.Who(dp)
	if !there || !attached {
		return why, false
	}
	_, _, err := issuer.Proven(m, x.plane.settings.InZone(), o, who)
	return why, errors.As(err, &why)
}

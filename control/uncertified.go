package control

import (
	"time"

	"github.com/weftmesh/weft/api"
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

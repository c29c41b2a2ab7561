package control

import "github.com/weftmesh/weft/store"

// Beneath puts a store in the place of the one that users write to.
func (p *Plane) Beneath(wrap func(store.Store) store.Store) { p.store = wrap(p.store) }

// Ready is what /readyz asks.
func (p *Plane) Ready() error { return p.ready() }

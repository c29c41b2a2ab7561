package impact

import (
	"slices"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/resolve/effective"
)

// Idle looks at dataplanes for entries of policies of which a field has no effect. It serves one
// question, and works out once what many dataplanes share.
type Idle struct {
	known map[PlacementKey]*effective.Attached
}

// NewIdle has looked at nothing yet.
func NewIdle() *Idle { return &Idle{map[PlacementKey]*effective.Attached{}} }

// At are the entries of which a field has no effect at some place of the dataplane, each once, and
// the places at which following objects meets a bug.
func (x *Idle) At(r *effective.Resolved) (entries []*api.Origin, failed []Placement) {
	for _, p := range placementsAt(r) {
		key := p.Key()
		at := x.known[key]
		if at == nil {
			at = p.attached()
			x.known[key] = at
		}
		if at.Failure != nil {
			failed = append(failed, p)
		}
		for i := range at.List {
			if a := &at.List[i]; a.Idle != 0 && !slices.Contains(entries, a.Entry) {
				entries = append(entries, a.Entry)
			}
		}
	}
	return entries, failed
}

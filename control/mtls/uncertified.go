package mtls

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/control/issuer"
	"github.com/weftmesh/weft/control/reconcile"
	"github.com/weftmesh/weft/resolve"
)

// Refused is told why a sidecar is given no certificate; the zero value where it is given one.
func (x *Insights) Refused(dp api.Ref, why api.IdentityRefusal) {
	x.mu.Lock()
	i := x.entry(dp.AsNode())
	same := i.now().refused == why
	i.change(func(p *passing) { p.refused = why })
	x.mu.Unlock()
	if !same {
		x.Enqueue(dp)
	}
}

// Skewed is told by how much the clock of a sidecar is ahead.
func (x *Insights) Skewed(dp api.Ref, by time.Duration) {
	if by = by.Round(time.Second); by.Abs() <= api.MostSkew {
		by = 0
	}
	x.mu.Lock()
	i := x.entry(dp.AsNode())
	same := i.now().skew == by
	i.change(func(p *passing) { p.skew = by })
	x.mu.Unlock()
	if !same {
		x.Enqueue(dp)
	}
}

// Unproven is why the sidecar of a dataplane would get no certificate of the names that a model
// gives it; not ok where nothing is known to keep it from one.
func (x *Insights) Unproven(m *resolve.Model, dp api.Ref) (why api.IdentityRefusal, ok bool) {
	if why, ok := x.NoProof(); ok {
		return why, true
	}
	o, there := m.Snapshot().Get(dp)
	who, attached := x.Agents.Who(dp)
	if !there || !attached {
		return why, false
	}
	_, _, err := issuer.Proven(m, x.Zone, o, who)
	return why, errors.As(err, &why)
}

// EndedNotes say which connected sidecars go on with a certificate that has ended, and why no other has
// come.
func (x *Insights) EndedNotes(m *resolve.Model) (notes []api.Note) {
	now := x.Now()
	type gone struct {
		dp   api.Ref
		ends time.Time
	}
	var all []gone
	x.mu.Lock()
	for name := range x.ended {
		i := x.insight(name)
		if i == nil || i.held == (heldCert{}) || i.held.valid(now) {
			delete(x.ended, name)
			continue
		}
		all = append(all, gone{name, i.held.ends.time()})
	}
	x.mu.Unlock()
	slices.SortFunc(all, func(a, b gone) int { return a.dp.Compare(b.dp) })
	why := map[string]func(api.Ref) (api.IdentityRefusal, bool){}
	for _, g := range all {
		ref := g.dp.Resolve(reconcile.Serves(m))
		if st, known := x.Sidecars.Sidecar(ref); !known || !st.Connected {
			continue
		}
		if why[ref.Mesh] == nil {
			why[ref.Mesh] = m.Reader(nil).Uncertified(ref.Mesh)
		}
		text := "the log of the sidecar says why"
		if r, ok := why[ref.Mesh](ref); ok {
			text = r.Message
		}
		notes = append(notes, api.Note{Origin: &api.Origin{Ref: ref}, Severity: api.Error, Code: api.CodeExpired,
			Message: fmt.Sprintf("its certificate has ended at %s and no other has come, so that it is called in plain text where that is allowed, and else not at all: %s", g.ends.UTC().Format(time.RFC3339), text)})
	}
	return notes
}

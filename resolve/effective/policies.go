package effective

import (
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/resolve/derive"
)

// Policies has one entry for each kind that says something, in the order of the
// kinds that the Model was compiled with.
type Policies []*policies.Effective

// Of finds a kind by name; nil if it says nothing.
func (p Policies) Of(kind string) *policies.Effective {
	for _, e := range p {
		if e.Kind.Name == kind {
			return e
		}
	}
	return nil
}

// Hash adds to h who said what where; it leaves out the values.
func (p Policies) Hash(h uint64) uint64 {
	for _, e := range p {
		h = derive.Mix(h, e.Kind.Name)
		for _, s := range e.Said {
			h = derive.Mix(derive.Mix(h, s.Origin.Name), string(s.Origin.Field))
		}
	}
	return h
}

// Whole is what policies say of a dataplane as a whole, of nothing that it calls and nothing that comes
// in at it.
type Whole struct {
	Policies Policies
}

// Attached is what became of every entry that is about the dataplane as a whole.
func (w *Whole) Attached() *Attached { return attachedIn(w.Policies, "") }

// OfWhole is what holds of the dataplane as a whole.
func (r *Resolved) OfWhole() Policies {
	if r.Whole == nil {
		return nil
	}
	return r.Whole.Policies
}

// Is reports whether both are one value.
func (p Policies) Is(q Policies) bool {
	return len(p) == len(q) && (len(p) == 0 || &p[0] == &q[0])
}

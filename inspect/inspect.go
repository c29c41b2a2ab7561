// Package inspect answers the questions of people about a model: what applies
// to a dataplane and why, where an object takes part, what is wrong, and the
// same in Kuma's shapes (spec/contract.md 5 and 6, spec/kuma.md 5.2).
//
// Its functions are pure: a model and what sidecars have acknowledged in,
// values with the JSON form of the contract out. It decides nothing itself;
// what it shows was decided, with its reasons, in package resolve.
package inspect

import (
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/xds"
)

// Sidecar is how far one dataplane follows.
type Sidecar struct {
	Dataplane api.Ref
	Connected bool
	// Awaited says of one that is not connected that it was before the control
	// plane was started, and is expected back.
	Awaited bool
	// Missing says of one that is not connected that it was, and that its dataplane is still there; Until
	// is when its last stream ended, where that is known.
	Missing bool
	Until   time.Time
	// Published is the revision up to which it was told all that concerns it,
	// Acked the one up to which it has confirmed that.
	Published, Acked uint64
	InSync           bool
	// Confirmed is the last state that its Envoy has confirmed as a whole, where
	// that is not what it should have; nil where there was none.
	Confirmed *effective.Resolved
	// Rest is what an Envoy that refuses something has confirmed, but for resources of the names
	// Lacks; nil where that is not known.
	Rest  *effective.Resolved
	Lacks []string
	// Refusal is the last configuration that its Envoy refused; nil for none, or
	// where it has accepted a later one.
	Refusal *Refusal
	// Note is what keeps it without its configuration; empty for nothing.
	Note string
	// Unconfirmed is what it has had for longer than Envoys take, and has neither confirmed nor refused.
	Unconfirmed []Unconfirmed
	// Since is when it connected. Client and Version are what it runs, such as envoy and 1.40.0,
	// Agent is the version of the program that started that; empty where nobody knows.
	Since                  time.Time
	Client, Version, Agent string
}

// Withheld reports whether something keeps the sidecar from its configuration now:
// a note may outlive its cause.
func (s *Sidecar) Withheld() bool { return s.Connected && !s.InSync && s.Note != "" }

// State is how far a dataplane follows.
type State string

// The states, from the worst.
const (
	StateRefusing State = "refusing" // its Envoy did not take what it was sent
	StateWithheld State = "held"     // something keeps it from its configuration
	StateMissing  State = "missing"  // it is not connected
	StateBehind   State = "behind"   // it has not confirmed yet what it was sent
	StateInSync   State = "in sync"
)

// State is how far the sidecar follows.
func (s *Sidecar) State() State {
	switch {
	case !s.Connected:
		return StateMissing
	case s.Refusal != nil:
		return StateRefusing
	case s.InSync:
		return StateInSync
	case s.Note != "":
		return StateWithheld
	}
	return StateBehind
}

// Troubled reports whether something is wrong with the sidecar, so that Problems tells of it.
func (s *Sidecar) Troubled() bool {
	return s.Refusal != nil || s.Withheld() || s.Missing || s.waits()
}

// Refusal is what an Envoy did not take.
type Refusal struct {
	Type      string   // cds, eds, lds, rds
	Resources []string // that it names
	Message   string   // the Envoy's words
}

// Uncertified is a dataplane that gets no certificate, and why.
type Uncertified struct {
	Dataplane string  `json:"dataplane"`
	Code      string  `json:"code"` // SpiffeIDInvalid, NoProof, IdentityRefused, IdentityMismatch, NoSVID or NoTrust
	Message   string  `json:"message"`
	Ref       api.Ref `json:"-"`
}

// FindSidecar finds how far one dataplane follows; not ok where its sidecar was never
// connected. A nil one knows nobody.
type FindSidecar func(api.Ref) (Sidecar, bool)

// Listed knows the sidecars of a list.
func Listed(sidecars []Sidecar) FindSidecar {
	byRef := make(map[api.Ref]*Sidecar, len(sidecars))
	for i := range sidecars {
		byRef[sidecars[i].Dataplane] = &sidecars[i]
	}
	return func(r api.Ref) (Sidecar, bool) {
		if s := byRef[r]; s != nil {
			return *s, true
		}
		return Sidecar{}, false
	}
}

// Has reports whether the Envoy has confirmed what r says of an object: all of r,
// or an earlier state in which the object stood as it stands now, or all but what it refuses, in
// which the object takes no part.
func (s *Sidecar) Has(ref api.Ref, r *effective.Resolved) bool {
	if s.Refusal == nil && s.InSync {
		return true
	}
	return s.Confirmed != nil && r.SameFor(ref, s.Confirmed) ||
		s.Refusal != nil && s.Rest != nil && r.SameFor(ref, s.Rest) && !xds.Concerns(r, ref, s.Lacks)
}

// Package rotation replaces the root of workloads' certificates by another while they call
// each other (spec/identity.md 2.4), as a state that moves from phase to phase.
//
// Its law: no sidecar holds a certificate that another one, whose own certificate has not ended, does not
// trust yet or trusts no more. It holds whatever is lost, late or repeated, where whoever
// drives it keeps three rules:
//
//   - A State is stored before anything follows from it: before what it trusts is sent, and
//     before a certificate is given out whose end it has reserved.
//   - A sidecar gets a certificate only where MayIssue says so: trust comes before certificates.
//   - No sidecar is sent a generation of trust that is older than one it had.
//
// It has no clock and stores nothing: all functions are pure, and those that change a State
// return another.
package rotation

import (
	"errors"
	"fmt"
	"time"

	"github.com/weftmesh/weft/xds/server/authority/workload"
)

// Phase is where a rotation stands.
type Phase string

// The phases in their order. Between two rotations there is one root.
const (
	Steady   Phase = "Steady"
	Trusting Phase = "Trusting" // the new root is trusted beside the old one, which signs
	Issuing  Phase = "Issuing"  // the new root signs, and leaves are renewed ahead of time
	Settling Phase = "Settling" // the last leaves of the old root end
	Retiring Phase = "Retiring" // the old root is trusted no more
)

// Root is one root and how far what it has signed reaches.
type Root struct {
	Fingerprint string `json:"fingerprint"`

	// Ends is a time after which no certificate of the root is valid; zero where it has signed
	// none.
	Ends time.Time `json:"ends,omitzero"`
}

// State is what is stored of a rotation.
type State struct {
	Phase Phase     `json:"phase"`
	Old   Root      `json:"old"`          // between rotations the one root
	New   Root      `json:"new,omitzero"` // the one that will be left
	Since time.Time `json:"since,omitzero"`

	// Trust counts the changes of what is trusted. Sidecars acknowledge a generation, not
	// a set: a set that comes back must be acknowledged again.
	Trust uint64 `json:"trust"`
}

// Start is the state of a mesh with its first root.
func Start(root string, now time.Time) State {
	return State{Phase: Steady, Old: Root{Fingerprint: root}, Since: now, Trust: 1}
}

// Over is a state that is not known, of a root that signs and another one that may have: both are
// trusted until no certificate is left, and the one that signs waits for those who do not trust it yet.
// It takes the certificates of both to live as long as those of s.
func (s State) Over(other string, trusted bool) State {
	root := s.signer()
	s.Old, s.New = Root{other, root.Ends}, Root{root.Fingerprint, root.Ends}
	if s.Phase = Settling; !trusted {
		s.Phase = Trusting
	}
	return s
}

// After is s with a generation of trust that is not before least: what is acknowledged of another
// past of it counts for nothing.
func (s State) After(least uint64) State {
	s.Trust = max(s.Trust, least)
	return s
}

// Trusted are the fingerprints of the roots that every sidecar is to trust.
func (s State) Trusted() []string {
	switch s.Phase {
	case Steady:
		return []string{s.Old.Fingerprint}
	case Retiring:
		return []string{s.New.Fingerprint}
	}
	return []string{s.Old.Fingerprint, s.New.Fingerprint}
}

// Signer is the fingerprint of the root below which certificates are made.
func (s State) Signer() string { return s.signer().Fingerprint }

func (s *State) signer() *Root {
	if s.Phase == Steady || s.Phase == Trusting {
		return &s.Old
	}
	return &s.New
}

// Begin starts to replace the root by another.
func (s State) Begin(to string, now time.Time) (State, error) {
	if s.Phase != Steady {
		return s, fmt.Errorf("a rotation is in phase %s; wait until it has ended, or abort it", s.Phase)
	}
	if to == s.Old.Fingerprint {
		return s, errors.New("this root signs already")
	}
	s.Phase, s.New, s.Since = Trusting, Root{Fingerprint: to}, now
	s.Trust++
	return s, nil
}

// Abort goes back to the root that was to be replaced, by the same phases, since its leaves
// may be with some already. It never changes at once who signs or what is trusted.
func (s State) Abort(now time.Time) (State, error) {
	switch s.Phase {
	case Steady:
		return s, errors.New("there is no rotation to abort")
	case Retiring:
		return s, errors.New("the old root is trusted no more by some; wait until the rotation has ended, then rotate back to it")
	case Trusting: // the new root has signed nothing
		s.Phase = Settling
	default: // all trust both
		s.Phase = Trusting
	}
	s.Old, s.New, s.Since = s.New, s.Old, now
	return s, nil
}

// Reserve records that the root that signs makes a certificate which ends then, and reports whether
// that has to be stored before the certificate is given out. It reserves slack more, so that it
// has to be stored once in that time and not with each certificate.
func (s State) Reserve(ends time.Time, slack time.Duration) (State, bool) {
	if r := s.signer(); ends.After(r.Ends) {
		r.Ends = ends.Add(slack)
		return s, true
	}
	return s, false
}

// Reserved is until when certificates of the root that signs may live, by what was stored.
func (s State) Reserved() time.Time { return s.signer().Ends }

// LastEnd is a time after which no certificate is valid that has been made until now.
func (s State) LastEnd() time.Time {
	if s.New.Ends.After(s.Old.Ends) {
		return s.New.Ends
	}
	return s.Old.Ends
}

// MayIssue reports whether a sidecar may have a certificate now: it has acknowledged what all
// trust now.
func (s State) MayIssue(c Sidecar) bool { return c.Connected && c.Trust == s.Trust }

// RenewAt is when a sidecar is to renew a certificate because of a rotation; not ok where it holds
// none of the old root, or that root signs. Renewals are spread over at most spread, and
// over half of what is left of the certificate.
func (s State) RenewAt(c Sidecar, spread time.Duration) (at time.Time, ok bool) {
	if s.Signer() == s.Old.Fingerprint || c.Root != s.Old.Fingerprint {
		return time.Time{}, false
	}
	most := min(spread, max(0, c.Ends.Sub(s.Since)/2))
	return s.Since.Add(time.Duration(workload.Draw(c.Name) * float64(most))), true
}

package rotation

import (
	"iter"
	"time"

	"github.com/weftmesh/weft/xds/server/authority/workload"
)

// Sidecar is what is known of one.
type Sidecar struct {
	Name      string
	Connected bool

	// Trust is the generation of trust that its Envoy has acknowledged on the connection
	// that it has, or had last; 0 for none.
	Trust uint64

	Root string    // the fingerprint above the certificate that it was given last; empty for none
	Ends time.Time // when the last of its certificates ends
}

// Fleet is what is known of all sidecars.
type Fleet struct {
	Sidecars iter.Seq[Sidecar]

	// Unknown is until when there may be valid leaves with sidecars that are not among
	// these: State.LastEnd, as it was when a control plane began to listen that does not
	// know who was there before it. Zero where all are known.
	Unknown time.Time
}

// Waiting is why a state does not move on.
type Waiting struct {
	Count int       // how many sidecars it waits for
	Names []string  // the first of them
	Until time.Time // when it waits no longer, whatever they do; zero where nothing is waited for
}

// mostNames bounds Waiting.Names.
const mostNames = 10

func (w *Waiting) add(c Sidecar) {
	if w.Count++; len(w.Names) < mostNames {
		w.Names = append(w.Names, c.Name)
	}
	w.till(c.Ends)
}

func (w *Waiting) till(t time.Time) {
	if t.After(w.Until) {
		w.Until = t
	}
}

// Step is the next state where its time has come, and s otherwise with what it waits for. It
// moves by one phase at most; the result has to be stored before it is stepped again.
//
// Nothing waits for a sidecar longer than that has a valid certificate: without one it can neither
// call nor be called, and it gets none before it has acknowledged (MayIssue).
func (s State) Step(w Fleet, now time.Time) (State, Waiting) {
	var wait Waiting
	switch s.Phase {
	case Trusting:
		s.unacknowledged(w, now, &wait)
		if w.Unknown.After(now) {
			wait.till(w.Unknown)
		}
		return s.moved(wait, Issuing, now)
	case Issuing:
		for c := range w.Sidecars {
			if c.Connected && c.Root == s.Old.Fingerprint && c.Ends.After(now) {
				wait.add(c)
			}
		}
		return s.moved(wait, Settling, now)
	case Settling:
		if s.Old.Ends.IsZero() {
			return s.moved(wait, Retiring, now)
		}
		if end := s.Old.Ends.Add(workload.Leeway); end.After(now) {
			s.holders(w, now, &wait)
			wait.till(end)
		}
		return s.moved(wait, Retiring, now)
	case Retiring: // after Force there are holders too, and once it is over nobody would ask them to renew
		for c := range w.Sidecars {
			if c.Ends.After(now) && (c.Trust != s.Trust || c.Root == s.Old.Fingerprint) {
				wait.add(c)
			}
		}
		return s.moved(wait, Steady, now)
	}
	return s, wait
}

// moved is the state in its next phase where nothing is waited for.
func (s State) moved(wait Waiting, to Phase, now time.Time) (State, Waiting) {
	if !wait.Until.IsZero() {
		return s, wait
	}
	switch s.Phase, s.Since = to, now; to {
	case Retiring:
		s.Trust++
	case Steady:
		s.Old, s.New = s.New, Root{}
	}
	return s, wait
}

// unacknowledged are those with a valid certificate who may not know yet what is trusted now.
func (s State) unacknowledged(w Fleet, now time.Time, wait *Waiting) {
	for c := range w.Sidecars {
		if c.Trust != s.Trust && c.Ends.After(now) {
			wait.add(c)
		}
	}
}

// holders are those with a valid certificate of the old root.
func (s State) holders(w Fleet, now time.Time, wait *Waiting) {
	for c := range w.Sidecars {
		if c.Root == s.Old.Fingerprint && c.Ends.After(now) {
			wait.add(c)
		}
	}
}

// Force retires the old root now, against the law, and says whose calls will fail until they
// have a new certificate or know the new root: for a root whose key is in wrong hands. Where there
// is nothing to retire it changes nothing.
func (s State) Force(w Fleet, now time.Time) (State, Waiting) {
	var broken Waiting
	if s.Phase == Steady || s.Phase == Retiring {
		return s, broken
	}
	for c := range w.Sidecars {
		late := s.Phase == Trusting && c.Trust != s.Trust
		if c.Ends.After(now) && (late || c.Root == s.Old.Fingerprint) {
			broken.add(c)
		}
	}
	s, _ = s.moved(Waiting{}, Retiring, now)
	return s, broken
}

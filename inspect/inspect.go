// Package inspect answers the questions of people about a model: what applies
// to a dataplane and why, where an object takes part, what is wrong, and the
// same in Kuma's shapes (spec/contract.md 5 and 6, spec/kuma.md 5.2).
//
// Its functions are pure: a model and what sidecars have acknowledged in,
// values with the JSON form of the contract out. It decides nothing itself;
// what it shows was decided, with its reasons, in package resolve.
package inspect

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/resolve/effective"
)

// Sidecar is how far one dataplane follows.
type Sidecar struct {
	Dataplane api.Ref
	Connected bool
	// Awaited says of one that is not connected that it was before the control
	// plane was started, and is expected back.
	Awaited bool
	// Lost says of one that is not connected that it was, and that its dataplane is still there; Until
	// is when its last stream ended, where that is known.
	Lost  bool
	Until time.Time
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

// held reports whether something keeps the sidecar from its configuration now:
// a note may outlive its cause.
func (s *Sidecar) held() bool { return s.Connected && !s.InSync && s.Note != "" }

// State is how far a dataplane follows.
type State string

// The states, from the worst.
const (
	StateRefusing State = "refusing" // its Envoy did not take what it was sent
	StateHeld     State = "held"     // something keeps it from its configuration
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
		return StateHeld
	}
	return StateBehind
}

// Troubled reports whether something is wrong with the sidecar, so that Problems tells of it.
func (s *Sidecar) Troubled() bool {
	return s.Refusal != nil || s.held() || s.Lost || s.waits()
}

// Refusal is what an Envoy did not take.
type Refusal struct {
	Type      string   // cds, eds, lds, rds
	Resources []string // that it names
	Message   string   // the Envoy's words
}

// ErrNotFound is wrapped by errors about something that is not there.
var ErrNotFound = errors.New("not found")

// NotFound wraps ErrNotFound: it names what is missing and what comes near, first of all
// what has the name in a namespace.
func NotFound(what, name string, have []string) error {
	advice := ""
	near := slices.DeleteFunc(slices.Clone(have), func(h string) bool { return !strings.HasSuffix(h, "/"+name) && !strings.HasPrefix(h, name+".") })
	if near = near[:min(len(near), 3)]; len(near) == 0 {
		near = api.Nearest(name, have, 3)
	}
	if len(near) > 0 {
		advice = "; did you mean " + strings.Join(near, ", ") + "?"
	} else if len(have) > 0 && len(have) <= 12 {
		advice = "; there is " + strings.Join(have, ", ")
	}
	return fmt.Errorf("%s %s: %w%s", what, name, ErrNotFound, advice)
}

// Dataplane finds what applies to one.
func Dataplane(m *resolve.Reader, dp api.Ref) (*effective.Resolved, error) {
	if r, ok := m.Dataplane(dp); ok {
		return r, nil
	}
	if o, ok := m.Snapshot().Get(dp); ok {
		if why, out := m.KeptOut(o); out {
			return nil, fmt.Errorf("dataplane %s: %w: %s", dp.FullName(), ErrNotFound, why.Message)
		}
	}
	var have []string
	for r := range m.Dataplanes(dp.Mesh) {
		have = append(have, r.Ref.FullName())
	}
	return nil, NotFound("dataplane", dp.FullName(), have)
}

// address is what names an outbound: a name, or a name and a port.
type address struct {
	text, name string
	port       uint32 // 0 where there is none
}

func addressOf(text string) address {
	a := address{text: text}
	if at := strings.LastIndexByte(text, ':'); at >= 0 {
		if port, err := strconv.ParseUint(text[at+1:], 10, 32); err == nil && strconv.FormatUint(port, 10) == text[at+1:] {
			a.name, a.port = text[:at], uint32(port)
		}
	}
	return a
}

// names reports whether it names the outbound o: its destination's id or one of
// its names, alone or with the port of the listener or of the service.
func (a address) names(o *effective.Outbound) bool {
	d := o.Destination
	if a.text == d.ID || a.text == d.Name || slices.Contains(d.Hostnames, a.text) {
		return true
	}
	if a.port == 0 || a.port != o.Port && a.port != d.Port {
		return false
	}
	return a.name == d.Name || a.name == d.ID || slices.Contains(d.Hostnames, a.name) || a.name == o.Address && a.port == o.Port
}

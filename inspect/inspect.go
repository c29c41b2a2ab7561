// Package inspect answers the questions of people about a model: what applies
// to a dataplane and why, where an object takes part, what is wrong, and the
// same in Kuma's shapes (contract 5 and 6, spec/kuma.md 5.2).
//
// Its functions are pure: a model and what sidecars have acknowledged in,
// values with the JSON form of the contract out. It decides nothing itself;
// what it shows was decided, with its reasons, in package resolve.
package inspect

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/resolve"
)

// Sidecar is how far one dataplane follows.
type Sidecar struct {
	Dataplane api.Ref
	Connected bool
	// Awaited says of one that is not connected that it was before the control
	// plane was started, and is expected back.
	Awaited bool
	// Published is the revision up to which it was told all that concerns it,
	// Acked the one up to which it has confirmed that.
	Published, Acked uint64
	InSync           bool
	// Confirmed is the last state that its Envoy has confirmed as a whole, where
	// that is not what it should have; nil where there was none.
	Confirmed *resolve.Resolved
	// Refusal is the last configuration that its Envoy refused; nil for none, or
	// where it has accepted a later one.
	Refusal *Refusal
	// Note is what keeps it without its configuration; empty for nothing.
	Note string
	// Since is when it connected. Client and Version are what it runs, such as envoy and 1.40.0,
	// Agent is the version of the program that started that; empty where nobody knows.
	Since                  time.Time
	Client, Version, Agent string
}

// held reports whether something keeps the sidecar from its configuration now:
// a note may outlive its cause.
func (s *Sidecar) held() bool { return s.Connected && !s.InSync && s.Note != "" }

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
func Dataplane(m *resolve.Reader, dp api.Ref) (*resolve.Resolved, error) {
	if r, ok := m.Dataplane(dp); ok {
		return r, nil
	}
	var have []string
	for r := range m.Dataplanes(dp.Mesh) {
		have = append(have, r.Ref.FullName())
	}
	return nil, NotFound("dataplane", dp.FullName(), have)
}

// calls reports whether to names the outbound o: its destination's id or one of
// its names, alone or with the port of the listener or of the service.
func calls(o *resolve.Outbound, to string) bool {
	d := o.Destination
	if to == d.ID || to == d.Name || slices.Contains(d.Hostnames, to) {
		return true
	}
	for _, name := range append([]string{d.Name, d.ID}, d.Hostnames...) {
		if to == fmt.Sprintf("%s:%d", name, o.Port) || d.Port != 0 && to == fmt.Sprintf("%s:%d", name, d.Port) {
			return true
		}
	}
	return to == fmt.Sprintf("%s:%d", o.Address, o.Port)
}

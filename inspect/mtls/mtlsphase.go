package mtls

import (
	"fmt"
	"slices"
	"time"

	"github.com/weftmesh/weft/inspect/terminal"
	"github.com/weftmesh/weft/resolve/effective"
)

// MTLSPhase is how far a mesh is on the way from plain text to mutual TLS alone, by the phases of
// spec/identity.md 5.
type MTLSPhase struct {
	Number int       `json:"number"` // 0 to 4
	Name   PhaseName `json:"name"`
	// Done says when the phase is over, in words.
	Done string `json:"done"`
	// WaitsFor is what keeps it from being over now, the first of it in words; Cut counts the others.
	WaitsFor []string `json:"waitsFor"`
	Cut      int      `json:"cut,omitempty"`
}

// PhaseName is the word for a phase.
type PhaseName string

// The names, in the order of their phases; Strict is Hardening that is over.
const (
	PhaseOff          PhaseName = "Off"
	PhaseCertificates PhaseName = "Certificates"
	PhaseSwitching    PhaseName = "Switching"
	PhasePermissive   PhaseName = "Permissive"
	PhaseHardening    PhaseName = "Hardening"
	PhaseStrict       PhaseName = "Strict"
)

// The phases, each with when it is over.
var (
	phaseOff          = MTLSPhase{0, PhaseOff, "a document gives dataplanes identities, and weft plan warns of nobody whom it would refuse", nil, 0}
	phaseCertificates = MTLSPhase{1, PhaseCertificates, "all sidecars have certificates, and have acknowledged inbounds that take mutual TLS", nil, 0}
	phaseSwitching    = MTLSPhase{2, PhaseSwitching, "every caller of the mesh uses TLS, and its connections in plain text are gone", nil, 0}
	phasePermissive   = MTLSPhase{3, PhasePermissive, "shadows of permissions deny nothing that should pass; then make the inbounds Strict", nil, 0}
	phaseHardening    = MTLSPhase{4, PhaseHardening, "no inbound takes plain text, and no connection in plain text is left", nil, 0}
	phaseStrict       = MTLSPhase{4, PhaseStrict, "no inbound takes plain text, as is so now", nil, 0}
)

// mostAwaited is how many things that a phase waits for are told.
const mostAwaited = 20

// plainLife is for how long a connection in plain text of a caller of the mesh lives on at most
// after it could use TLS (spec/identity.md 3.2).
const plainLife = 5 * time.Minute

// phases finds out how far a mesh is, one dataplane after the other.
type phases struct {
	now                                        time.Time
	names                                      *callerNames
	identified                                 bool
	permissive                                 bool
	uncertified, unacknowledged, plain, strict []string
}

// look looks at a dataplane that has an identity.
func (x *phases) look(r *effective.Resolved, d *DataplaneMTLS) {
	x.identified = true
	switch {
	case d.Problem != "":
		x.uncertified = append(x.uncertified, d.Name+" gets no certificate: "+d.Problem)
	case d.Connected && !r.TLS:
		x.uncertified = append(x.uncertified, d.Name+" has no certificate yet")
	}
	for i := range d.Inbounds {
		in := &d.Inbounds[i]
		at := func() string { return fmt.Sprintf("%s port %d", d.Name, in.Port) }
		switch {
		case d.Connected && (in.Confirmed == "" || in.Confirmed == notMTLS):
			x.unacknowledged = append(x.unacknowledged, at()+" has not acknowledged mutual TLS")
		case in.Wanted != effective.Strict || !d.Connected:
		case in.Confirmed != effective.Strict:
			x.strict = append(x.strict, at()+" takes plain text until its callers have learnt better")
		case in.Plain.Open > 0:
			x.strict = append(x.strict, fmt.Sprintf("%s has %d connections in plain text", at(), in.Plain.Open))
		}
		x.permissive = x.permissive || in.Wanted != effective.Strict
	}
	for _, s := range d.Senders {
		if x.names.is(s.From) && x.now.Sub(s.Last) <= plainLife {
			x.plain = append(x.plain, fmt.Sprintf("%s has called %s port %d in plain text of late", s.From, s.To, s.Port))
		}
	}
}

// phase is the first that is not over.
func (x *phases) phase() MTLSPhase {
	at := func(p MTLSPhase, waits []string) MTLSPhase {
		p.WaitsFor = append([]string{}, waits[:min(len(waits), mostAwaited)]...)
		p.Cut = len(waits) - len(p.WaitsFor)
		return p
	}
	first := slices.Concat(x.uncertified, x.unacknowledged)
	switch {
	case !x.identified:
		return at(phaseOff, nil)
	case len(first) > 0:
		return at(phaseCertificates, first)
	case len(x.strict) > 0:
		return at(phaseHardening, x.strict)
	case !x.permissive:
		return at(phaseStrict, nil)
	case len(x.plain) > 0:
		return at(phaseSwitching, x.plain)
	}
	return at(phasePermissive, nil)
}

func (x *MTLSPhase) text(p *terminal.Printer) {
	p.Line("phase %d  %s  %s", x.Number, p.Strong(string(x.Name)), p.Faint("done when "+x.Done))
	for _, w := range x.WaitsFor {
		p.Line("  waits: %s", w)
	}
	if x.Cut > 0 {
		p.Line("  and for %d more", x.Cut)
	}
}

package mtls

import (
	"fmt"
	"strings"

	"github.com/weftmesh/weft/inspect/terminal"
	"github.com/weftmesh/weft/resolve/effective"
)

// Progress is how many of the connected sidecars of a mesh have done what the phases on the way
// from plain text to strict mutual TLS ask of them (spec/identity.md 5). MTLSPhase says which
// phase the mesh is in.
type Progress struct {
	Steps []ProgressStep `json:"steps"` // in their order; none where documents want no mutual TLS
	// Absent are dataplanes with an identity whose sidecars are not connected: no step counts
	// them.
	Absent int `json:"absent"`
}

// ProgressStep is one thing that each of them has to do.
type ProgressStep struct {
	Step  string `json:"step"` // certificates, inbounds, callers, strict
	Done  int    `json:"done"`
	Total int    `json:"total"`
	// WaitsFor are the first of the dataplanes that are not done.
	WaitsFor []string `json:"waitsFor,omitempty"`
}

// mostWaited bounds those that a step names.
const mostWaited = 10

// The steps, as places in a list of them.
const (
	certified = iota
	taking
	callers
	hardened
)

var stepNames = []string{"certificates", "inbounds", "callers", "strict"}

// of counts what a step has of a dataplane.
func (s *ProgressStep) of(dataplane string, done bool) {
	if s.Total++; done {
		s.Done++
		return
	}
	if n := len(s.WaitsFor); n < mostWaited && (n == 0 || s.WaitsFor[n-1] != dataplane) {
		s.WaitsFor = append(s.WaitsFor, dataplane)
	}
}

// progress collects what dataplanes tell.
type progress struct {
	steps  [4]ProgressStep
	absent int
	isOn   bool
}

// add counts a dataplane that has an identity, so that all its inbounds are to take mutual TLS.
func (p *progress) add(d *DataplaneMTLS) {
	p.isOn = true
	if !d.Connected {
		p.absent++
		return
	}
	p.steps[certified].of(d.Name, d.Certificate != nil)
	for _, i := range d.Inbounds {
		p.steps[taking].of(d.Name, i.Confirmed == effective.Permissive || i.Confirmed == effective.Strict)
		p.steps[callers].of(d.Name, i.Plain.Open == 0)
		if i.Wanted == effective.Strict {
			p.steps[hardened].of(d.Name, i.Confirmed == effective.Strict)
		}
	}
}

// told is what they told, together.
func (p *progress) told() Progress {
	out := Progress{Steps: []ProgressStep{}, Absent: p.absent}
	if !p.isOn {
		return out
	}
	for i, s := range p.steps {
		if s.Step = stepNames[i]; i != hardened || s.Total > 0 {
			out.Steps = append(out.Steps, s)
		}
	}
	return out
}

// text writes the steps, for people.
func (x *Progress) text(p *terminal.Printer) {
	for _, s := range x.Steps {
		waits := ""
		if len(s.WaitsFor) > 0 {
			waits = ", waits for " + strings.Join(s.WaitsFor, ", ")
			if s.Total-s.Done > len(s.WaitsFor) {
				waits += " and others"
			}
		}
		p.Line("  %-12s  %d of %d%s", s.Step, s.Done, s.Total, waits)
	}
	if x.Absent > 0 {
		p.Line("  %s", p.Faint(fmt.Sprintf("%s not connected", terminal.Counted(x.Absent, "dataplane is", "dataplanes are"))))
	}
}

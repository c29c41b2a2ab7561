// Package faults is what policies inject into requests on purpose, and the ways in which the draws of that may go.
package faults

import (
	"fmt"
	"slices"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/resolve/effective"
)

// Injector is a conf by which requests meet faults on purpose.
type Injector interface {
	// Faults act one after the other.
	Faults() []Fault
	// FaultsField is the path of the field whose author says so.
	FaultsField() string
}

// Fault is what happens to shares of requests, from 0 to 1. Each share is drawn by itself, and not by the draw that
// decides about backends: first who waits, then who is aborted (spec/kinds.md F8).
type Fault struct {
	Index int // in its list

	Delay   time.Duration
	Delayed float64

	Status  uint32
	Aborted float64

	Bandwidth string // in words
	Slowed    float64
}

// Faulty is what a route, or an inbound, injects, and who says so.
type Faulty struct {
	*policies.Effective
	Field  string
	Faults []Fault
}

// Of are the faults that policies inject where a protocol is spoken; none of nobody.
func Of(ps effective.Policies, spoken api.Protocol) (f Faulty) {
	for _, e := range ps {
		if x, ok := e.Conf.(Injector); ok && spoken.HTTPLike() {
			if list := x.Faults(); len(list) > 0 {
				f = Faulty{e, x.FaultsField(), list}
			}
		}
	}
	return f
}

// by names a fault and who says it.
func (f *Faulty) by(j int) string {
	text := fmt.Sprintf("by %s[%d]", f.Field, j)
	if w, ok := f.Get(f.Field); ok && f.Author(f.Field) != "" {
		text += " (" + w.Winner().Origin.Ref.String() + ")"
	}
	return text
}

// Shares are the faults in words, each with how many requests meet it.
func (f *Faulty) Shares() (out []string) {
	for i := range f.Faults {
		x := &f.Faults[i]
		for _, part := range []struct {
			share float64
			what  string
		}{{x.Delayed, "wait " + api.Duration(x.Delay).String()}, {x.Aborted, fmt.Sprintf("are aborted with %d", x.Status)}, {x.Slowed, "get their answer at " + x.Bandwidth}} {
			if part.share > 0 {
				out = append(out, fmt.Sprintf("%.4g%% %s %s", part.share*100, part.what, f.by(x.Index)))
			}
		}
	}
	return out
}

// Fate is one way in which the draws of faults may go.
type Fate struct {
	Probability float64
	Delay       time.Duration
	Status      uint32   // of the answer in the place of all else; 0 where the request goes on
	Met         []string // in words
}

// mostFates is how many of them are told apart: of faults behind that many the delays are not.
const mostFates = 64

// Spared meets no fault.
var Spared = Fate{Probability: 1}

// Fates are all ways in which the draws of f may go, those that end first in front.
func (f *Faulty) Fates() (out []Fate, unknown []string) {
	going := []Fate{Spared}
	for i := range f.Faults {
		x := &f.Faults[i]
		if x.Delayed > 0 && x.Delayed < 1 && 2*len(going)+len(out) > mostFates {
			unknown = append(unknown, fmt.Sprintf("faults: there are too many ways in which they may go; that some wait %s %s is left out", api.Duration(x.Delay), f.by(x.Index)))
		} else if x.Delayed > 0 {
			going = split(going, x.Delayed, func(a *Fate) {
				a.Delay += x.Delay
				a.Met = with(a.Met, "is delayed "+api.Duration(x.Delay).String()+" "+f.by(x.Index))
			})
		}
		if x.Aborted > 0 {
			var on []Fate
			for _, a := range split(going, x.Aborted, func(a *Fate) {
				a.Status = x.Status
				a.Met = with(a.Met, "is aborted "+f.by(x.Index))
			}) {
				if a.Status != 0 {
					out = append(out, a)
				} else {
					on = append(on, a)
				}
			}
			going = on
		}
	}
	for _, a := range going {
		for i := range f.Faults {
			if x := &f.Faults[i]; x.Slowed > 0 {
				a.Met = with(a.Met, fmt.Sprintf("the answer comes at %s, of %.4g%% %s", x.Bandwidth, x.Slowed*100, f.by(x.Index)))
			}
		}
		out = append(out, a)
	}
	return out, unknown
}

// split are fates of whom a share meets what change says, without those that never are.
func split(list []Fate, share float64, change func(*Fate)) (out []Fate) {
	for _, a := range list {
		met := a
		met.Probability *= share
		change(&met)
		a.Probability *= 1 - share
		for _, x := range []Fate{met, a} {
			if x.Probability > 0 {
				out = append(out, x)
			}
		}
	}
	return out
}

func with(list []string, text string) []string { return append(slices.Clone(list), text) }

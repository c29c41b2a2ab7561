// Package top is the live view of a control plane in a terminal: what changes, and how far
// the sidecars follow.
//
// View is a value that statuses and events are told to, and that can say what to show; Follow
// asks the control plane, and Screen shows it. What documents and Envoys say never becomes
// a command to the terminal.
package top

import (
	"slices"
	"time"

	"github.com/weftmesh/weft/inspect"
	"github.com/weftmesh/weft/inspect/conditions"
	"github.com/weftmesh/weft/inspect/web/events"
)

// How much is kept and shown.
const (
	keptRevisions = 50
	keptObjects   = 3 // named, of a revision
)

// View is what is known. Its zero value knows nothing.
type View struct {
	Server  string
	Mesh    string
	Traffic Traffic

	sync      inspect.Sync
	troubled  []string // objects that do not hold, with the reason
	objects   int
	asked     time.Time // when sync was so; zero for never
	since     map[string]time.Time
	revisions []*revision // by revision, ascending
	missed    uint64
	lost      error // why nothing is heard now
}

// revision is one that the control plane has resolved, and what became of it.
type revision struct {
	number   uint64
	at       time.Time
	by       string
	objects  []string // the first ones, each with what happened to it
	changed  int
	affected int // dataplanes; -1 where that is not known yet
	pushed   map[string]bool
	acked    map[string]bool
	refused  map[string]bool
	slowest  time.Duration // of those that have acknowledged
}

// Status is told how all fare.
func (v *View) Status(o conditions.Overview, now time.Time) {
	v.sync, v.asked, v.lost, v.objects, v.troubled = o.Sidecars, now, nil, len(o.Objects), nil
	for _, x := range o.Objects {
		for _, c := range x.Conditions {
			if c.Status == "False" && (c.Type != "Programmed" || c.Reason == "Rejected" || c.Reason == "PartiallyProgrammed") { // else nobody has it yet
				v.troubled = append(v.troubled, x.Object+": "+c.Reason+": "+c.Message)
				break
			}
		}
	}
	since := map[string]time.Time{}
	for _, name := range v.sync.Behind {
		since[name] = now
		if at, ok := v.since[name]; ok {
			since[name] = at
		}
	}
	v.since = since
}

// Lost is told that the control plane does not answer.
func (v *View) Lost(err error) { v.lost = err }

// Missed is told that so many events were dropped.
func (v *View) Missed(n uint64) { v.missed += n }

// Anew is told that the control plane was started anew. What is known of revisions may be of
// another store.
func (v *View) Anew() { v.revisions, v.missed, v.since = nil, 0, nil }

// Event is told what happened.
func (v *View) Event(e events.Event) {
	if e.Revision == 0 {
		return
	}
	switch e.Type {
	case "change":
		r := v.at(e)
		r.changed++
		if len(r.objects) < keptObjects {
			r.objects = append(r.objects, e.Object+" "+e.Action)
		}
		if r.by == "" {
			r.by = e.User
		}
	case "recompute":
		v.at(e).affected = e.Count
	case "push":
		v.at(e).pushed[e.Dataplane] = true
	case "nack":
		v.at(e).refused[e.Dataplane] = true
	case "synced":
		// A sidecar that comes later than the change has the revision too, and was not sent it
		// for the change.
		if r := v.at(e); r.pushed[e.Dataplane] && !r.acked[e.Dataplane] {
			r.acked[e.Dataplane] = true
			r.slowest = max(r.slowest, e.Time.Sub(r.at))
		}
	}
}

// at is the revision of an event.
func (v *View) at(e events.Event) *revision {
	i, ok := slices.BinarySearchFunc(v.revisions, e.Revision, func(r *revision, n uint64) int {
		switch {
		case r.number < n:
			return -1
		case r.number > n:
			return 1
		}
		return 0
	})
	if ok {
		return v.revisions[i]
	}
	r := &revision{number: e.Revision, at: e.Time, affected: -1, pushed: map[string]bool{}, acked: map[string]bool{}, refused: map[string]bool{}}
	v.revisions = slices.Insert(v.revisions, i, r)
	if len(v.revisions) > keptRevisions {
		v.revisions = slices.Delete(v.revisions, 0, 1)
	}
	return r
}

// Straggler is a sidecar that does not have what it should have.
type Straggler struct {
	Dataplane string     `json:"dataplane"`
	State     string     `json:"state"` // refusing, held, behind, awaited
	Message   string     `json:"message,omitempty"`
	Since     *time.Time `json:"since,omitempty"` // it was first seen so
}

// stragglers are those, the worst first.
func (v *View) stragglers() (out []Straggler) {
	for _, r := range v.sync.Refusing {
		out = append(out, Straggler{Dataplane: r.Dataplane, State: "refusing", Message: r.Type + ": " + r.Message})
	}
	for _, h := range v.sync.Withheld {
		out = append(out, Straggler{Dataplane: h.Dataplane, State: "held", Message: h.Message})
	}
	behind := slices.Clone(v.sync.Behind)
	slices.SortStableFunc(behind, func(a, b string) int { return v.since[a].Compare(v.since[b]) })
	why := map[string]string{}
	for _, u := range v.sync.Unconfirmed {
		why[u.Dataplane] = u.Lacks() + ": " + u.Message
	}
	for _, name := range behind {
		s := Straggler{Dataplane: name, State: "behind", Message: why[name]}
		if at, ok := v.since[name]; ok {
			s.Since = &at
		}
		out = append(out, s)
	}
	for _, name := range v.sync.Awaited {
		out = append(out, Straggler{Dataplane: name, State: "awaited", Message: "not back since the control plane was started"})
	}
	return out
}

// Change is one revision as JSON has it.
type Change struct {
	Revision uint64    `json:"revision"`
	Time     time.Time `json:"time"`
	User     string    `json:"user,omitempty"`
	Changed  int       `json:"changed"`            // documents
	Objects  []string  `json:"objects"`            // the first ones of them
	Affected *int      `json:"affected,omitempty"` // dataplanes; not there where that is not known
	Pushed   int       `json:"pushed"`             // to so many sidecars; with what was changed before and not pushed by itself
	Acked    int       `json:"acked"`
	Refused  int       `json:"refused"`
	Slowest  float64   `json:"slowestSeconds,omitempty"`
}

// Summary is all of it for programs.
type Summary struct {
	Mesh       string      `json:"mesh"`
	Revision   uint64      `json:"revision"`
	Total      int         `json:"total"`
	InSync     int         `json:"inSync"`
	Behind     int         `json:"behind"`
	Refusing   int         `json:"refusing"`
	Absent     int         `json:"absent"`
	Stragglers []Straggler `json:"stragglers"`
	Changes    []Change    `json:"changes"` // the newest first
	Missed     uint64      `json:"missed,omitempty"`
}

// Summary is what is known now.
func (v *View) Summary() Summary {
	s := v.sync
	out := Summary{Mesh: v.Mesh, Revision: s.Revision, Total: s.Total, InSync: s.InSync, Behind: len(s.Behind), Refusing: len(s.Refusing), Absent: s.Absent,
		Stragglers: append([]Straggler{}, v.stragglers()...), Changes: []Change{}, Missed: v.missed}
	for _, r := range slices.Backward(v.revisions) {
		c := Change{Revision: r.number, Time: r.at, User: r.by, Changed: r.changed, Objects: append([]string{}, r.objects...),
			Pushed: len(r.pushed), Acked: len(r.acked), Refused: len(r.refused), Slowest: r.slowest.Seconds()}
		if r.affected >= 0 {
			c.Affected = &r.affected
		}
		out.Changes = append(out.Changes, c)
	}
	return out
}

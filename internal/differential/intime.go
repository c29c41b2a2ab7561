package differential

import (
	"fmt"
	"net/http"
	"slices"

	"github.com/weftmesh/weft/sim"
	"github.com/weftmesh/weft/sim/timeline"
)

// endsAt are the ways to end at who was called. They are nil where the verdict
// names none, for who is called differ and chance mixed them.
func endsAt(b *sim.Branch, x *sim.Backend, o *Observed) []timeline.EndOfAll {
	if b.Ends != nil {
		return b.Ends
	}
	for _, in := range x.Inbounds {
		all := true
		for _, c := range o.Attempts {
			all = all && slices.Contains(in.Names, c.Workload)
		}
		if all {
			return in.Ends
		}
	}
	return nil
}

// inTime compares how often the request was tried and how it ended. Arrived is how
// many attempts the workloads saw.
func inTime(p Pair, ends []timeline.EndOfAll, o *Observed, arrived int) string {
	if ends == nil {
		return ""
	}
	for _, e := range ends {
		told := e.Attempts == o.Tries || e.By == timeline.ByStreamIdleTimeout && o.Tries == 0 // which the listener ends, and not the route
		if told && e.Attempts == arrived && endsSo(p, e, o) {
			return ""
		}
	}
	return fmt.Sprintf("in time: sim %+v, Envoy %s", ends, o.text())
}

// endsSo reports whether o ended as e says.
func endsSo(p Pair, e timeline.EndOfAll, o *Observed) bool {
	switch {
	case e.By == timeline.ByAnswer:
		return int(e.Status) == o.Status && !o.Cut
	case o.Cut: // it had begun
		return int(e.Status) == o.Status
	case isGRPC(p):
		return o.Status == http.StatusOK && o.grpcStatus() == grpcStatuses[e.Status]
	}
	return int(e.Status) == o.Status
}

func sameWorkloads(a, b sim.Inbound) bool { return slices.Equal(a.Names, b.Names) }

// refused holds it against a backend whose workloads are not there: the verdict
// on that is another one.
func (w *World) refused(p Pair, x *sim.Backend, o *Observed) string {
	p.Request.Answers = "refused"
	v, err := sim.Run(w, w.Resolved.Ref, p.Request)
	if err != nil {
		return err.Error()
	}
	if len(o.Attempts) > 0 {
		return "nobody is there, and yet " + o.text()
	}
	if announced(&v) {
		return "" // who is called differ
	}
	for i := range v.Branches { // one for each way in which those who are called know the caller
		b := &v.Branches[i]
		for k := range b.Backends {
			if y := &b.Backends[k]; y.Name == x.Name && y.Share == x.Share && slices.EqualFunc(y.Inbounds, x.Inbounds, sameWorkloads) {
				return inTime(p, endsAt(b, y, o), o, o.Tries)
			}
		}
	}
	return "sim knows no such backend where nobody is there: " + x.Name
}

package sim

import (
	"net/http"
	"strings"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/sim/faults"
	"github.com/weftmesh/weft/sim/permission"
	"github.com/weftmesh/weft/sim/timeline"
	"github.com/weftmesh/weft/sim/wire"
)

// Inbound is what the called side does with the requests of a backend: one for
// each set of dataplanes that treat them alike. What it answers is the answer of
// one attempt; what becomes of that is the caller's decision.
type Inbound struct {
	Dataplanes int               `json:"dataplanes"`
	Names      []string          `json:"names"` // of the first of them
	Share      float64           `json:"share"` // of the backend's requests
	Protocol   api.Protocol      `json:"protocol"`
	Policies   map[string]Policy `json:"policies,omitempty"`
	Outcome    Outcome           `json:"outcome"`
	// Status is what it answers, or what the caller's sidecar makes of a Reset.
	Status uint32 `json:"status,omitempty"`
	// Attempts and Ends are set where the dataplanes that may be called differ.
	Attempts []timeline.Attempt  `json:"attempts,omitempty"`
	Ends     []timeline.EndOfAll `json:"ends,omitempty"`

	// Permission is what it decides about who calls.
	Permission *permission.Permission `json:"permission,omitempty"`
	// Reason is why it answers before anybody asks who calls, or although the caller is let in.
	Reason string `json:"reason,omitempty"`
	// Faults are those that it injects into requests of the caller, in words; each attempt is drawn anew.
	Faults []string `json:"faults,omitempty"`

	inbound *effective.Inbound
	names   []string                  // that the caller proves to it
	holds   effective.Policies        // of that caller
	fate    faults.Fate               // of all its requests, by faults
	drawn   bool                      // that is chance, and fate meets none
	unread  *timeline.BackendResponse // what the caller sees where it does not take the request at all
	// grpc and webSocket are what the request is when it comes to it: filters may change that.
	grpc, webSocket bool
}

// authorize decides about read, a request as the inbound's proxy has it, or about a connection,
// nil; status is that of an answer without a decision, 0 for none. Where nobody proves who
// it is, nobody is judged.
func (in *Inbound) authorize(read *wire.Forwarded) (status uint32) {
	if in.inbound.TLS == nil {
		return 0
	}
	v := &permission.Visit{Names: in.names}
	if read != nil {
		v.Request = read.MatchRequest()
	}
	in.Permission, status = permission.Decide(in.inbound, v)
	return status
}

// denied reports whether the caller is kept out.
func (in *Inbound) denied() bool {
	return in.Permission != nil && in.Permission.Decision == permission.Deny
}

// keepOut is what the sidecar does to a caller that is kept out: a request it answers, and
// the connection of who has no TLS in common with it, or carries no requests, it closes. Where
// the sidecar of the caller reads requests, the caller is answered by that.
func (in *Inbound) keepOut(requests bool) {
	if len(in.names) == 0 && !in.inbound.TLS.TakesPlain() || !in.reads() {
		in.Outcome, in.Status = Refused, 0
		in.unread = &timeline.BackendResponse{Reset: true}
		if requests {
			in.Status = http.StatusServiceUnavailable
		}
		return
	}
	in.unread = &timeline.BackendResponse{Status: http.StatusForbidden}
	in.ends(*in.unread)
}

// spelled is a request as an inbound hands it on that takes several slashes for one.
func (in *Inbound) spelled(f *wire.Forwarded) *wire.Forwarded {
	if in.inbound.TLS == nil || !permission.SpelledOnce(in.inbound) {
		return f
	}
	path, query, asks := strings.Cut(f.Path, "?")
	out := f.Clone()
	if out.Path = permission.MergeSlashes(path); asks {
		out.Path += "?" + query
	}
	return out
}

// decision is equal for inbounds that decide alike about a request.
func (in *Inbound) decision() string { return in.Permission.Key() + in.Reason }

// through is what the caller sees of what the workload does: the inbound has
// bounds of its own, and answers where the workload does not.
func (in *Inbound) through(a timeline.BackendResponse) (seen timeline.BackendResponse, own bool) {
	return in.waits(in.within(a))
}

// within is the same but for faults by which the request waits before.
func (in *Inbound) within(a timeline.BackendResponse) (seen timeline.BackendResponse, own bool) {
	if in.unread != nil { // it does not get to the workload
		return *in.unread, true
	}
	if !in.inbound.Protocol.HTTPLike() {
		if a.Refuse { // the connection was accepted, and ends
			return timeline.BackendResponse{Reset: true}, true
		}
		return a, false
	}
	bounds := timeline.TimeoutsOf(in.holds)
	limit := bounds.Limit()
	switch {
	case a.Refuse:
		return in.answer(http.StatusServiceUnavailable, 0).NotSent(), true
	case a.Delay >= limit:
		return in.answer(http.StatusGatewayTimeout, limit), true
	case a.Reset:
		return in.answer(http.StatusServiceUnavailable, a.Delay), true
	}
	return a.CutBy(bounds), false
}

// responds notes that the sidecar itself answers every request with a status, those of gRPC in
// their way.
func (in *Inbound) responds(status uint32) {
	a := in.answer(status, 0)
	in.unread, in.Outcome, in.Status = &a, Respond, status
}

// ends notes that a by the sidecar itself ends the request.
func (in *Inbound) ends(a timeline.BackendResponse) {
	in.Outcome, in.Status = Respond, a.Status
	if a.Reset {
		in.Outcome, in.Status = Reset, http.StatusServiceUnavailable
	}
}

// answer is what the sidecar of in answers by itself, as the caller's sees it.
func (in *Inbound) answer(status uint32, after time.Duration) timeline.BackendResponse {
	if in.grpc {
		s := wire.GRPCStatus(status)
		a := timeline.BackendResponse{Status: http.StatusOK, GRPCStatus: &s, Delay: after}
		if in.webSocket { // which 200 is the word for, between Envoys, that it is open
			a.Status = http.StatusSwitchingProtocols
			a = a.CutOff()
		}
		return a
	}
	return timeline.BackendResponse{Status: status, Delay: after}
}

// stops reports whether the sidecar of in answers read because of who asks.
func (in *Inbound) stops(read *wire.Forwarded) bool {
	if status := in.authorize(read); status != 0 {
		in.responds(status)
		in.Reason = permission.RefusedSpelling
		return true
	}
	if in.denied() {
		in.keepOut(true)
		return true
	}
	return false
}

// reads reports whether the sidecar of in tells requests apart.
func (in Inbound) reads() bool { return in.Protocol.HTTPLike() }

// carried judges a connection, or the request that it carries where the called side reads it.
func (in *Inbound) carried(f *wire.Forwarded) {
	if f == nil || !in.reads() {
		in.authorize(nil)
		return
	}
	in.authorize(f)
}

package differential

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/weftmesh/weft/internal/envoytest"
	"github.com/weftmesh/weft/sim"
)

// toBytes reports whether p goes to the service that takes connections: the caller's sidecar
// does not read it, that of the called one may.
func toBytes(p Pair) bool { return strings.HasPrefix(p.Request.URL, "http://"+bytesName+":") }

// connected holds what becomes of a connection, and the request in it, against what the verdict
// says of those who are called: one of its branches has to explain it.
func (f *fleet) connected(w *World, p Pair, g *Grid) (said string, late bool) {
	v, err := sim.Run(w, w.Resolved.Ref, p.Request)
	if err != nil {
		return "sim: " + err.Error(), false
	}
	g.judged(&v)
	id := fmt.Sprintf("%08d", asked.Add(1))
	reply, err := envoytest.Send(w.address(p), asWire(p, id))
	if err != nil {
		return "ask: " + err.Error(), false
	}
	o := f.observe(reply, id)
	var want []string
	for _, b := range v.Branches {
		for _, in := range b.Backends[0].Inbounds {
			if endsAs(in, o) {
				return "", false
			}
			want = append(want, fmt.Sprintf("%s %d at %v by %s", in.Outcome, in.Status, in.Names, in.Protocol))
		}
	}
	return fmt.Sprintf("connection: sim %s, Envoy %s", strings.Join(want, ", "), o.text()), false
}

// endsAs reports whether a connection to an inbound ended as its verdict says.
func endsAs(in sim.Inbound, o *Observed) bool {
	switch in.Outcome {
	case sim.Forward:
		return o.Status == http.StatusOK && len(o.Attempts) == 1 && slices.Contains(in.Names, o.Attempts[0].Workload)
	case sim.Refused:
		return o.Status == 0 && len(o.Attempts) == 0 && in.Status == 0
	}
	return o.Status == int(in.Status) && len(o.Attempts) == 0
}

// asRefused is o with the status of a connection that was closed, where it was closed by who takes
// TLS alone and the caller spoke plain text: what TLS says to that may arrive before the end of the
// connection, and is no HTTP.
func (o *Observed) asRefused(v *sim.Verdict) *Observed {
	if o.Status != http.StatusBadGateway || len(o.Attempts) > 0 {
		return o
	}
	for _, b := range v.Branches {
		for _, x := range b.Backends {
			if slices.ContainsFunc(x.Inbounds, func(in sim.Inbound) bool { return in.Outcome == sim.Refused }) {
				reply := *o.Reply
				reply.Status = http.StatusServiceUnavailable
				out := *o
				out.Reply = &reply
				return &out
			}
		}
	}
	return o
}

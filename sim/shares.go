package sim

import (
	"iter"
	"math"

	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/resolve/services"
	"github.com/weftmesh/weft/route/match"
	"github.com/weftmesh/weft/sim/wire"
)

// Shares are the exact parts of the traffic that backends get. One that gets
// nothing is left out. Without r nobody looks whether they have endpoints.
func Shares(r *effective.Resolved, backends []effective.Backend) []Backend {
	return shares(r, backends, wire.AnyDraw)
}

// shares are those of the requests with draws.
func shares(r *effective.Resolved, backends []effective.Backend, d wire.Draws) []Backend {
	var out []Backend
	for b, share := range divided(backends, d) {
		x := Backend{Kind: b.Kind, Name: b.Name, Namespace: b.Namespace, Tags: b.Tags, Port: b.Port, Share: share, Balance: b.Balance.String(), HTTP2: b.HTTP2}
		switch {
		case b.Cluster == "":
			x.Status, x.Reason = b.Broken.Status, b.Broken.Why
		case r != nil && !answers(r, b.Cluster):
			x.Status, x.Reason = 503, "it has no endpoints"
			if use := r.ClusterNamed(b.Cluster); use.Endpoints != nil {
				x.Reason += services.LeftText(use.Left)
			}
		}
		out = append(out, x)
	}
	return out
}

// answers reports whether a cluster of r has endpoints.
func answers(r *effective.Resolved, cluster string) bool {
	use := r.ClusterNamed(cluster)
	return use.Endpoints != nil && len(use.List) > 0
}

// divided yields the backends to which something falls, with their parts of the
// requests with draws.
func divided(backends []effective.Backend, d wire.Draws) iter.Seq2[*effective.Backend, float64] {
	return func(yield func(*effective.Backend, float64) bool) {
		low, total := uint64(0), uint64(0)
		for _, b := range effective.Sharing(backends) {
			total += uint64(b.Weight)
		}
		for _, b := range effective.Sharing(backends) {
			high := low + uint64(b.Weight)
			if !yield(b, d.Share(low, high, total)) {
				return
			}
			low = high
		}
	}
}

// sent is the part of the requests with draws that falls to a backend that is there.
func sent(backends []effective.Backend, d wire.Draws) float64 {
	part := 0.0
	for b, share := range divided(backends, d) {
		if b.Cluster != "" {
			part += share
		}
	}
	return part
}

// Mirrors are the copies that rt sends; one to nowhere is left out. What falls
// to a backend that is not there is answered before it is copied.
func Mirrors(rt *effective.Route) []Mirror { return mirrors(rt, wire.AnyDraw) }

// mirrors are those of the requests with draws.
func mirrors(rt *effective.Route, d wire.Draws) []Mirror {
	var out []Mirror
	for _, m := range rt.Mirrors {
		copied := d.Below(int64(math.Round(min(m.Percent, 100) / 100 * match.Chances)))
		if m.Cluster == "" || copied.Count() == 0 {
			continue
		}
		if part := sent(rt.Backends, copied); part > 0 {
			out = append(out, Mirror{Kind: m.Kind, Name: m.Name, Namespace: m.Namespace, Tags: m.Tags, Port: m.Port,
				Share: float64(copied.Count()) / float64(d.Count()) * part})
		}
	}
	return out
}

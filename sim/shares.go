package sim

import (
	"math"

	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/route"
)

// Shares are the exact parts of the traffic that backends get. One that gets
// nothing is left out.
func Shares(r *resolve.Resolved, backends []resolve.Backend) []Backend {
	return shares(r, backends, anyDraw)
}

// shares are those of the requests with draws.
func shares(r *resolve.Resolved, backends []resolve.Backend, d draws) []Backend {
	low, total := uint64(0), weights(backends)
	var out []Backend
	for _, b := range resolve.Sharing(backends) {
		high := low + uint64(b.Weight)
		x := Backend{Kind: b.Kind, Name: b.Name, Namespace: b.Namespace, Tags: b.Tags, Port: b.Port, Share: d.share(low, high, total)}
		low = high
		switch use := clusterOf(r, b.Cluster); {
		case b.Cluster == "":
			x.Status, x.Reason = b.Broken.Status, b.Broken.Why
		case use.Endpoints == nil || len(use.List) == 0:
			x.Status, x.Reason = 503, "it has no endpoints"
		}
		out = append(out, x)
	}
	return out
}

// weights is the sum of those that count.
func weights(backends []resolve.Backend) uint64 {
	total := uint64(0)
	for _, b := range resolve.Sharing(backends) {
		total += uint64(b.Weight)
	}
	return total
}

// sent is the part of the requests with draws that falls to a backend that is there.
func sent(backends []resolve.Backend, d draws) float64 {
	low, total, part := uint64(0), weights(backends), 0.0
	for _, b := range resolve.Sharing(backends) {
		high := low + uint64(b.Weight)
		if b.Cluster != "" {
			part += d.share(low, high, total)
		}
		low = high
	}
	return part
}

// Mirrors are the copies that rt sends; one to nowhere is left out. What falls
// to a backend that is not there is answered before it is copied.
func Mirrors(rt *resolve.Route) []Mirror { return mirrors(rt, anyDraw) }

// mirrors are those of the requests with draws.
func mirrors(rt *resolve.Route, d draws) []Mirror {
	var out []Mirror
	for _, m := range rt.Mirrors {
		copied := d.below(int64(math.Round(min(m.Percent, 100) / 100 * route.Chances)))
		if m.Cluster == "" || copied.count() == 0 {
			continue
		}
		if part := sent(rt.Backends, copied); part > 0 {
			out = append(out, Mirror{Kind: m.Kind, Name: m.Name, Namespace: m.Namespace, Tags: m.Tags, Port: m.Port,
				Share: float64(copied.count()) / float64(d.count()) * part})
		}
	}
	return out
}

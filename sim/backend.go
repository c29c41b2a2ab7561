package sim

import (
	"iter"
	"math"
	"net/http"
	"slices"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/resolve/services"
	"github.com/weftmesh/weft/route"
	"github.com/weftmesh/weft/route/match"
	"github.com/weftmesh/weft/sim/balance"
	"github.com/weftmesh/weft/sim/timeline"
	"github.com/weftmesh/weft/sim/wire"
)

// forms are what sent becomes at the workloads of x, each once: none of those whose sidecars
// do not take it, but answer.
func (x *Backend) forms(sent *wire.Forwarded, answer uint32) []*wire.Forwarded {
	var out []*wire.Forwarded
	add := func(f *wire.Forwarded) {
		if !slices.ContainsFunc(out, f.Same) {
			out = append(out, f)
		}
	}
	if len(x.Inbounds) == 0 {
		add(sent.Over(x.http2))
	}
	read, normal := sent.Reread(x.http2)
	for k := range x.Inbounds {
		in := &x.Inbounds[k]
		in.grpc, in.webSocket = read.Headers.GRPC(), wire.UpgradeOf(sent.Headers) == wire.WebSocket
		switch {
		case !in.reads():
			if in.authorize(nil); in.denied() {
				in.keepOut(true)
				continue
			}
			add(sent.Over(x.http2))
		case answer != 0:
			in.unread = &timeline.BackendResponse{Status: answer, Reset: x.http2}
			in.ends(*in.unread)
		case !normal:
			in.unread = &timeline.BackendResponse{Status: http.StatusBadRequest}
			in.ends(*in.unread)
		case in.stops(read), in.aborts():
		default:
			add(in.spelled(read).Over(in.Protocol == api.HTTP2 || in.Protocol == api.GRPC))
		}
	}
	return out
}

// called reports whether somebody may answer what is sent to a backend, and not the proxy alone.
func (x *Backend) called() bool { return x.Status == 0 || len(x.Inbounds) > 0 }

// doubtAnswer notes where an answer in the place of a backend's may be filled with what
// came, and not with what would go on: changes are those that the verdict shows.
func doubtAnswer(c *wire.NormalizedRequest, x *Backend, filters []route.Filter, changes *wire.ResponseHeaders) {
	if x.Status != 0 && !changes.Same(wire.ResponseChanges(filters, c.Filling(nil))) {
		c.Doubt("headers: the answer in the place of " + x.Name + " may be filled with what came, and not with what would go on")
	}
}

// filtered applies the filters of single backends to what a backend sees, after
// those of the route, and to its answers. One outside the mesh that has its own
// host name by now keeps it; all others were sent to authority, or to what a header
// names where the rewrite takes the host from one, and without that to its own host
// name, or where it has none to that which c asks for.
func filtered(rt *effective.Route, b *Branch, rewrite *route.Rewrite, authority string, c *wire.NormalizedRequest, spoken api.Protocol) {
	for n, x := range effective.Sharing(rt.Backends) {
		if len(x.Filters) == 0 {
			continue
		}
		f := b.sentTo(n).Clone()
		of := c.Filling(slices.Concat(rt.Filters, x.Filters))
		if fills, _ := route.Fills(rt.Filters); fills { // Envoy makes both changes at once
			again := c.Forward(rt, rewrite, x.Filters...)
			again.OnWire, again.Authority = c.SendOnWire(rt, rewrite, timeline.FirstAttemptBound(rt, spoken), x.Filters...), f.Authority
			f = again
		}
		f.ChangeBy(x.Filters, of)
		f.OnWire.ChangeBy(x.Filters, of)
		host := c.Authority
		if w := route.LastRewrite(x.Filters); w != nil && w.Hostname != "" && f.Authority == authority {
			host, f.Authority = w.Hostname, w.Hostname
			delete(f.Headers, "x-envoy-original-host")
		}
		f.TakeHost(rewrite, host)
		b.send(n, f)
	}
	answered(rt, b, c)
}

// answered applies them to the answers: before the filters of the route. Where these fill
// headers with what went on, a backend's answers are its own too.
func answered(rt *effective.Route, b *Branch, c *wire.NormalizedRequest) {
	_, fills := route.Fills(rt.Filters)
	for n, x := range effective.Sharing(rt.Backends) {
		if len(x.Filters) == 0 && !fills {
			continue
		}
		of := c.Filling(nil)
		if f := b.sentTo(n); f != nil {
			of = f.Filling(c)
		}
		filters := slices.Concat(x.Filters, rt.Changes())
		response := wire.ResponseChanges(filters, of)
		doubtAnswer(c, &b.Backends[n], filters, response)
		if response == nil { // and not what holds for all
			response = &wire.ResponseHeaders{Set: wire.Headers{}, Add: wire.Headers{}}
		}
		if len(b.Backends) == 1 {
			b.ResponseHeaders = response
		} else {
			b.Backends[n].ResponseHeaders = response
		}
	}
}

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
		if use := clusterOf(r, b.Cluster); use != nil {
			x.Balance = balance.Text(r, use, x.Balance)
		}
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

// clusterOf is a cluster of r by its name; nil where r is not known, or has none.
func clusterOf(r *effective.Resolved, name string) *effective.ClusterUse {
	if r == nil || name == "" {
		return nil
	}
	if use := r.ClusterNamed(name); use.Cluster != nil {
		return &use
	}
	return nil
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

// autoHost gives a backend outside the mesh its own host name as authority.
func autoHost(r *effective.Resolved, rt *effective.Route, rewrite *route.Rewrite, b *Branch) {
	if rewrite != nil && (rewrite.Hostname != "" || rewrite.HostHeader != "") {
		return
	}
	for n, x := range effective.Sharing(rt.Backends) {
		use := r.ClusterNamed(x.Cluster)
		if use.Cluster == nil || use.Destination == nil || use.Destination.External == nil || len(use.List) == 0 {
			continue
		}
		if use.Destination.Kind == api.KindAddress && (rewrite == nil || !rewrite.BackendsHost) {
			continue // only what is in the mesh as a service has its own host unasked
		}
		host := use.Destination.HostOf(use.List[0].Address, use.List[0].Port)
		if host == "" {
			continue
		}
		if use.Destination.Kind == api.KindAddress && len(use.List) > 1 {
			b.unknown = append(b.unknown, "host: the one shown is that of the first address of "+use.Destination.Name+"; each is called by its own")
		}
		f := b.Forwarded.Clone()
		f.Authority = host
		delete(f.Headers, "x-envoy-original-host")
		b.send(n, f)
	}
}

// Backend is one share of what is forwarded. Where it cannot be used, its share of
// requests is answered with Status, 500 unresolved, 503 no endpoints; of whole
// connections Outcome says that they are closed.
type Backend struct {
	Kind      string            `json:"kind"`
	Name      string            `json:"name"`
	Namespace string            `json:"namespace,omitempty"`
	Tags      map[string]string `json:"tags,omitempty"`
	Port      uint32            `json:"port,omitempty"`
	Share     float64           `json:"share"`
	Status    uint32            `json:"status,omitempty"`
	Outcome   Outcome           `json:"outcome,omitempty"` // Close, or nothing to tell
	Reason    string            `json:"reason,omitempty"`  // of Status or Outcome
	// Balance is how its endpoints share the requests; empty for round robin.
	Balance string `json:"balance,omitempty"`
	// HTTP2 says that a rule wants it to be asked in HTTP/2, whatever its port says.
	HTTP2     bool            `json:"http2,omitempty"`
	Forwarded *wire.Forwarded `json:"forwarded,omitempty"`
	Inbounds  []Inbound       `json:"inbounds,omitempty"`
	// Policies are what is said about the connections to it, where backends of the route have
	// what the route does not say: each its own, be it nothing. Else they are nil.
	Policies map[string]Policy `json:"policies,omitzero"`
	// ResponseHeaders are what happens to its answers where that is not what
	// happens to all answers of the route.
	ResponseHeaders *wire.ResponseHeaders `json:"responseHeaders,omitempty"`

	http2 bool // by which it is called
}

// Mirror is a copy of a share of the requests.
type Mirror struct {
	Kind      string            `json:"kind,omitempty"`
	Name      string            `json:"name"`
	Namespace string            `json:"namespace,omitempty"`
	Tags      map[string]string `json:"tags,omitempty"`
	Port      uint32            `json:"port,omitempty"`
	Share     float64           `json:"share"` // of the requests that take the route
}

// Connections are the exact parts of the connections that backends get.
func Connections(r *effective.Resolved, t *effective.TCPTable) []Backend {
	return closing(Shares(r, t.Backends))
}

// closing says what becomes of the shares of a table of connections that nobody
// can take: there is no status to answer with.
func closing(list []Backend) []Backend {
	for i := range list {
		if x := &list[i]; x.Reason != "" {
			x.Status, x.Outcome = 0, Close
		}
	}
	return list
}

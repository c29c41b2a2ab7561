package differential

import (
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"time"

	"github.com/weftmesh/weft/internal/golden"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/route"
	"github.com/weftmesh/weft/sim"
	"github.com/weftmesh/weft/sim/buckets"
	"github.com/weftmesh/weft/sim/wire"
)

// limitedRequest is a request of a story that a limit counts, on the caller's side or on the
// side that is called, and a bucket of its own for it.
type limitedRequest struct {
	*scene
	golden.Asked
	bucket buckets.Bucket
	called bool // it is that of who is called
}

// limitedRequests are, of each dataplane of a story that asks, the first request to each
// route that has a limit, and the first to each dataplane that has one and is the only one
// called; each in a scene of its own: what is left in a bucket depends on who asked before.
func (s *story) limitedRequests() []*limitedRequest {
	var out []*limitedRequest
	seen := map[string]bool{}
	for _, q := range s.asked {
		w := s.from(q.From)
		if w == nil {
			continue
		}
		v, err := sim.Run(s.Model, w.Resolved.Ref, q.Request)
		if err != nil || v.Destination == nil {
			continue
		}
		rt := w.route(&v)
		if rt == nil {
			continue
		}
		b, ok := w.bucketOf(rt, q.Request)
		key, called := v.Destination.Name+" "+rt.Name, !ok
		if called {
			b, key, ok = calledBucket(&v)
			q.Answers = "" // at once, so that each request is one attempt
		}
		if key += " from " + q.From; ok && !seen[key] {
			seen[key] = true
			out = append(out, &limitedRequest{&scene{story: s, limited: true}, q, b, called})
		}
	}
	return out
}

// bucketOf is the bucket of the caller's from which a request takes that comes to a route:
// that of all requests, or that of those with the same headers, of which an edge dataplane
// adds the address of who is connected.
func (w *World) bucketOf(rt *effective.Route, q wire.Request) (buckets.Bucket, bool) {
	if l, ok := limitOf(rt.Policies); ok {
		return l.Bucket, true
	}
	missing := func(name string) bool {
		return q.Headers[name] == "" && (name != "x-forwarded-for" || len(w.Resolved.Edges) == 0)
	}
	if l := route.ClientLimitOf(rt.Filters); l != nil && !slices.ContainsFunc(l.Headers, missing) {
		return buckets.Bucket{Tokens: l.Requests, Interval: time.Duration(l.Interval), Status: http.StatusTooManyRequests}, true
	}
	return buckets.Bucket{}, false
}

// calledBucket is the bucket of the one dataplane that is called for a request, by its name.
func calledBucket(v *sim.Verdict) (b buckets.Bucket, name string, ok bool) {
	if x := &v.Branches[0]; len(v.Branches) != 1 || len(x.Backends) != 1 || len(x.Backends[0].Inbounds) != 1 || x.Backends[0].Inbounds[0].Dataplanes != 1 {
		return b, "", false
	}
	in := &v.Branches[0].Backends[0].Inbounds[0]
	for _, p := range in.Policies {
		if l, limits := p.Conf.(buckets.Limiter); limits {
			b, ok = l.Bucket()
		}
	}
	return b, "inbound of " + in.Names[0], ok
}

// dry sends a request until it is refused: not before the bucket is empty, nor later than
// it is by what has come back meanwhile, and with the answer that the limit says.
func (f *storyFleet) dry(q *limitedRequest) string {
	w := q.from(q.From)
	p := q.pair(q.Asked)
	v, err := sim.Run(q.Model, w.Resolved.Ref, p.Request)
	at, listens := f.comesTo(q.scene, w, p, &v)
	if err != nil || !listens {
		return fmt.Sprintf("nobody listens: %v", err)
	}
	var times []time.Duration // as if the first had come at once: the latest that tokens come back
	full := int(q.bucket.Tokens + q.bucket.Burst)
	for began := time.Now(); time.Since(began) < patience; {
		refused, said := f.asksLimit(q, p, at)
		if said != "" {
			return said
		}
		if refused {
			if len(times) < full {
				return fmt.Sprintf("refused after %d requests, the bucket has %d", len(times), full)
			}
			return ""
		}
		if len(times) < full {
			times = append(times, 0)
			continue
		}
		times = append(times, time.Since(began))
		if given := q.bucket.Admit(times); !given[len(given)-1] {
			return fmt.Sprintf("request %d is let pass at %v, when the bucket was empty", len(times), times[len(times)-1])
		}
	}
	return fmt.Sprintf("%d requests were let pass, and none was refused", len(times))
}

// patience is how long a bucket may take to run dry.
const patience = 30 * time.Second

// asksLimit reports whether one request is refused by a limit; said is what is wrong with
// that.
func (f *storyFleet) asksLimit(q *limitedRequest, p Pair, at netip.AddrPort) (refused bool, said string) {
	o, err := f.send(at, p, fmt.Sprintf("%08d", asked.Add(1)))
	switch {
	case err != nil:
		return false, "ask: " + err.Error()
	case o.Status != int(q.bucket.Status) || len(o.Attempts) > 0:
		return false, ""
	}
	for _, h := range slices.Concat(q.bucket.Set, q.bucket.Add) {
		if !slices.Contains(o.Headers.Values(h.Name), h.Value) {
			return true, fmt.Sprintf("refused without %s: %s, but %v", h.Name, h.Value, o.Headers)
		}
	}
	return true, ""
}

// limitOf is what limits requests among policies.
func limitOf(list effective.Policies) (l buckets.Limited, ok bool) {
	for _, e := range list {
		if l, ok := buckets.LimitedBy(e); ok {
			return l, true
		}
	}
	return l, false
}

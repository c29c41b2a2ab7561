package sim

import (
	"net/http"
	"slices"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/route"
	"github.com/weftmesh/weft/sim/buckets"
	"github.com/weftmesh/weft/sim/wire"
)

// BucketCounts are how many buckets each limit has in one table.
type BucketCounts map[bucketOwner]int

type bucketOwner struct{ kind, item string }

// CountBuckets counts those of t.
func CountBuckets(t *effective.Table) BucketCounts {
	limits := map[string][]buckets.Limited{}
	for _, rt := range t.Routes {
		for _, e := range rt.Policies {
			if l, ok := buckets.LimitedBy(e); ok {
				limits[e.Kind.Name] = append(limits[e.Kind.Name], l)
			}
		}
	}
	out := BucketCounts{}
	for kind, list := range limits {
		together := map[string]bool{}
		for i, shared := range buckets.Shared(list) {
			item := list[i].Item
			if shared && together[item] {
				continue
			}
			together[item] = together[item] || shared
			out[bucketOwner{kind, item}]++
		}
	}
	return out
}

// Tell writes into views, the policies of rt, how many buckets a limit has that has
// more than one.
func (c BucketCounts) Tell(rt *effective.Route, views map[string]Policy) {
	for _, e := range rt.Policies {
		l, ok := buckets.LimitedBy(e)
		p, shown := views[e.Kind.Name]
		if n := c[bucketOwner{e.Kind.Name, l.Item}]; ok && shown && l.Item != "" && n > 1 {
			p.Buckets = n
			views[e.Kind.Name] = p
		}
	}
}

// ClientLimit is a limit that counts for each client by itself, who is told by Headers.
type ClientLimit struct {
	Requests uint32       `json:"requests"`
	Interval api.Duration `json:"interval"`
	Headers  []string     `json:"headers"`
	// Client is the values that the request is counted by; none where it lacks one of them,
	// and then it is not limited.
	Client wire.Headers `json:"client,omitempty"`
	// Status is what a request gets whose client has used up its share.
	Status uint32 `json:"status"`
	// Buckets is how many buckets a client has for the rule, where it is more than one:
	// each Envoy route has its own.
	Buckets int `json:"buckets,omitempty"`
}

// clientLimit is that of rt, a route of t, for the request; nil where there is none.
func clientLimit(c *wire.NormalizedRequest, t *effective.Table, rt *effective.Route) *ClientLimit {
	l := route.ClientLimitOf(rt.Filters)
	if l == nil || refuses(c, rt) {
		return nil
	}
	out := &ClientLimit{Requests: l.Requests, Interval: l.Interval, Headers: l.Headers, Status: http.StatusTooManyRequests, Client: wire.Headers{}}
	for _, name := range l.Headers {
		v, sent := c.Headers[name]
		if name == "x-forwarded-for" && c.Outside {
			v, sent = wire.Joined(append(c.Headers.Values(name), "…")...), true
		}
		if !sent {
			out.Client = nil
			break
		}
		out.Client[name] = strings.ReplaceAll(v, wire.Separator, ",")
	}
	for _, other := range t.Routes {
		if rt.FiltersBy.Same(other.FiltersBy) && sameLimit(l, route.ClientLimitOf(other.Filters)) {
			out.Buckets++
		}
	}
	if out.Buckets == 1 {
		out.Buckets = 0
	}
	return out
}

func sameLimit(a, b *route.ClientLimit) bool {
	return b != nil && a.Requests == b.Requests && a.Interval == b.Interval && slices.Equal(a.Headers, b.Headers)
}

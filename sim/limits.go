package sim

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/route"
	"github.com/weftmesh/weft/sim/wire"
)

// Limited is a route of one virtual host and what limits it.
type Limited struct {
	Item   string // who wrote the rate; empty where nothing is limited
	Bucket Bucket
}

// LimitedBy is what e does to a route; ok is false where it limits nothing.
func LimitedBy(e *policies.Effective) (l Limited, ok bool) {
	c, ok := e.Conf.(Limiter)
	if !ok {
		return l, false
	}
	l.Bucket, ok = c.Bucket()
	if ok {
		l.Item = e.Author(c.RateField())
	}
	return l, ok
}

// SharedBuckets reports for each route of one virtual host whether it takes its
// tokens from the bucket that the routes of its item share; else it has one of its
// own. Envoy gives all shared buckets of a virtual host one answer, so those share
// that have the commonest answer, the first one of several.
func SharedBuckets(routes []Limited) []bool {
	type sharing struct {
		item   string
		answer string
	}
	together := map[sharing]int{}
	for _, r := range routes {
		if r.Item != "" {
			together[sharing{r.Item, r.Bucket.answer()}]++
		}
	}
	gain := map[string]int{}
	common := ""
	for _, r := range routes {
		answer := r.Bucket.answer()
		if together[sharing{r.Item, answer}] < 2 {
			continue
		}
		gain[answer]++
	}
	for _, r := range routes {
		if answer := r.Bucket.answer(); gain[answer] > gain[common] {
			common = answer
		}
	}
	out := make([]bool, len(routes))
	for i, r := range routes {
		answer := r.Bucket.answer()
		out[i] = answer == common && together[sharing{r.Item, answer}] >= 2
	}
	return out
}

// BucketCounts are how many buckets each limit has in one table.
type BucketCounts map[bucketOwner]int

type bucketOwner struct{ kind, item string }

// CountBuckets counts those of t.
func CountBuckets(t *effective.Table) BucketCounts {
	limits := map[string][]Limited{}
	for _, rt := range t.Routes {
		for _, e := range rt.Policies {
			if l, ok := LimitedBy(e); ok {
				limits[e.Kind.Name] = append(limits[e.Kind.Name], l)
			}
		}
	}
	out := BucketCounts{}
	for kind, list := range limits {
		together := map[string]bool{}
		for i, shared := range SharedBuckets(list) {
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
		l, ok := LimitedBy(e)
		p, shown := views[e.Kind.Name]
		if n := c[bucketOwner{e.Kind.Name, l.Item}]; ok && shown && l.Item != "" && n > 1 {
			p.Buckets = n
			views[e.Kind.Name] = p
		}
	}
}

// Limiter admits requests by a bucket.
type Limiter interface {
	Bucket() (b Bucket, ok bool)
	// RateField is the path of the field whose author owns the bucket.
	RateField() string
}

// Bucket holds Tokens and Burst at most, is full at first, and is filled evenly: one
// token each Interval/Tokens.
type Bucket struct {
	Tokens   uint32
	Burst    uint32
	Interval time.Duration
	// Status is what a request without a token gets.
	Status uint32
	// Set and Add are response headers of that answer.
	Set, Add []Header
}

// answer is what tells two answers to requests over the limit apart.
func (b Bucket) answer() string { return fmt.Sprintf("%d %q %q", b.Status, b.Set, b.Add) }

// Header is one header of an answer.
type Header struct{ Name, Value string }

// Admit says which of the requests at these times, counted from when the bucket
// was made and in order, get a token.
func (b Bucket) Admit(at []time.Duration) []bool {
	out := make([]bool, len(at))
	if b.Interval <= 0 {
		return out
	}
	rate := float64(b.Tokens) / b.Interval.Seconds()
	most := float64(b.Tokens) + float64(b.Burst)
	tokens, last := most, time.Duration(0)
	for i, t := range at {
		tokens = min(most, tokens+(t-last).Seconds()*rate)
		last = t
		if tokens >= 1 {
			tokens--
			out[i] = true
		}
	}
	return out
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

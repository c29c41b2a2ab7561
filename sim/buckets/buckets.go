// Package buckets is how limits admit requests: by a bucket of tokens, which several routes may share.
package buckets

import (
	"fmt"
	"time"

	"github.com/weftmesh/weft/policies"
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

// Shared reports for each route of one virtual host whether it takes its
// tokens from the bucket that the routes of its item share; else it has one of its
// own. Envoy gives all shared buckets of a virtual host one answer, so those share
// that have the commonest answer, the first one of several.
func Shared(routes []Limited) []bool {
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

package mtls

import (
	"iter"
	"math"
	"sync"
	"time"

	"github.com/weftmesh/weft/api"
)

// records are what is known of dataplanes at run time: of the certificate that each was given, and
// what its sidecar says.
type records struct {
	mu         sync.Mutex
	dataplanes byDataplane[*record] // by the name by which a sidecar calls its dataplane
}

// record is that of one dataplane. There is one for each, and as a rule it is all that is kept of one:
// its size is bounded by a test.
type record struct {
	leaf    workloadCert // the zero value for none
	insight insight      // there is none where nothing was told of it: its told is nil
}

// record is that of a dataplane by the name by which its sidecar calls it, a new one where there is none.
// It needs mu.
func (r *records) record(name api.Ref) *record {
	x := r.dataplanes.get(name)
	if x == nil {
		x = &record{}
		r.dataplanes.set(name, x)
	}
	return x
}

// insight is that of a dataplane by that name, nil where there is none. It needs mu.
func (r *records) insight(name api.Ref) *insight {
	if x := r.dataplanes.get(name); x != nil && x.insight.told != nil {
		return &x.insight
	}
	return nil
}

// entry is its insight, a new one where there is none. It needs mu.
func (r *records) entry(name api.Ref) *insight {
	i := &r.record(name).insight
	if i.told == nil {
		i.told = &nothingKnown
	}
	return i
}

// insights are all of them, in no order. It needs mu.
func (r *records) insights() iter.Seq2[api.Ref, *insight] {
	return func(yield func(api.Ref, *insight) bool) {
		for name, x := range r.dataplanes.all() {
			if x.insight.told != nil && !yield(name, &x.insight) {
				return
			}
		}
	}
}

// forget drops an insight. A leaf that is still good stays: rotations wait for it. It needs mu.
func (r *records) forget(name api.Ref, now time.Time) {
	x := r.dataplanes.get(name)
	switch {
	case x == nil:
	case x.leaf.good(now):
		x.insight = insight{}
	default:
		r.dataplanes.drop(name)
	}
}

// good are the leaves that have not ended, by the dataplanes that they were given to, in no order. It
// needs mu.
func (r *records) good(now time.Time) iter.Seq2[api.Ref, workloadCert] {
	return func(yield func(api.Ref, workloadCert) bool) {
		for name, x := range r.dataplanes.all() {
			if x.leaf.good(now) && !yield(x.leaf.at.of(name), x.leaf) {
				return
			}
		}
	}
}

// expire drops the leaves that have ended. It needs mu.
func (r *records) expire(now time.Time) {
	for name, x := range r.dataplanes.all() {
		switch {
		case x.leaf.good(now):
		case x.insight.told == nil:
			r.dataplanes.drop(name)
		default:
			x.leaf = workloadCert{}
		}
	}
}

// second is a time as certificates say it: in whole seconds since 1970. What is later than it can say,
// in 2106, is the last one.
type second uint32

func secondOf(t time.Time) second { return second(min(max(t.Unix(), 0), math.MaxUint32)) }

func (s second) time() time.Time { return time.Unix(int64(s), 0) }

// after reports whether s is yet to come.
func (s second) after(now time.Time) bool { return s.time().After(now) }

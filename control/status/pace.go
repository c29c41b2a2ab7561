package status

import (
	"encoding/json"
	"hash/fnv"
	"time"

	"github.com/weftmesh/weft/api"
)

// lastPause is the longest pause before a write that fails again and again is tried again.
const lastPause = 5 * time.Minute

// failing are the objects whose last write failed.
type failing map[api.Ref]failure

type failure struct {
	times int
	until time.Time // it is not tried again before
}

// add notes that a write has failed: the pause before the next doubles.
func (f failing) add(ref api.Ref, now time.Time) {
	times := f[ref].times
	f[ref] = failure{times + 1, now.Add(min(Pace<<min(times, 10), lastPause))}
}

// rests reports whether an object is not tried now.
func (f failing) rests(ref api.Ref, now time.Time) bool { return now.Before(f[ref].until) }

// due reports whether something is to be tried again. Objects that have failed long ago are
// forgotten: they are gone, or say by now what they should.
func (f failing) due(now time.Time) (some bool) {
	for ref, last := range f {
		if now.Sub(last.until) > lastPause {
			delete(f, ref)
			continue
		}
		some = some || !now.Before(last.until)
	}
	return some
}

// wrote is the last write of an object.
type wrote struct {
	at  time.Time
	sum uint64
}

// stands notes that a write was taken. What has to be written a second time, because the API
// server has not kept it or somebody takes it away, is tried as seldom as what fails.
func (r *Reporter) stands(w *write, now time.Time) {
	sum := w.sum()
	if last, again := r.wrote[w.ref]; again && last.sum == sum {
		r.failing.add(w.ref, now)
	} else {
		delete(r.failing, w.ref)
	}
	r.wrote[w.ref] = wrote{now, sum}
}

// sum is a hash of what is written, but for times.
func (w *write) sum() uint64 {
	h := fnv.New64a()
	_ = json.NewEncoder(h).Encode(timeless(w.status)) // of JSON it does not fail
	return h.Sum64()
}

// timeless is JSON without times.
func timeless(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, x := range v {
			if k != "lastTransitionTime" {
				out[k] = timeless(x)
			}
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = timeless(v[i])
		}
		return out
	}
	return v
}

// rest are writes that a look at all found, of which the first were made.
type rest struct {
	writes []*write
	looked time.Time
}

func (r *rest) empty() bool { return len(r.writes) == 0 }

// take are the next of them, as many as there is room for, without those that are outdated
// since the look; left reports whether there were any.
func (r *rest) take(most int, outdated func(w *write, looked time.Time) bool) (now []*write, left bool) {
	for !r.empty() && len(now) < most {
		w := r.writes[0]
		if r.writes = r.writes[1:]; outdated(w, r.looked) {
			left = true
			continue
		}
		now = append(now, w)
	}
	if r.empty() {
		r.writes = nil // and what they hold
	}
	return now, left
}

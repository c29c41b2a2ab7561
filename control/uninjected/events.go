package uninjected

import (
	"context"
	"log/slog"
	"time"

	"github.com/weftmesh/weft/store/kube/writing"
)

// The rhythm of events.
const (
	hourly = time.Hour   // between two at one owner
	again  = time.Minute // before one that failed is tried again
	breath = time.Second // between batches, and between looks at what changes
	batch  = 50
)

// WriteEvent writes an event at an object; one that is there already is enough.
type WriteEvent func(ctx context.Context, about writing.About, reason, note string) error

// Tell writes events of what is found until ctx ends, as the replica that leads does. That
// an owner had its event is known to this process, and besides to the API server, which
// keeps an event for an hour unless told otherwise: another replica finds it there.
func (f *Tracker) Tell(ctx context.Context, write WriteEvent, log *slog.Logger) error {
	told := map[string]time.Time{} // when the next event may be written, by UID
	for {
		wait := f.tell(ctx, told, write, log)
		later := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			later.Stop()
			return ctx.Err()
		case <-later.C:
		case <-f.enqueued:
			later.Stop()
			select { // changes come in many
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(breath):
			}
		}
	}
}

// tell writes what is due, and says when it is to be called again.
func (f *Tracker) tell(ctx context.Context, told map[string]time.Time, write WriteEvent, log *slog.Logger) time.Duration {
	all, wait := f.found()
	if wait > 0 {
		return wait
	}
	now, next, wrote := f.now(), hourly, 0
	for uid, until := range told {
		if !now.Before(until) {
			delete(told, uid)
		}
	}
	for _, x := range all {
		if until, ok := told[x.Owner.UID]; ok {
			next = min(next, until.Sub(now))
			continue
		}
		if wrote++; wrote > batch {
			return breath
		}
		at := writing.About{APIVersion: x.Owner.APIVersion, Kind: x.Owner.Kind, Namespace: x.Owner.Namespace, Name: x.Owner.Name, UID: x.Owner.UID}
		pause := hourly
		if err := write(ctx, at, x.Code, x.note()); err != nil && ctx.Err() == nil {
			log.Warn("an event could not be written; it is tried again", "object", x.Owner.ref().String(), "reason", x.Code, "error", err)
			pause = again
		}
		told[x.Owner.UID] = now.Add(pause)
		next = min(next, pause)
	}
	return max(next, breath)
}

// note is what an event says.
func (x Problem) note() string {
	if x.Field == "" {
		return x.Message
	}
	return string(x.Field) + ": " + x.Message
}

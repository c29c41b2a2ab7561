package connections

import (
	"errors"
	"io/fs"
	"log/slog"
	"path/filepath"
	"sync"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/files"
)

// connectedFile names the dataplanes whose sidecars are connected, for the next
// control plane of this data directory.
const connectedFile = "connected.json"

// Bounds on who is waited for after a restart, and on how often the file is written.
const (
	longestReturn = 10 * time.Minute
	BetweenSaves  = 200 * time.Millisecond
	usualReturn   = 30 * time.Second // after which it is told that one is not back
)

// Reconnects remembers whose sidecars are connected across restarts, so that a
// mesh that is only coming back is not taken for one that is in sync.
type Reconnects struct {
	File  string
	log   *slog.Logger
	until time.Time     // when those before are given up
	wake  chan struct{} // has a token while the file is stale
	// matters reports whether a mesh is one in which the next control plane has to know of everybody
	// who was served: how the dataplanes of others are called does not rest on who is connected.
	matters func(mesh string) bool

	writing sync.Mutex    // held while the file is written
	end     chan struct{} // closed when nothing more counts
	done    chan struct{} // closed when nothing is written any more

	mu     sync.Mutex
	here   map[api.Ref]int  // streams of those that are connected
	before map[api.Ref]bool // were connected to the last control plane, and not to this one
	next   chan struct{}    // closed once those who have joined are written down; nil where all are
	closed bool
}

func NewReconnects(dir string, now time.Time, log *slog.Logger, matters func(mesh string) bool) *Reconnects {
	r := &Reconnects{File: filepath.Join(dir, connectedFile), log: log, until: now.Add(longestReturn), wake: make(chan struct{}, 1), matters: matters,
		end: make(chan struct{}), done: make(chan struct{}), here: map[api.Ref]int{}, before: map[api.Ref]bool{}}
	var refs []api.Ref
	err := files.ReadState(r.File, &refs)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		log.Warn("who was connected before is not known", "file", r.File, "error", err)
	}
	for _, ref := range refs[:min(len(refs), mostUnconnected)] {
		r.before[ref] = true
	}
	go r.save()
	return r
}

// Joined is told of each new stream. In a mesh that knows identities it returns when the sidecar is
// written down, and its stream waits for that: the next control plane knows of everybody who was
// served. No other stream waits for the disk.
func (r *Reconnects) Joined(ref api.Ref) {
	if written := r.count(ref, 1); written != nil && r.matters(ref.Mesh) {
		<-written
	}
}

// Settle returns when everybody who has joined is written down.
func (r *Reconnects) Settle() {
	r.writing.Lock() // a write may be under way
	defer r.writing.Unlock()
	r.mu.Lock()
	settled := r.next == nil || r.closed
	r.mu.Unlock()
	if !settled {
		r.put()
	}
}

// Left is told of the end of a stream.
func (r *Reconnects) Left(ref api.Ref) { r.count(ref, -1) }

func (r *Reconnects) count(ref api.Ref, more int) (written <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil // the end of this control plane is not that of its sidecars
	}
	if r.here[ref] == 0 && !r.before[ref] {
		if r.next == nil {
			r.next = make(chan struct{})
		}
		written = r.next
	}
	delete(r.before, ref)
	if r.here[ref] += more; r.here[ref] <= 0 {
		delete(r.here, ref)
	}
	select {
	case r.wake <- struct{}{}:
	default:
	}
	return written
}

// Awaits reports whether a sidecar was connected before the restart and has not
// come back.
func (r *Reconnects) Awaits(ref api.Ref, now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.before[ref] && now.Before(r.until)
}

// gone reports whether a sidecar was connected before the restart and is not back, however long ago that
// was, and late whether it had time to.
func (r *Reconnects) gone(ref api.Ref) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.before[ref]
}

func (r *Reconnects) late(ref api.Ref, now time.Time) bool {
	return r.gone(ref) && now.After(r.until.Add(usualReturn-longestReturn))
}

// All are the dataplanes whose sidecars are or were connected.
func (r *Reconnects) All(now time.Time) []api.Ref {
	r.mu.Lock()
	defer r.mu.Unlock()
	refs := make([]api.Ref, 0, len(r.here)+len(r.before))
	for ref := range r.here {
		refs = append(refs, ref)
	}
	if now.Before(r.until) {
		for ref := range r.before {
			refs = append(refs, ref)
		}
	}
	return refs
}

// Close keeps what is known now; streams that end from here on do not count.
func (r *Reconnects) Close() {
	r.mu.Lock()
	ended := r.closed
	r.closed = true
	r.mu.Unlock()
	if !ended {
		close(r.end)
	}
	<-r.done
}

// save writes the file after changes, and once at the end.
func (r *Reconnects) save() {
	defer close(r.done)
	for {
		var began time.Time
		select {
		case <-r.wake:
			began = time.Now()
			r.write()
		case <-r.end:
			r.write()
			return
		}
		select { // a storm of streams is few writes
		case <-time.After(min(10*time.Since(began), BetweenSaves)):
		case <-r.end:
		}
	}
}

func (r *Reconnects) write() {
	r.writing.Lock()
	defer r.writing.Unlock()
	r.put()
}

// put is write. It needs writing.
func (r *Reconnects) put() {
	r.mu.Lock()
	next := r.next
	r.next = nil
	r.mu.Unlock()
	if next != nil {
		defer close(next)
	}
	err := files.WriteState(r.File, r.All(time.Now()))
	if err != nil {
		r.log.Warn("who is connected was not kept for a restart", "file", r.File, "error", err)
	}
}

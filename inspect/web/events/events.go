// Package events tells what happens: a bus on which everybody hears it, streams of server-sent events, and
// the newest events for those who ask later.
package events

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/inspect/web/endpoint"
)

// Event is one thing that happened (spec/contract.md 3): change, recompute, push, ack,
// nack, connect, disconnect, tap.
type Event struct {
	ID        uint64    `json:"id"`
	Time      time.Time `json:"time"`
	Type      string    `json:"type"`
	Revision  uint64    `json:"revision,omitempty"`
	User      string    `json:"user,omitempty"`   // who made the change, or watches
	Client    string    `json:"client,omitempty"` // by which program
	Object    string    `json:"object,omitempty"`
	Ref       api.Ref   `json:"-"`                // of the object, where it is known
	Action    string    `json:"action,omitempty"` // created, updated, deleted
	Dataplane string    `json:"dataplane,omitempty"`
	Resources string    `json:"resources,omitempty"` // cds, eds, lds, rds
	Count     int       `json:"count,omitempty"`     // of objects, dataplanes or resources
	Took      float64   `json:"tookSeconds,omitempty"`
	Message   string    `json:"message,omitempty"`
	Replica   string    `json:"replica,omitempty"` // of the control plane where it happened; empty for this one
}

// Bus hands what happens to everybody who listens. Nobody is waited for: a
// listener who does not keep up misses events, and is told how many.
//
// The newest are kept, for those who ask what happened, and for those who were cut off.
type Bus struct {
	process   string // tells ids of this process from those of others
	listening atomic.Int64

	mu        sync.Mutex
	last      uint64
	few, many kept
	listeners map[*listener]bool
	users     int           // of the listeners
	wanted    chan struct{} // closed when the first user comes or the last one goes
	done      chan struct{}
	once      sync.Once
}

type listener struct {
	user   bool // else a relay
	events chan Event
	missed atomic.Uint64
}

// backlog is how many events a listener may be behind.
const backlog = 1024

// NewBus has no listeners yet.
func NewBus() *Bus {
	return &Bus{process: strconv.FormatInt(time.Now().UnixNano(), 36), few: kept{most: keptFew}, many: kept{most: keptMany},
		listeners: map[*listener]bool{}, wanted: make(chan struct{}), done: make(chan struct{})}
}

// Close ends all streams of events.
func (e *Bus) Close() { e.once.Do(func() { close(e.done) }) }

// HasListeners reports whether anybody listens.
func (e *Bus) HasListeners() bool { return e.listening.Load() > 0 }

// Publish numbers an event, keeps it, and hands it on.
func (e *Bus) Publish(v Event) {
	if v.Time.IsZero() {
		v.Time = time.Now().UTC()
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.last++
	v.ID = e.last
	if slices.Contains(frequent, v.Type) {
		e.many.add(v)
	} else {
		e.few.add(v)
	}
	for l := range e.listeners {
		if !l.user && (v.Dataplane == "" && v.Type != "tap" || v.Replica != "") {
			continue
		}
		select {
		case l.events <- v:
		default:
			l.missed.Add(1)
		}
	}
}

// Wanted reports whether users listen, and is closed when that is otherwise.
func (e *Bus) Wanted() (bool, <-chan struct{}) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.users > 0, e.wanted
}

// Relay hands on what happens here on the streams of sidecars, until stop, to somebody who
// wants nothing himself. Missed is how many such events were dropped since it was asked last.
func (e *Bus) Relay() (events <-chan Event, missed func() uint64, stop func()) {
	l, _, _, stop := e.listen(0, eventQuery{})
	return l.events, func() uint64 { return l.missed.Swap(0) }, stop
}

// Miss says that so many events were dropped before they came here.
func (e *Bus) Miss(n uint64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for l := range e.listeners {
		if l.user {
			l.missed.Add(n)
		}
	}
}

// listen counts that many users, and begins with what q asks for of what has happened, of
// which gone is not kept any more.
func (e *Bus) listen(users int, q eventQuery) (l *listener, begin []Event, gone uint64, stop func()) {
	l = &listener{user: users > 0, events: make(chan Event, backlog)}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.listeners[l] = true
	e.listening.Add(1)
	e.count(users)
	begin, gone = q.begin(e)
	return l, begin, gone, func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		delete(e.listeners, l)
		e.listening.Add(-1)
		e.count(-users)
	}
}

// count needs mu.
func (e *Bus) count(more int) {
	before := e.users > 0
	if e.users += more; before != (e.users > 0) {
		close(e.wanted)
		e.wanted = make(chan struct{})
	}
}

// Handlers stream events, and list those that are kept.
type Handlers struct {
	Events  *Bus
	streams *shares // of all but administrators
}

// NewHandlers bounds how many streams there are.
func NewHandlers(e *Bus) *Handlers {
	return &Handlers{e, newShares(mostStreams, mostStreamsOfUser)}
}

// Endpoints are the stream of events, and the list of those that are kept.
func (h *Handlers) Endpoints() []endpoint.Operation {
	return []endpoint.Operation{
		endpoint.New("GET /_events", h.events, "What happens, as server-sent events; the header Last-Event-ID goes on where a stream broke off", saysEvents()),
	}
}

// heartbeat keeps idle streams open through whatever is in between.
const heartbeat = 15 * time.Second

// events streams what happens until the client goes.
func (h *Handlers) events(w http.ResponseWriter, r *http.Request) error {
	q, err := h.eventQueryOf(r)
	if err != nil {
		return err
	}
	if !q.follow {
		return h.recent(w, q)
	}
	done, err := h.stream(r)
	if err != nil {
		return err
	}
	defer done()
	c := http.NewResponseController(w)
	l, begin, gone, stop := h.Events.listen(1, q)
	defer stop()
	_ = c.SetReadDeadline(time.Time{}) // the stream outlives any request's time
	w.Header().Set("Content-Type", endpoint.OfEvents)
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(http.StatusOK)
	fmt.Fprint(w, ": weft\n\n")
	if gone > 0 || q.anew {
		l.missed.Add(gone)
		err = tellMissed(w, missed{Count: l.missed.Swap(0), Restarted: q.anew})
	}
	for _, v := range begin {
		if err == nil {
			err = h.Events.tell(w, v)
		}
	}
	beat := time.NewTicker(heartbeat)
	defer beat.Stop()
	for err == nil {
		if err = c.Flush(); err != nil {
			break // it has gone
		}
		_ = c.SetWriteDeadline(time.Now().Add(2 * heartbeat)) // a server without deadlines needs none
		select {
		case <-r.Context().Done():
			return nil
		case <-h.Events.done:
			return nil
		case <-beat.C:
			fmt.Fprint(w, ": beat\n\n")
		case v := <-l.events:
			err = h.follow(w, l, q, v)
		}
	}
	return nil
}

// follow tells a listener of an event, and before it of those that were dropped.
func (h *Handlers) follow(w io.Writer, l *listener, q eventQuery, v Event) error {
	if n := l.missed.Swap(0); n > 0 {
		if err := tellMissed(w, missed{Count: n}); err != nil {
			return err
		}
	}
	if !q.wants(v) {
		return nil
	}
	return h.Events.tell(w, v)
}

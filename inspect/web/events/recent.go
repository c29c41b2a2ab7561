package events

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/weftmesh/weft/inspect/web/endpoint"
	"github.com/weftmesh/weft/inspect/web/httpapi"
)

// How many events are kept for those who ask later: of what happens for each change, and of
// what happens for each sidecar that follows it, which is so much more that it would leave
// no room for the other.
const (
	keptFew  = 1024
	keptMany = 4096
	// mostRecent is how many may be asked for at once.
	mostRecent = keptFew + keptMany
)

// frequent are the types of events that each sidecar brings for each change.
var frequent = []string{"push", "ack", "synced"}

// eventTypes are all that there are.
var eventTypes = []string{"change", "recompute", "push", "ack", "nack", "synced", "connect", "disconnect", "tap"}

// kept is a bounded list of events, the oldest of which go.
type kept struct {
	most, next int // next is where the oldest stands, once the list is full
	list       []Event
}

func (k *kept) add(v Event) {
	if len(k.list) < k.most {
		k.list = append(k.list, v)
		return
	}
	k.list[k.next] = v
	k.next = (k.next + 1) % k.most
}

// after are the events with higher ids, in their order.
func (k *kept) after(id uint64) []Event {
	all := slices.Concat(k.list[k.next:], k.list[:k.next])
	i, _ := slices.BinarySearchFunc(all, id+1, func(v Event, id uint64) int { return compareIDs(v.ID, id) })
	return all[i:]
}

func compareIDs(a, b uint64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// since are the kept events with higher ids, and how many others there were. It needs mu.
func (e *Bus) since(id uint64) (found []Event, gone uint64) {
	found = append(e.few.after(id), e.many.after(id)...)
	slices.SortFunc(found, func(a, b Event) int { return compareIDs(a.ID, b.ID) })
	return found, e.last - id - uint64(len(found))
}

// Latest are the events of a type that are kept, in their order.
func (e *Bus) Latest(eventType string) []Event {
	e.mu.Lock()
	defer e.mu.Unlock()
	found, _ := eventQuery{recent: mostRecent, types: []string{eventType}}.begin(e)
	return found
}

// eventQuery is what a client asks of the events.
type eventQuery struct {
	recent int      // how many of those that have happened; -1 for none
	types  []string // empty is all
	follow bool
	after  uint64 // of this process; with resume
	resume bool
	anew   bool // the client has seen events of another process
}

var (
	recentEvents = endpoint.Parameter{Name: "recent", About: "Begin with so many of the newest events that are kept", Schema: endpoint.Schema{"type": "integer", "minimum": 0, "maximum": mostRecent}}
	followEvents = endpoint.Parameter{Name: "follow", About: "false: answer with the kept events as JSON, and end", Schema: endpoint.Schema{"type": "boolean", "default": true}}
	ofEventTypes = endpoint.Parameter{Name: "type", About: "Only events of these types", Schema: endpoint.Schema{"type": "array", "items": endpoint.OneOf(eventTypes...)}}
)

// saysEvents is the form of the events: a stream, or a list of those that have happened.
func saysEvents() endpoint.Form {
	return endpoint.Says[eventList](recentEvents, followEvents, ofEventTypes).OrSays(endpoint.OfEvents, reflect.TypeFor[Event]())
}

// eventQueryOf reads the query, and the header by which a client that was cut off goes on.
func (h *Handlers) eventQueryOf(r *http.Request) (eventQuery, error) {
	q := eventQuery{recent: -1, follow: true}
	values, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return q, httpapi.BadField("", "the query cannot be read: "+err.Error())
	}
	if values.Has("recent") {
		n, err := strconv.Atoi(values.Get("recent"))
		if err != nil || n < 0 || n > mostRecent {
			return q, httpapi.BadField("recent", fmt.Sprintf("%q is not possible; write a number from 0 to %d", values.Get("recent"), mostRecent))
		}
		q.recent = n
	}
	if values.Has("follow") {
		if q.follow, err = endpoint.Flag(values, "follow"); err != nil {
			return q, err
		}
	}
	for _, t := range values["type"] {
		if !slices.Contains(eventTypes, t) {
			return q, httpapi.BadField("type", strconv.Quote(t)+" is no type of events; use "+strings.Join(eventTypes, ", "))
		}
	}
	q.types = values["type"]
	if id := r.Header.Get("Last-Event-ID"); id != "" {
		process, n, ok := strings.Cut(id, "-")
		if q.after, err = strconv.ParseUint(n, 10, 64); err != nil || !ok {
			return q, httpapi.BadField("Last-Event-ID", strconv.Quote(httpapi.Truncate(id))+" is no id of an event here; send the last one of the stream, or leave it out")
		}
		q.resume = true
		if process != h.Events.process {
			q.after, q.anew = 0, true
		}
	}
	return q, nil
}

// wants reports whether a client asks for an event.
func (q eventQuery) wants(v Event) bool { return len(q.types) == 0 || slices.Contains(q.types, v.Type) }

// begin is what a stream begins with: what the client has not seen yet, or what it asks for;
// and how much of that is not kept any more. It needs mu.
func (q eventQuery) begin(e *Bus) (events []Event, gone uint64) {
	if q.resume {
		events, gone = e.since(min(q.after, e.last))
	} else if q.recent > 0 {
		events, _ = e.since(0)
	}
	events = slices.DeleteFunc(events, func(v Event) bool { return !q.wants(v) })
	if q.recent >= 0 && len(events) > q.recent {
		if q.resume {
			gone += uint64(len(events) - q.recent)
		}
		events = events[len(events)-q.recent:]
	}
	return events, gone
}

// eventList is a part of what happened.
type eventList struct {
	Items []Event `json:"items"` // oldest first
	// Last is the id by which a stream goes on behind them, as the header Last-Event-ID.
	Last string `json:"last"`
	// Missed is how many events are not among them because they are not kept any more.
	Missed uint64 `json:"missed"`
}

// recent answers with the kept events.
func (h *Handlers) recent(w http.ResponseWriter, q eventQuery) error {
	h.Events.mu.Lock()
	if q.recent < 0 && !q.resume {
		q.recent = mostRecent
	}
	events, gone := q.begin(h.Events)
	last := h.Events.idOf(h.Events.last)
	h.Events.mu.Unlock()
	httpapi.Answer(w, http.StatusOK, eventList{Items: append([]Event{}, events...), Last: last, Missed: gone})
	return nil
}

// idOf is an event's id as streams have it: it tells of which process it is.
func (e *Bus) idOf(id uint64) string { return e.process + "-" + strconv.FormatUint(id, 10) }

// tell writes an event to a stream.
func (e *Bus) tell(w io.Writer, v Event) error {
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("print an event: %w", err)
	}
	_, err = fmt.Fprintf(w, "id: %s\nevent: %s\ndata: %s\n\n", e.idOf(v.ID), v.Type, text)
	return err
}

// missed is the event that tells of others that were not.
type missed struct {
	Count uint64 `json:"count"`
	// Restarted says that the control plane did, so that nobody knows how many there were.
	Restarted bool `json:"restarted,omitempty"`
}

func tellMissed(w io.Writer, m missed) error {
	text, err := json.Marshal(m)
	if err != nil {
		return fmt.Errorf("print an event: %w", err)
	}
	_, err = fmt.Fprintf(w, "event: missed\ndata: %s\n\n", text)
	return err
}

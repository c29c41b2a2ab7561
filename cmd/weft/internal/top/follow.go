package top

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"strings"
	"time"

	"github.com/weftmesh/weft/inspect/conditions"
	"github.com/weftmesh/weft/inspect/web/events"
	"github.com/weftmesh/weft/inspect/web/requests"
)

// Source is a control plane that can be asked. It may be another one at each call: tokens
// and addresses change when it is started anew.
type Source interface {
	Get(ctx context.Context, path string, into any) error
	// Stream is an answer that goes on; last is the id of the event that was seen last.
	Stream(ctx context.Context, path, last string) (io.ReadCloser, error)
}

// How often a status is asked for: soon after something happened, and now and then.
const (
	soon   = time.Second
	seldom = 5 * time.Second
	again  = time.Second // after the control plane did not answer
	begins = 1000        // events of before
)

// Tell is something that a View is to be told.
type Tell func(v *View, now time.Time)

// status is where the status of a mesh is.
func status(mesh string) string { return "/meshes/" + url.PathEscape(mesh) + "/_status" }

// Once asks for all that v shows now.
func Once(ctx context.Context, from Source, v *View) error {
	var o conditions.Overview
	if err := from.Get(ctx, status(v.Mesh), &o); err != nil {
		return err
	}
	var events struct {
		Items []events.Event `json:"items"`
	}
	if err := from.Get(ctx, fmt.Sprintf("/_events?recent=%d&follow=false", begins), &events); err != nil {
		return err
	}
	for _, e := range events.Items {
		v.Event(e)
	}
	v.Status(o, time.Now())
	return nil
}

// Follow tells what happens until ctx is over, over breaks and restarts of the control plane.
func Follow(ctx context.Context, find func() (Source, error), mesh string, out chan<- Tell) {
	say := func(t Tell) {
		select {
		case out <- t:
		case <-ctx.Done():
		}
	}
	happened := make(chan struct{}, 1)
	go followEvents(ctx, find, say, happened)
	for ctx.Err() == nil {
		var o conditions.Overview
		from, err := find()
		if err == nil {
			err = from.Get(ctx, status(mesh), &o)
		}
		say(func(v *View, now time.Time) {
			if err != nil {
				v.Lost(err)
				return
			}
			v.Status(o, now)
		})
		wait(ctx, soon)
		select {
		case <-ctx.Done():
		case <-happened:
		case <-time.After(seldom - soon):
		}
	}
}

func wait(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// followEvents goes on behind the last event after a break.
func followEvents(ctx context.Context, find func() (Source, error), say func(Tell), happened chan<- struct{}) {
	last := ""
	for ctx.Err() == nil {
		from, err := find()
		if err == nil {
			var stream io.ReadCloser
			if stream, err = from.Stream(ctx, fmt.Sprintf("/_events?recent=%d", begins), last); err == nil {
				last = read(stream, last, say, happened)
				_ = stream.Close() // it has ended
			}
		}
		wait(ctx, again)
	}
}

// read tells the events of a stream until it ends, and says which was the last one.
func read(stream io.Reader, last string, say func(Tell), happened chan<- struct{}) string {
	kind := ""
	lines := bufio.NewScanner(stream)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), ": ")
		switch name {
		case "id":
			last = value
		case "event":
			kind = value
		case "data":
			say(told(kind, []byte(value)))
			select {
			case happened <- struct{}{}:
			default:
			}
		}
	}
	return last
}

// told is what an event of a stream tells.
func told(kind string, data []byte) Tell {
	if kind == "missed" {
		var gone struct {
			Count     uint64 `json:"count"`
			Restarted bool   `json:"restarted"`
		}
		_ = json.Unmarshal(data, &gone) // what is not understood tells nothing
		return func(v *View, _ time.Time) {
			if gone.Restarted {
				v.Anew()
			}
			v.Missed(gone.Count)
		}
	}
	var e events.Event
	_ = json.Unmarshal(data, &e)
	return func(v *View, _ time.Time) { v.Event(e) }
}

// Asker says what of traffic to ask for.
type Asker chan *Question

// NewAsker asks for nothing.
func NewAsker() Asker { return make(Asker, 1) }

// Want has q asked for from now on, in place of what was before; nil for nothing.
func (a Asker) Want(q *Question) {
	if q != nil {
		now := *q
		q = &now
	}
	for {
		select {
		case a <- q:
			return
		default:
		}
		select {
		case <-a:
		default:
		}
	}
}

// FollowTraffic tells the answers to what is asked, again and again, until ctx is over.
func FollowTraffic(ctx context.Context, find func() (Source, error), mesh string, asks Asker, out chan<- Tell) {
	var q *Question
	for {
		var later <-chan time.Time
		if q != nil {
			later = time.After(seldom)
		}
		select {
		case <-ctx.Done():
			return
		case q = <-asks:
		case <-later:
		}
		if q == nil {
			continue
		}
		asked := *q
		answer, err := askTraffic(ctx, find, mesh, &asked)
		select {
		case out <- func(v *View, now time.Time) { v.Traffic.told(asked, answer, err, now) }:
		case <-ctx.Done():
		}
	}
}

func askTraffic(ctx context.Context, find func() (Source, error), mesh string, q *Question) (answer requests.Answer, err error) {
	from, err := find()
	if err != nil {
		return answer, err
	}
	err = from.Get(ctx, q.path(mesh), &answer)
	return answer, err
}

// TrafficOnce asks once for what v shows of traffic.
func TrafficOnce(ctx context.Context, from Source, v *View) error {
	asked := v.Traffic.Ask
	answer, err := askTraffic(ctx, func() (Source, error) { return from, nil }, v.Mesh, &asked)
	if err == nil {
		v.Traffic.told(asked, answer, nil, time.Now())
	}
	return err
}

// Answer is what was told last of traffic.
func (t *Traffic) Answer() requests.Answer { return t.answer }

// Lines are what is known of traffic, in so many columns.
func (t *Traffic) Lines(columns int, now time.Time, colours bool) []string {
	return fitted(t.lines(0, now)[1:], columns, 0, colours)
}

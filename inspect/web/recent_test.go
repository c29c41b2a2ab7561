package web_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/weftmesh/weft/inspect/web/events"
)

// told is the answer to ?follow=false.
type told struct {
	Items  []events.Event
	Last   string
	Missed uint64
}

func recent(t *testing.T, url, query, after string) told {
	t.Helper()
	code, text := send(t, http.MethodGet, url+"/_events?follow=false"+query, "", "Last-Event-ID", after)
	var got told
	if err := json.Unmarshal([]byte(text), &got); err != nil || code != http.StatusOK {
		t.Fatal(code, text, err)
	}
	return got
}

// What has happened can be asked for, the newest first to be kept; of what sidecars follow
// there is so much that it does not take the place of the rest.
func TestEventsAreKept(t *testing.T) {
	t.Parallel()
	server, bus := serve(t, "type: Mesh\nname: default\n", false)
	bus.Publish(events.Event{Type: "change", Revision: 7, Object: "MeshRetry/default/a", User: "u", Client: "c"})
	for i := range 6000 {
		bus.Publish(events.Event{Type: []string{"push", "ack", "synced"}[i%3], Dataplane: "d", Revision: 7})
	}
	all := recent(t, server.URL, "", "")
	if len(all.Items) != 4097 || all.Items[0].Object != "MeshRetry/default/a" || all.Items[0].Revision != 7 || all.Items[0].User != "u" || all.Items[0].Client != "c" || all.Items[4096].ID != 6001 {
		t.Errorf("%d are kept, first %+v", len(all.Items), all.Items[0])
	}
	if few := recent(t, server.URL, "&recent=2", ""); len(few.Items) != 2 || few.Items[1].ID != 6001 || few.Missed != 0 {
		t.Errorf("the newest two are %+v", few)
	}
	if one := recent(t, server.URL, "&type=change&type=nack", ""); len(one.Items) != 1 || one.Items[0].Type != "change" {
		t.Errorf("of two types there are %+v", one)
	}
	if none := recent(t, server.URL, "", all.Last); len(none.Items) != 0 || none.Missed != 0 || none.Last != all.Last {
		t.Errorf("behind the last there are %+v", none)
	}
	process, _, _ := strings.Cut(all.Last, "-")
	if gap := recent(t, server.URL, "", process+"-1"); len(gap.Items) != 4096 || gap.Missed != 6000-4096 {
		t.Errorf("behind the first there are %d, and %d are missed", len(gap.Items), gap.Missed)
	}
}

// However often the oldest have gone, those that are kept are the newest, without a gap.
func TestTheNewestEventsAreKept(t *testing.T) {
	t.Parallel()
	server, bus := serve(t, "type: Mesh\nname: default\n", false)
	for range 2500 {
		bus.Publish(events.Event{Type: "change"})
	}
	all := recent(t, server.URL, "", "").Items
	if len(all) != 1024 || all[0].ID != 2500-1023 || all[1023].ID != 2500 {
		t.Errorf("%d are kept, from %d", len(all), all[0].ID)
	}
}

// A stream that broke off goes on behind the last event that its client saw; where that was of
// a process before this one it says so, and begins with all that is kept.
func TestEventsGoOn(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		query, after string
		want         []string
	}{
		{"", "-3", []string{"4", "5", "6"}},
		{"", "-5", []string{"6"}},
		{"", "-999", []string{"6"}}, // which it never saw
		{"", "another-9", []string{`missed {"count":0,"restarted":true}`, "1", "2", "3", "4", "5", "6"}},
		{"?recent=2", "", []string{"4", "5", "6"}},
		{"?recent=1", "-2", []string{`missed {"count":2}`, "5", "6"}},
		{"", "", []string{"6"}},
	} {
		server, bus := serve(t, "type: Mesh\nname: default\n", false)
		for i := range 5 {
			bus.Publish(events.Event{Type: "change", Revision: uint64(i + 1)})
		}
		if strings.HasPrefix(c.after, "-") { // of this process
			process, _, _ := strings.Cut(recent(t, server.URL, "", "").Last, "-")
			c.after = process + c.after
		}
		req, err := http.NewRequest(http.MethodGet, server.URL+"/_events"+c.query, nil)
		if err != nil {
			t.Fatal(err)
		}
		if c.after != "" {
			req.Header.Set("Last-Event-ID", c.after)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(resp.Body)
		lines.Scan() // the comment with which it begins: the server listens from there
		bus.Publish(events.Event{Type: "change", Revision: 6})
		var got []string
		kind := ""
		for len(got) < len(c.want) && lines.Scan() {
			name, isName := strings.CutPrefix(lines.Text(), "event: ")
			data, isData := strings.CutPrefix(lines.Text(), "data: ")
			switch {
			case isName:
				kind = name
			case isData && kind == "missed":
				got = append(got, "missed "+data)
			case isData:
				var e events.Event
				if err := json.Unmarshal([]byte(data), &e); err != nil {
					t.Fatal(err)
				}
				got = append(got, fmt.Sprint(e.Revision))
			}
		}
		_ = resp.Body.Close()
		if fmt.Sprint(got) != fmt.Sprint(c.want) {
			t.Errorf("%s behind %q: %v, want %v", c.query, c.after, got, c.want)
		}
	}
}

func TestEventsRefuseNonsense(t *testing.T) {
	t.Parallel()
	server, _ := serve(t, "type: Mesh\nname: default\n", false)
	for _, query := range []string{"recent=-1", "recent=x", "recent=", "recent=99999", "follow=perhaps", "type=nonsense", "type="} {
		if code, text := call(t, http.MethodGet, server.URL+"/_events?"+query, ""); code != http.StatusBadRequest || !strings.Contains(text, `"field":"`+strings.Split(query, "=")[0]) {
			t.Errorf("%s: %d %s", query, code, text)
		}
	}
	if code, text := send(t, http.MethodGet, server.URL+"/_events", "", "Last-Event-ID", "x"); code != http.StatusBadRequest || !strings.Contains(text, "Last-Event-ID") {
		t.Errorf("%d %s", code, text)
	}
}

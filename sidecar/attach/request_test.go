package attach_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/weftmesh/weft/sidecar/attach"
)

// TestRequestsQuestion: what is asked is what an agent understands, whatever names it has.
func TestRequestsQuestion(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.StringMatching(`[a-z&=?%#:/. äö]{0,20}`)
		q := attach.RequestsQuestion{
			Tap: name.Draw(t, "tap"), End: rapid.Bool().Draw(t, "end"), Since: rapid.Uint64().Draw(t, "since"), Paths: rapid.Bool().Draw(t, "paths"),
			Tables: rapid.SliceOfN(name, 0, 3).Draw(t, "tables"), Status: rapid.SampledFrom([]string{"", "0", "503", "5xx", "failed"}).Draw(t, "status"),
			ID: name.Draw(t, "id"), Route: name.Draw(t, "route"),
		}
		if len(q.Tables) == 0 {
			q.Tables = nil
		}
		got, ok := attach.ParseRequestsQuestion(q.String())
		if !ok || !reflect.DeepEqual(got, q) || !attach.IsQuestion(q.String()) {
			t.Fatalf("%+v is understood as %+v, %v", q, got, ok)
		}
	})
}

// TestNoQuestion: what is too long, or asks for what there is not, no agent answers.
func TestNoQuestion(t *testing.T) {
	t.Parallel()
	for _, path := range []string{
		"requests", "requests?since=x", "requests?status=6xx", "requests?status=99", "requests?%zz", "runtime_modify?weft.tap=1",
		"requests?id=" + strings.Repeat("a", 257), "requests?" + strings.Repeat("table=a&", 65),
	} {
		if attach.IsQuestion(path) {
			t.Errorf("%.40s is a question", path)
		}
	}
}

// TestWants is which requests a question is for.
func TestWants(t *testing.T) {
	t.Parallel()
	r := attach.SeenRequest{ID: "1", Table: "web", Status: 503, Flags: "UF", By: `[{"kind":"MeshHTTPRoute","name":"r"}]`}
	for _, c := range []struct {
		q    attach.RequestsQuestion
		want bool
	}{
		{attach.RequestsQuestion{}, true}, {attach.RequestsQuestion{Tables: []string{"api", "web"}}, true}, {attach.RequestsQuestion{Tables: []string{"api"}}, false},
		{attach.RequestsQuestion{ID: "1"}, true}, {attach.RequestsQuestion{ID: "2"}, false}, {attach.RequestsQuestion{Route: "r"}, true},
		{attach.RequestsQuestion{Route: "MeshHTTPRoute/r"}, true}, {attach.RequestsQuestion{Route: "HTTPRoute/r"}, false}, {attach.RequestsQuestion{Route: "x"}, false},
		{attach.RequestsQuestion{Status: "503"}, true}, {attach.RequestsQuestion{Status: "5xx"}, true}, {attach.RequestsQuestion{Status: "4xx"}, false},
		{attach.RequestsQuestion{Status: "50"}, false}, {attach.RequestsQuestion{Status: attach.Failed}, true}, {attach.RequestsQuestion{Status: "0"}, false},
	} {
		if got := c.q.Wants(&r); got != c.want {
			t.Errorf("%+v: %v", c.q, got)
		}
	}
	for status, failed := range map[uint32]bool{0: true, 200: false, 404: false, 403: true, 408: true, 413: true, 429: false, 499: false, 500: true} {
		if r := (attach.SeenRequest{Status: status}); r.HasFailed() != failed {
			t.Errorf("%d has failed: %v", status, !failed)
		}
	}
}

// TestAgentsAreNotBelieved: what an agent says is cut, and nothing of it is obeyed by a terminal.
func TestAgentsAreNotBelieved(t *testing.T) {
	t.Parallel()
	evil := "\x1b[2J\u202e" + strings.Repeat("ä", 500) + "\xff"
	one := attach.SeenRequest{ID: evil, Method: evil, Authority: evil, Path: evil, Protocol: evil, UserAgent: evil, Flags: evil, Details: evil, Host: evil, Caller: evil, Client: evil, Table: evil,
		Attempts: []attach.SeenAttempt{{Host: evil, Flags: evil, Details: evil}}}
	by, err := json.Marshal([]attach.SeenOrigin{{Kind: evil, Namespace: evil, Name: evil, RuleName: evil, Field: evil}})
	if err != nil {
		t.Fatal(err)
	}
	one.By = string(by)
	text, err := json.Marshal(attach.SeenRequests{Requests: []attach.SeenRequest{one}})
	if err != nil {
		t.Fatal(err)
	}
	got, err := attach.ReadSeenRequests(text)
	if err != nil {
		t.Fatal(err)
	}
	got.Requests[0].By = ""
	shown, err := json.Marshal([]any{got, one.Origins()})
	if err != nil {
		t.Fatal(err)
	}
	if !utf8.Valid(shown) || strings.ContainsAny(string(shown), "\x1b\u202e") || strings.Contains(string(shown), `\u001b`) || len(shown) > 20*300+1000 {
		t.Errorf("%d bytes: %.200s", len(shown), shown)
	}
	if _, err := attach.ReadSeenRequests([]byte("{")); err == nil {
		t.Error("half an answer is one")
	}
}

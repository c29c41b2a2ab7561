package attach_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/weftmesh/weft/sidecar/attach"
)

// TestHeaderShown: of what proves who somebody is nothing but the length is shown, of an address no query, of all
// else no more than a line of a terminal holds; and what an agent has taken out stays so.
func TestHeaderShown(t *testing.T) {
	t.Parallel()
	for _, c := range [][3]string{
		{"authorization", "Bearer canary", "‹redacted 13 bytes›"},
		{"cookie", "id=canary", "‹redacted 9 bytes›"},
		{"x-csrf-token", "canary", "‹redacted 6 bytes›"},
		{"x-amz-security-token", "canary", "‹redacted 6 bytes›"},
		{"client-secret", "canary", "‹redacted 6 bytes›"},
		{"x-api-key", "canary", "‹redacted 6 bytes›"},
		{"authorization", "‹redacted 13 bytes›", "‹redacted 13 bytes›"},
		{"authorization", "‹redacted 13 bytes› canary", "‹redacted 30 bytes›"},
		{"referer", "https://shop/v1?mail=canary", "https://shop/v1…"},
		{"x-envoy-original-path", "/v1?mail=canary#x", "/v1…"},
		{"location", "/v1#canary", "/v1…"},
		{"x-canary", "always?", "always?"},
		{"x-canary", "a\x1b[31mb\n", "a?[31mb?"},
	} {
		if got := attach.HeaderShown(c[0], c[1]); got != c[2] {
			t.Errorf("%s: %q is shown as %q, want %q", c[0], c[1], got, c[2])
		}
	}
	if got := attach.HeaderShown("x-canary", strings.Repeat("x", 5000)); len(got) != 256 {
		t.Errorf("%d bytes are shown", len(got))
	}
}

// TestHeadersOfATap: names come to the agent as they were written, each once; one that is no name makes the question
// none, and so do too many; and what an agent answers of others is left out.
func TestHeadersOfATap(t *testing.T) {
	t.Parallel()
	names := attach.HeaderNames([]string{"X-Canary", "accept", "x-canary"})
	q, ok := attach.ParseRequestsQuestion(attach.RequestsQuestion{Tap: "a", Headers: names}.String())
	if !ok || strings.Join(q.Headers, " ") != "accept x-canary" {
		t.Errorf("%v %+v", ok, q)
	}
	for _, bad := range [][]string{{""}, {":path"}, {"a b"}, {"a\n"}, {strings.Repeat("a", 65)}, strings.Split(strings.Repeat("a ", 16)+"a", " ")} {
		if _, ok := attach.ParseRequestsQuestion(attach.RequestsQuestion{Tap: "a", Headers: bad}.String()); ok {
			t.Errorf("%q is taken", bad)
		}
	}
	text, err := json.Marshal(attach.SeenRequests{Requests: []attach.SeenRequest{{Headers: map[string]string{"x-canary": "a\x1b", ":path": "/v1?canary", "cookie": "canary"}}}})
	if err != nil {
		t.Fatal(err)
	}
	s, err := attach.ReadSeenRequests(text)
	if err != nil || len(s.Requests) != 1 {
		t.Fatal(err, s)
	}
	if h := s.Requests[0].Headers; len(h) != 2 || h["x-canary"] != "a?" || h["cookie"] != "‹redacted 6 bytes›" {
		t.Errorf("%q", h)
	}
}

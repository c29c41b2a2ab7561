package sim_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/sim"
	"github.com/weftmesh/weft/sim/wire"
)

// TestTooManyHeaders: the caller's sidecar answers 431 to what is over Envoy's bounds, and
// resets the stream in HTTP/2; what is just within them it forwards.
func TestTooManyHeaders(t *testing.T) {
	t.Parallel()
	// The text of HTTP/1: GET / HTTP/1.1, host: web:8080 and x-a, each with its line end, and an empty line.
	const text, fields = len("GET / HTTP/1.1\r\nhost: web:8080\r\nx-a: \r\n\r\n"), len(":methodGET:authorityweb:8080:schemehttp:path/x-a")
	lines := func(name string, n int) wire.Headers {
		return wire.Headers{name: strings.Repeat("1\n", n-1) + "1"}
	}
	for want, list := range map[string][]wire.Request{
		"forward 0": {
			{Headers: lines("x-a", 99)},
			{Headers: wire.Headers{"X-A": strings.Repeat("a", 60<<10-text)}},
			{Headers: lines("accept", 1000)}, // one header by the time it counts
			{Version: "2", Headers: lines("x-a", 96)},
			{Version: "2", Headers: wire.Headers{"x-a": strings.Repeat("a", 60<<10-fields)}},
		},
		"respond 431": {
			{Headers: lines("x-a", 100)},
			{Headers: wire.Headers{"x-a": strings.Repeat("a", 60<<10-text+1)}},
			{Version: "1.0", Headers: lines("x-a", 100)},
			{URL: "http://web:8080/" + strings.Repeat("a", 60<<10), Method: "FOO"},
			{Headers: wire.Headers{"x-a": strings.Repeat("a", 60<<10), "content-length": "x"}},
			{Headers: wire.Headers{"x-a": strings.Repeat("a", 60<<10), "transfer-encoding": "gzip"}},
			{Headers: wire.Headers{"x-a": strings.Repeat("a", 60<<10), "content-type": "application/grpc"}},
		},
		"respond 400": {
			{Headers: lines("x-a", 100), Method: "FOO"},
			{Headers: wire.Headers{"x-a": strings.Repeat("1\n", 100), "content-length": "x"}},
		},
		"it resets the stream": {
			{Version: "2", Headers: lines("x-a", 97)},
			{Version: "2", Headers: wire.Headers{"x-a": strings.Repeat("a", 60<<10-fields+1)}},
		},
	} {
		for i, q := range list {
			if q.URL == "" {
				q.URL = "http://web:8080/"
			}
			got := ""
			if v, err := run(shop(everything(to("v1", 1))), q); err != nil {
				got = err.Error()
			} else {
				got = fmt.Sprint(v.Branches[0].Outcome, " ", v.Branches[0].Status)
				if v.Branches[0].GRPCStatus != nil || len(v.Unknown) > 0 && q.Headers["content-length"] == "" {
					t.Errorf("%s, %d: as gRPC, or not known: %+v", want, i, v)
				}
			}
			if !strings.Contains(got, want) {
				t.Errorf("%s, %d: %.200s", want, i, got)
			}
		}
	}
}

// TestFramingDecides: where one more header is too many, it depends on how the length of
// the body is told.
func TestFramingDecides(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]bool{95: false, 96: true} {
		q := wire.Request{URL: "http://web:8080/", Method: "POST", Version: "2", Body: 7, Headers: wire.Headers{"x-a": strings.Repeat("1\n", n-1) + "1"}}
		v, err := run(shop(everything(to("v1", 1))), q)
		if err != nil || v.Branches[0].Outcome != sim.Forward || (len(v.Unknown) > 0) != want {
			t.Errorf("%d headers: %q, %v", n, v.Unknown, err)
		}
	}
}

// TestTooManyForTheCalledSidecar: what the caller's sidecar adds may be too much for the
// one that is called, which answers 431, or resets the stream in HTTP/2.
func TestTooManyForTheCalledSidecar(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		protocol api.Protocol
		http2    bool
		headers  int
		want     string
	}{
		{api.HTTP, false, 97, "forward 0 200 by answer"}, // host, x-request-id, x-forwarded-proto
		{api.HTTP, false, 98, "respond 431 431 by answer"},
		{api.HTTP, true, 94, "forward 0 200 by answer"}, // with four pseudo headers
		{api.HTTP, true, 95, "reset 503 503 by reset"},
		{api.TCP, true, 95, "forward 0 200 by answer"},
	} {
		w, from := calledBy(c.protocol, c.http2)
		v, err := sim.Run(w, from, wire.Request{URL: "http://web:8080/", Answers: "200", Headers: wire.Headers{"x-a": strings.Repeat("1\n", c.headers-1) + "1"}})
		if err != nil {
			t.Fatal(err)
		}
		b := v.Branches[0]
		in := b.Backends[0].Inbounds[0]
		if got := fmt.Sprintf("%s %d %d by %s", in.Outcome, in.Status, b.Ends[0].Status, b.Ends[0].By); got != c.want {
			t.Errorf("%s, HTTP/2 %v, %d headers: %s, want %s", c.protocol, c.http2, c.headers, got, c.want)
		}
	}
}

// TestInternalRequests: one that says that it comes from the loopback alone is taken for one
// of the mesh's own, which routes can match, and which keeps two more headers.
func TestInternalRequests(t *testing.T) {
	t.Parallel()
	for from, want := range map[string]string{
		"127.0.0.1": "true a", "::1": "true a", "0:0:0:0:0:0:0:1": "true a", "\n127.0.0.1\n": "true a",
		"127.0.0.2": " ", "::ffff:127.0.0.1": " ", "127.0.0.1, 10.0.0.1": " ", "127.0.0.1\n127.0.0.1": " ", "127.0.0.1:80": " ", "": " ", "nonsense": " ",
	} {
		h := wire.Headers{"X-Forwarded-For": from, "x-envoy-internal": "false", "x-envoy-ip-tags": "a", "x-envoy-max-retries": "3", "connection": "x-envoy-internal"}
		v, err := run(shop(everything(to("v1", 1))), wire.Request{URL: "http://web:8080/", Headers: h})
		if err != nil {
			t.Fatal(err)
		}
		sent := v.Branches[0].Forwarded.Headers
		if got := sent["x-envoy-internal"] + " " + sent["x-envoy-ip-tags"]; got != want || sent["x-envoy-max-retries"] != "" {
			t.Errorf("%q: %v, want %q", from, sent, want)
		}
	}
}

// calledBy is a caller of one dataplane that speaks a protocol, over HTTP/1 or 2.
func calledBy(p api.Protocol, http2 bool) (*street, api.Ref) {
	s, from := crowd(1)
	caller := s.planes[from]
	caller.Clusters[0].Cluster.HTTP2 = http2
	s.planes[caller.Clusters[0].List[0].Dataplane].Inbounds[0].Protocol = p
	return s, from
}

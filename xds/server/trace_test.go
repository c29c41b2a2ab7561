package server_test

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/internal/envoytest"
	"github.com/weftmesh/weft/xds/server/syncstatus"
)

// span is what a collector got.
type span struct {
	service, url string
	tags         map[string]string
}

// collector takes spans of Zipkin, and of OTLP over gRPC.
type collector struct {
	port uint32
	mu   sync.Mutex
	got  []span
}

func startCollector(t *testing.T) *collector {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &collector{port: uint32(l.Addr().(*net.TCPAddr).Port)}
	s := &http.Server{Handler: c, Protocols: new(http.Protocols)}
	s.Protocols.SetHTTP1(true)
	s.Protocols.SetUnencryptedHTTP2(true)
	go func() { _ = s.Serve(l) }() // until it is closed
	t.Cleanup(func() { _ = s.Close() })
	return c
}

func (c *collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if r.URL.Path == "/api/v2/spans" {
		c.zipkin(body)
		w.WriteHeader(http.StatusAccepted)
		return
	}
	c.otlp(body)
	w.Header().Set("content-type", "application/grpc")
	w.Header().Set("trailer", "grpc-status")
	_, _ = w.Write(make([]byte, 5)) // an empty message
	w.Header().Set("grpc-status", "0")
}

func (c *collector) zipkin(body []byte) {
	var list []struct {
		LocalEndpoint struct{ ServiceName string }
		Tags          map[string]string
	}
	if json.Unmarshal(body, &list) != nil {
		return
	}
	for _, s := range list {
		c.got = append(c.got, span{s.LocalEndpoint.ServiceName, s.Tags["http.url"], s.Tags})
	}
}

// otlp reads the messages of a call, each behind a flag and its length.
func (c *collector) otlp(body []byte) {
	for len(body) >= 5 {
		n := binary.BigEndian.Uint32(body[1:5])
		message := body[5 : 5+n]
		body = body[5+n:]
		for _, of := range members(message, 1) { // ResourceSpans
			service := ""
			for _, resource := range members(of, 1) {
				service = attributes(members(resource, 1))["service.name"]
			}
			for _, scope := range members(of, 2) {
				for _, s := range members(scope, 2) {
					tags := attributes(members(s, 9))
					c.got = append(c.got, span{service, tags["http.url"], tags})
				}
			}
		}
	}
}

// members are the values of a field of a message, in bytes.
func members(message []byte, field protowire.Number) (out [][]byte) {
	for len(message) > 0 {
		number, kind, n := protowire.ConsumeTag(message)
		if n < 0 {
			return out
		}
		message = message[n:]
		if number == field && kind == protowire.BytesType {
			v, n := protowire.ConsumeBytes(message)
			if n < 0 {
				return out
			}
			out, message = append(out, v), message[n:]
			continue
		}
		if n = protowire.ConsumeFieldValue(number, kind, message); n < 0 {
			return out
		}
		message = message[n:]
	}
	return out
}

// attributes are pairs whose values are text.
func attributes(pairs [][]byte) map[string]string {
	out := map[string]string{}
	for _, p := range pairs {
		for _, value := range members(p, 2) {
			for _, text := range members(value, 1) {
				out[string(members(p, 1)[0])] = string(text)
			}
		}
	}
	return out
}

// of are the spans of requests for a path.
func (c *collector) of(path string) (out []span) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.got {
		if strings.HasSuffix(s.url, path) {
			out = append(out, s)
		}
	}
	return out
}

// counted waits for so many spans of a path.
func (c *collector) counted(t *testing.T, path string, want int) []span {
	t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		if got := c.of(path); len(got) >= want {
			return got
		} else if time.Now().After(deadline) {
			t.Fatalf("%d spans of %s, want %d; all: %v", len(got), path, want, c.got)
		}
	}
}

// dialing is a client that counts its connections.
func dialing(t *testing.T) (*http.Client, *atomic.Int64) {
	var dials atomic.Int64
	tr := &http.Transport{DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
		dials.Add(1)
		return new(net.Dialer).DialContext(ctx, network, address)
	}}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr}, &dials
}

func times(t *testing.T, n int, c *http.Client, port uint32, path string) {
	t.Helper()
	for range n {
		q, err := http.NewRequest("GET", fmt.Sprintf("http://127.0.0.1:%d%s", port, path), nil)
		if err != nil {
			t.Fatal(err)
		}
		q.Header.Set("x-team", "core")
		resp, err := c.Do(q)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
		if resp.StatusCode != 200 {
			t.Fatalf("%s: %d", path, resp.StatusCode)
		}
	}
}

// enough is how many spans an Envoy sends at once.
const enough = 10

func pathRoute(name, path string) string {
	return fmt.Sprintf(`type: MeshHTTPRoute
mesh: default
name: %s
spec:
  targetRef: {kind: Mesh}
  to: [{targetRef: {kind: MeshService, name: web}, rules: [{matches: [{path: {type: PathPrefix, value: %s}}], default: {}}]}]
`, name, path)
}

func zipkinTo(port uint32, random int) string {
	return fmt.Sprintf(`type: MeshTrace
mesh: default
name: traces
spec:
  targetRef: {kind: Mesh}
  default:
    backends: [{type: Zipkin, zipkin: {url: 'http://127.0.0.1:%d/api/v2/spans'}}]
    sampling: {random: %d}
    tags: [{name: who, header: {name: x-team}}]
`, port, random)
}

// TestSamplingIsThatOfTheRoute: one route is traced, and another is not; what is sampled moves on an
// open connection, and no listener is made anew for it.
func TestSamplingIsThatOfTheRoute(t *testing.T) {
	t.Parallel()
	backend, spans, at := envoytest.StartBackend(t, "web"), startCollector(t), envoytest.Port(t)
	p := serve(t, nil, exclusive, service("web", backend.Port), member("web", backend.Port), caller("front", map[uint32]string{at: "web"}),
		pathRoute("whole", "/whole"), pathRoute("none", "/none"), zipkinTo(spans.port, 0),
		"type: MeshTrace\nmesh: default\nname: on-whole\nspec: {targetRef: {kind: MeshHTTPRoute, name: whole}, default: {sampling: {random: 100}}}\n")
	e := p.envoy("front", syncstatus.Delta)
	p.synced("front")
	c, dials := dialing(t)
	times(t, enough, c, at, "/none")
	times(t, enough, c, at, "/whole")
	for _, s := range spans.counted(t, "/whole", enough) {
		if s.tags["who"] != "core" {
			t.Errorf("the tag of the header is missing: %v", s)
		}
	}
	if got := spans.of("/none"); len(got) > 0 {
		t.Errorf("%d spans of a route that is not sampled", len(got))
	}
	modified := e.Stats("listener_manager.listener_modified")["listener_manager.listener_modified"]
	p.apply(zipkinTo(spans.port, 100))
	p.synced("front")
	times(t, enough, c, at, "/none")
	spans.counted(t, "/none", enough)
	if now := e.Stats("listener_manager.listener_modified")["listener_manager.listener_modified"]; now != modified {
		t.Errorf("%d listeners were made anew", now-modified)
	}
	if n := dials.Load(); n != 1 {
		t.Errorf("the client had to connect %d times", n)
	}
}

// TestSpansGoToTheCollectorOfTheDocument: spans go where the MeshOpenTelemetryBackend says, with the name
// of the caller's own service, and nowhere once it is gone.
func TestSpansGoToTheCollectorOfTheDocument(t *testing.T) {
	t.Parallel()
	backend, spans, at := envoytest.StartBackend(t, "web"), startCollector(t), envoytest.Port(t)
	p := serve(t, nil, exclusive, service("web", backend.Port), member("web", backend.Port), caller("front", map[uint32]string{at: "web"}),
		`type: MeshTrace
mesh: default
name: traces
spec:
  default: {backends: [{type: OpenTelemetry, openTelemetry: {backendRef: {kind: MeshOpenTelemetryBackend, labels: {team: core}}}}]}
`)
	e := p.envoy("front", syncstatus.Delta)
	p.synced("front")
	if s := p.model.Reader(nil).NotesOn(api.Ref{Kind: "MeshTrace", Mesh: "default", Name: "traces"}); len(s) != 1 || s[0].Code != "BackendNotFound" {
		t.Errorf("notes on a backend that is not there: %v", s)
	}
	c, _ := dialing(t)
	times(t, 1, c, at, "/before")
	cluster := fmt.Sprintf("otel:127.0.0.1:%d", spans.port)
	p.apply(fmt.Sprintf("type: MeshOpenTelemetryBackend\nmesh: default\nname: collector\nlabels: {team: core}\nspec: {endpoint: {address: 127.0.0.1, port: %d}}\n", spans.port))
	p.synced("front")
	e.Until("the tracer is there", func() bool { return strings.Contains(e.Dump(), cluster) })
	fresh, _ := dialing(t)
	times(t, enough, fresh, at, "/after")
	for _, s := range spans.counted(t, "/after", enough) {
		if s.service != "front" {
			t.Errorf("the span is of service %q", s.service)
		}
	}
	p.remove(api.Ref{Kind: "MeshOpenTelemetryBackend", Mesh: "default", Name: "collector"})
	p.synced("front")
	last, _ := dialing(t)
	times(t, enough, last, at, "/gone")
	if got := append(spans.of("/gone"), spans.of("/before")...); len(got) > 0 {
		t.Errorf("spans without a tracer: %v", got)
	}
}

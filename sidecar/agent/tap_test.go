package agent_test

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"

	"github.com/weftmesh/weft/internal/envoytest"
	"github.com/weftmesh/weft/sidecar/attach"
)

// asker is a control plane that asks an agent.
type asker struct {
	attach.UnimplementedSidecarServer
	ask     chan *attach.Ask
	answers chan []byte
}

func (a *asker) Attach(s grpc.BidiStreamingServer[attach.Up, attach.Down]) error {
	go func() {
		for q := range a.ask {
			if s.Send(&attach.Down{Is: &attach.Down_Ask{Ask: q}}) != nil {
				return
			}
		}
	}()
	var text []byte
	for {
		up, err := s.Recv()
		if err != nil {
			return nil
		}
		if part := up.GetAnswer(); part != nil {
			text = append(append(text, part.GetChunk()...), part.GetError()...)
			if part.GetEnd() || part.GetError() != "" {
				a.answers <- text
				text = nil
			}
		}
	}
}

// tap asks for what came since it was asked before.
func (a *asker) tap(t *testing.T, q attach.RequestsQuestion) (out []attach.SeenRequest) {
	t.Helper()
	a.ask <- &attach.Ask{Id: 1, Path: q.String()}
	select {
	case text := <-a.answers:
		var s attach.SeenRequests
		if err := json.Unmarshal(text, &s); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		return s.Requests
	case <-time.After(10 * time.Second):
		t.Fatal("the agent does not answer")
		return nil
	}
}

// TestTapShowsHeaders: a tap is told the headers that it names, of requests and of answers, those of other taps
// not; of one that proves who somebody is the length alone; on a connection that was open before it began and stays
// open after it.
func TestTapShowsHeaders(t *testing.T) {
	t.Parallel()
	a := &asker{ask: make(chan *attach.Ask), answers: make(chan []byte, 1)}
	t.Cleanup(func() { close(a.ask) })
	c := &control{t: t, agents: a}
	out, shop := envoytest.Port(t), envoytest.Port(t)
	c.docs = fmt.Sprintf(calling, envoytest.Port(t), envoytest.Port(t), out, shop)
	serveHeaders(t, shop)
	c.start(envoytest.Address(t))
	t.Cleanup(func() { c.stop() })
	r := start(t, config("http://"+c.addr))
	eventually(t, "a listener", func() bool { return r.ready() == http.StatusOK })

	call := oneConnection(t, fmt.Sprintf("http://127.0.0.1:%d/v1?query=canary", out))
	eventually(t, "an answer", func() bool { return call("first") })
	tap := attach.RequestsQuestion{Tap: "a", Headers: []string{"authorization", "location", "set-cookie", "x-canary"}}
	other := attach.RequestsQuestion{Tap: "b", Headers: []string{"user-agent"}}
	var got attach.SeenRequest
	eventually(t, "a line with headers", func() bool {
		call("second")
		for _, r := range a.tap(t, tap) {
			if len(r.Headers) > 0 {
				got = r
			}
		}
		return len(got.Headers) > 0
	})
	if fmt.Sprint(got.Headers) != "map[authorization:‹redacted 13 bytes› x-canary:second]" || fmt.Sprint(got.AnswerHeaders) != "map[location:http://shop/x… set-cookie:‹redacted 9 bytes›]" {
		t.Errorf("of the request %v, of the answer %v", got.Headers, got.AnswerHeaders)
	}
	var shown string
	eventually(t, "a line of the other tap", func() bool {
		call("third")
		for _, r := range a.tap(t, other) {
			if r.Headers["user-agent"] != "" {
				shown = fmt.Sprint(r.Headers, r.AnswerHeaders)
			}
		}
		return shown != ""
	})
	if shown != "map[user-agent:Go-http-client/1.1] map[]" {
		t.Errorf("the other tap is told %s", shown)
	}
	tap.End, other.End = true, true
	if text := fmt.Sprint(a.tap(t, tap), a.tap(t, other)); strings.Contains(text, "query") || strings.Contains(text, "Bearer") {
		t.Errorf("told: %s", text)
	}
	if !call("last") {
		t.Error("a tap ended a connection")
	}
}

// serveHeaders is a workload whose answers have headers.
func serveHeaders(t *testing.T, port uint32) {
	t.Helper()
	l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", "http://shop/x?query=canary")
		w.Header().Set("Set-Cookie", "id=canary")
	})}
	server.Protocols = new(http.Protocols)
	server.Protocols.SetUnencryptedHTTP2(true) // as sidecars speak to each other
	go func() { _ = server.Serve(l) }()
	t.Cleanup(func() { _ = server.Close() })
}

// oneConnection calls url with a canary by one connection; it is false where there is no good answer, and fails
// where the answer came by another connection than the first.
func oneConnection(t *testing.T, url string) func(canary string) bool {
	t.Helper()
	transport := &http.Transport{MaxConnsPerHost: 1}
	t.Cleanup(transport.CloseIdleConnections)
	client := &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	var mu sync.Mutex
	began := false
	return func(canary string) bool {
		reused := false
		req, err := http.NewRequest(http.MethodGet, url, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("X-Canary", canary)
		req.Header.Set("Authorization", "Bearer canary")
		req = req.WithContext(httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{GotConn: func(i httptrace.GotConnInfo) { reused = i.Reused }}))
		resp, err := client.Do(req)
		if err != nil {
			return false
		}
		_ = resp.Body.Close()
		mu.Lock()
		defer mu.Unlock()
		if began && !reused {
			t.Errorf("%s: the connection was closed", canary)
		}
		began = began || resp.StatusCode == http.StatusOK
		return resp.StatusCode == http.StatusOK
	}
}

package agent_test

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weftmesh/weft/sidecar/agent"
)

//go:embed testdata/bootstrap.yaml
var bootstrap string

// plane is a control plane that gives every sidecar the same bootstrap.
type plane struct {
	*httptest.Server
	asked  atomic.Int64
	status atomic.Int64 // answer with this status instead
	last   atomic.Pointer[http.Request]
	body   atomic.Pointer[map[string]any]
}

func newPlane(t *testing.T, text string) *plane {
	t.Helper()
	p := &plane{}
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/bootstrap" { // it has no streams for agents
			http.NotFound(w, r)
			return
		}
		p.asked.Add(1)
		p.last.Store(r)
		var body map[string]any
		if err := json.NewDecoder(r.Body).Decode(&body); err == nil {
			p.body.Store(&body)
		}
		if status := p.status.Load(); status != 0 {
			http.Error(w, "not now", int(status))
			return
		}
		io.WriteString(w, text)
	}))
	t.Cleanup(p.Close)
	return p
}

// workload answers behind the sidecar; /wait answers only after release.
func workload(t *testing.T) (port string, release func()) {
	t.Helper()
	gate := make(chan struct{})
	release = sync.OnceFunc(func() { close(gate) })
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/wait" {
			select {
			case <-gate:
			case <-r.Context().Done():
				return
			}
		}
		fmt.Fprint(w, "hello")
	}))
	t.Cleanup(s.Close)
	t.Cleanup(release)
	u, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	return u.Port(), release
}

// running is an agent that runs until stop.
type running struct {
	*agent.Agent
	stop func() // asks it to end
	done chan error
	logs *logs
}

// logs is a writer that a test may read while it is written.
type logs struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *logs) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *logs) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

func start(t *testing.T, c agent.Config) *running {
	t.Helper()
	return run(t, c, false)
}

// run starts an agent, which may be one that waits for less than usual.
func run(t *testing.T, c agent.Config, hasty bool) *running {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	r := &running{stop: cancel, done: make(chan error, 1), logs: &logs{}}
	r.Agent = agent.New(c, slog.New(slog.NewTextHandler(r.logs, nil)))
	if hasty {
		r.Hasten()
	}
	go func() { r.done <- r.Run(ctx); close(r.done) }()
	t.Cleanup(func() {
		cancel()
		<-r.done
	})
	return r
}

// Starts counts the lives of Envoy.
func (r *running) Starts() int { return strings.Count(r.logs.String(), `msg="envoy started"`) }

// says reports whether the log has those words.
func (r *running) says(words string) bool { return strings.Contains(r.logs.String(), words) }

func config(xds string) agent.Config {
	c := agent.Default()
	c.XDS, c.Name, c.Concurrency, c.DrainTime = xds, "web-1", 1, 0
	return c
}

// eventually polls until ok, for as long as a slow machine may need.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if ok() {
			return
		}
	}
	t.Fatalf("still not so: %s", what)
}

func (r *running) ready() int {
	resp, err := http.Get("http://" + r.Readiness() + "/readyz")
	if err != nil {
		return 0
	}
	defer resp.Body.Close()
	return resp.StatusCode
}

// listener is where Envoy's first listener answers.
func (r *running) listener(t *testing.T) string {
	t.Helper()
	resp, err := http.Get("http://" + r.Admin() + "/listeners?format=json")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var all struct {
		Listeners []struct {
			Address struct {
				Socket struct {
					Port int `json:"port_value"`
				} `json:"socket_address"`
			} `json:"local_address"`
		} `json:"listener_statuses"`
	}
	if err := json.NewDecoder(resp.Body).Decode(&all); err != nil || len(all.Listeners) != 1 {
		t.Fatalf("listeners: %v %+v", err, all)
	}
	return fmt.Sprintf("http://127.0.0.1:%d", all.Listeners[0].Address.Socket.Port)
}

func TestSidecarServesAndStops(t *testing.T) {
	t.Parallel()
	port, _ := workload(t)
	p := newPlane(t, strings.ReplaceAll(bootstrap, "WORKLOAD", port))
	c := config(p.URL)
	c.Dataplane = []byte(`{"type":"Dataplane","name":"web-1"}`)
	r := start(t, c)
	eventually(t, "ready", func() bool { return r.ready() == http.StatusOK })
	for path, want := range map[string]string{"/healthz": "alive\n", "/readyz": "ready\n"} {
		resp, err := http.Get("http://" + r.Readiness() + path)
		if err != nil {
			t.Fatal(err)
		}
		said, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if string(said) != want {
			t.Errorf("%s says %q, want %q", path, said, want)
		}
	}
	resp, err := http.Get(r.listener(t))
	if err != nil {
		t.Fatal(err)
	}
	text, _ := io.ReadAll(resp.Body)
	resp.Body.Close()
	if string(text) != "hello" {
		t.Errorf("through the sidecar: %d %q", resp.StatusCode, text)
	}
	body := *p.body.Load()
	if body["name"] != "web-1" || body["mesh"] != "default" || body["dataplaneResource"] != string(c.Dataplane) {
		t.Errorf("the control plane was asked for %v", body)
	}
	admin := r.Admin()
	r.stop()
	if err := <-r.done; err != nil {
		t.Errorf("an asked-for end is no error: %v", err)
	}
	if _, err := net.DialTimeout("tcp", admin, time.Second); err == nil {
		t.Error("Envoy still listens after the agent ended")
	}
}

func TestEnvoyThatDiesComesBack(t *testing.T) {
	t.Parallel()
	port, _ := workload(t)
	p := newPlane(t, strings.ReplaceAll(bootstrap, "WORKLOAD", port))
	r := start(t, config(p.URL))
	eventually(t, "ready", func() bool { return r.ready() == http.StatusOK })
	p.status.Store(http.StatusServiceUnavailable) // the last bootstrap must do
	resp, err := http.Post("http://"+r.Admin()+"/quitquitquit", "", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	eventually(t, "started again and ready", func() bool { return r.Starts() == 2 && r.ready() == http.StatusOK })
	if !strings.Contains(r.logs.String(), "starting from the last bootstrap") {
		t.Errorf("the log does not say what it started from:\n%s", r.logs)
	}
}

func TestDrainingFinishesRequests(t *testing.T) {
	t.Parallel()
	port, release := workload(t)
	p := newPlane(t, strings.ReplaceAll(bootstrap, "WORKLOAD", port))
	c := config(p.URL)
	c.DrainTime = 5 * time.Second
	r := start(t, c)
	eventually(t, "ready", func() bool { return r.ready() == http.StatusOK })
	answer := make(chan string, 1)
	go func() {
		resp, err := http.Get(r.listener(t) + "/wait")
		if err != nil {
			answer <- err.Error()
			return
		}
		defer resp.Body.Close()
		text, _ := io.ReadAll(resp.Body)
		answer <- fmt.Sprintf("%d %s, connection %s", resp.StatusCode, text, map[bool]string{true: "closed", false: "kept"}[resp.Close])
	}()
	active := "http://" + r.Admin() + "/stats?filter=http.inbound_answers.downstream_rq_active"
	eventually(t, "the request is under way", func() bool { return strings.Contains(get(active), "_active: 1") })
	r.stop()
	eventually(t, "draining", func() bool { return strings.Contains(r.logs.String(), "draining") })
	if got := r.ready(); got != http.StatusServiceUnavailable {
		t.Errorf("readiness while draining: %d", got)
	}
	release()
	if got := <-answer; got != "200 hello, connection closed" {
		t.Errorf("a request under way while draining: %s", got)
	}
	if err := <-r.done; err != nil {
		t.Error(err)
	}
}

func get(url string) string {
	resp, err := http.Get(url)
	if err != nil {
		return ""
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(resp.Body)
	return string(text)
}

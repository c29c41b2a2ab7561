package envoytest

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weftmesh/weft/sim"
	"github.com/weftmesh/weft/sim/timeline"
)

// Workloads are the servers behind sidecars. They remember together what they
// were asked, so that the attempts of a request are known in their order wherever
// they came, and do to each what its script says: see sim.ParseAnswers.
type Workloads struct {
	ports map[string]uint32

	mu     sync.Mutex
	calls  map[string][]Call
	copies map[string]int // of what is only counted
}

// CountHeader is the request header with a name under which Workloads only count copies,
// for requests of which there are many.
const CountHeader = "x-echo-count"

// Call is one attempt of a request as a workload got it.
type Call struct {
	Seen
	Workload string
	Body     int64 // how many bytes
}

// Copy reports whether it is a mirror's: Envoy calls those so.
func (c *Call) Copy() bool { return isCopy(c.Authority) }

func isCopy(authority string) bool {
	at := strings.LastIndexByte(authority, ':')
	return strings.HasSuffix(authority, "-shadow") || at >= 0 && strings.HasSuffix(authority[:at], "-shadow")
}

// StartWorkloads serves on loopback until the test ends, each name at a port.
func StartWorkloads(t testing.TB, names ...string) *Workloads {
	t.Helper()
	w := &Workloads{ports: map[string]uint32{}, calls: map[string][]Call{}, copies: map[string]int{}}
	for _, name := range names {
		w.ports[name] = serve(t, http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) { w.serve(name, rw, r) }))
	}
	return w
}

// serve speaks HTTP/1.1 and HTTP/2 without TLS until the test ends.
func serve(t testing.TB, h http.Handler) (port uint32) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: h, Protocols: new(http.Protocols)}
	server.Protocols.SetHTTP1(true)
	server.Protocols.SetUnencryptedHTTP2(true)
	done := make(chan struct{})
	go func() {
		_ = server.Serve(l) // ends by Close
		close(done)
	}()
	t.Cleanup(func() {
		_ = server.Close()
		<-done
	})
	return uint32(l.Addr().(*net.TCPAddr).Port)
}

// Port is where the workload of that name serves; 0 where there is none.
func (w *Workloads) Port(name string) uint32 { return w.ports[name] }

// Calls are the attempts of the request with that id, in order, and the copies
// of it.
func (w *Workloads) Calls(id string) (attempts, copies []Call) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range w.calls[id] {
		if c.Copy() {
			copies = append(copies, c)
		} else {
			attempts = append(attempts, c)
		}
	}
	return attempts, copies
}

// note remembers c and says the how-maniest of its kind it is, from 0.
func (w *Workloads) note(id string, c Call) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := 0
	for _, old := range w.calls[id] {
		if old.Copy() == c.Copy() {
			n++
		}
	}
	w.calls[id] = append(w.calls[id], c)
	return n
}

// Copies is how many copies came of the requests with that name.
func (w *Workloads) Copies(name string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.copies[name]
}

func (w *Workloads) serve(name string, rw http.ResponseWriter, r *http.Request) {
	if count := r.Header.Get(CountHeader); count != "" {
		if isCopy(r.Host) {
			w.mu.Lock()
			w.copies[count]++
			w.mu.Unlock()
		}
		rw.Header().Set(NameHeader, name)
		return
	}
	c := Call{Seen: Seen{time.Now(), r.Proto, r.Method, r.Host, r.RequestURI, r.Header.Clone()}, Workload: name}
	id, script := r.Header.Get(IDHeader), r.Header.Get(ScriptHeader)
	for _, own := range []string{IDHeader, ScriptHeader, AnswerHeader} {
		c.Headers.Del(own)
	}
	list, err := sim.ParseAnswers(script)
	if err != nil || len(list) == 0 {
		list = []timeline.BackendResponse{{Status: 200}}
	}
	if !strings.EqualFold(r.Header.Get("upgrade"), "websocket") && r.Method != http.MethodConnect {
		c.Body, _ = io.Copy(io.Discard, r.Body) // a broken body is the caller's to see
	}
	n := w.note(id, c)
	rw.Header().Set(NameHeader, name)
	rw.Header().Set(BackHeader, "b")
	rw.Header().Set("content-type", "text/plain")
	if strings.EqualFold(r.Header.Get("upgrade"), "websocket") {
		echoSocket(rw)
		return
	}
	if strings.EqualFold(strings.Join(r.Header[":protocol"], ","), "websocket") {
		echoStream(rw, r)
		return
	}
	answer(rw, r, &list[min(n, len(list)-1)])
}

// answer does what a says.
func answer(rw http.ResponseWriter, r *http.Request, a *timeline.BackendResponse) {
	if !sleep(r, a.Delay) {
		return
	}
	status := int(a.Status)
	switch {
	case a.Reset, a.Refuse: // the connection is accepted already, so a refusal is played as a reset
		panic(http.ErrAbortHandler)
	case a.GRPCStatus != nil: // trailers only
		rw.Header().Set("content-type", "application/grpc")
		rw.Header().Set("grpc-status", fmt.Sprint(*a.GRPCStatus))
	case status == 200 && strings.HasPrefix(r.Header.Get("content-type"), "application/grpc"):
		rw.Header().Set("content-type", "application/grpc")
		rw.Header().Set("trailer", "grpc-status")
		defer rw.Header().Set("grpc-status", "0")
	}
	rw.WriteHeader(status)
	_ = http.NewResponseController(rw).Flush()
	if sleep(r, a.Complete-a.Delay) && status != http.StatusNoContent && status != http.StatusNotModified && a.GRPCStatus == nil {
		_, _ = io.WriteString(rw, "done\n") // the caller sees a short body
	}
}

// sleep reports whether the request is still there after d.
func sleep(r *http.Request, d time.Duration) bool {
	if d <= 0 {
		return true
	}
	select {
	case <-time.After(d):
		return true
	case <-r.Context().Done():
		return false
	}
}

// echoStream is the same as echoSocket for a WebSocket over HTTP/2 (RFC 8441), which
// servers of Go take where GODEBUG has http2xconnect=1.
func echoStream(rw http.ResponseWriter, r *http.Request) {
	rw.WriteHeader(http.StatusOK)
	control := http.NewResponseController(rw)
	text := make([]byte, 1024)
	for control.Flush() == nil {
		n, err := r.Body.Read(text)
		if _, failed := rw.Write(text[:n]); err != nil || failed != nil {
			return
		}
	}
}

// echoSocket switches protocols and sends back what comes, until the end.
func echoSocket(rw http.ResponseWriter) {
	conn, buffered, err := http.NewResponseController(rw).Hijack()
	if err != nil {
		http.Error(rw, err.Error(), http.StatusBadRequest)
		return
	}
	defer conn.Close()
	_, _ = fmt.Fprintf(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n%s: %s\r\n%s: %s\r\n\r\n",
		NameHeader, rw.Header().Get(NameHeader), BackHeader, rw.Header().Get(BackHeader)) // the client sees what is missing
	_, _ = io.Copy(conn, buffered)
}

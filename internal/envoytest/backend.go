package envoytest

import (
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// The headers by which a request tells a Backend what to do.
const (
	// IDHeader names a logical request, so that its attempts are counted together.
	IDHeader = "x-echo-id"
	// ScriptHeader lists what to do at each attempt, by comma; the last one
	// holds for all that follow: a status, reset, slow:<duration>, or grpc:<code>.
	ScriptHeader = "x-echo-script"
	// NameHeader is the response header with the backend's name.
	NameHeader = "x-echo-name"
	// BackHeader is a response header with the value b, for routes to change.
	BackHeader = "x-back"
	// AttemptHeader is the response header with the number of the attempt, from 1.
	AttemptHeader = "x-echo-attempt"
)

// Backend is a small server that remembers what it was asked. It speaks
// HTTP/1.1, HTTP/2 without TLS, and enough gRPC to echo one message.
type Backend struct {
	Name string
	Host string
	Port uint32

	mu   sync.Mutex
	seen map[string][]Seen
}

// Seen is one attempt of a request as it arrived.
type Seen struct {
	At        time.Time
	Proto     string
	Method    string
	Authority string
	Path      string // with the query
	Headers   http.Header
}

// StartBackend serves on loopback until the test ends.
func StartBackend(t testing.TB, name string) *Backend {
	t.Helper()
	b := &Backend{Name: name, Host: "127.0.0.1", seen: map[string][]Seen{}}
	b.Port = serve(t, b)
	return b
}

// Seen are the attempts of the request with that id, in order.
func (b *Backend) Seen(id string) []Seen {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]Seen(nil), b.seen[id]...)
}

// ServeHTTP does what the request's script says.
func (b *Backend) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	id := r.Header.Get(IDHeader)
	b.mu.Lock()
	b.seen[id] = append(b.seen[id], Seen{time.Now(), r.Proto, r.Method, r.Host, r.RequestURI, r.Header.Clone()})
	attempt := len(b.seen[id])
	b.mu.Unlock()
	w.Header().Set(NameHeader, b.Name)
	w.Header().Set(BackHeader, "b")
	w.Header().Set(AttemptHeader, strconv.Itoa(attempt))
	step := step(r.Header.Get(ScriptHeader), attempt)
	grpc := strings.HasPrefix(r.Header.Get("content-type"), "application/grpc")
	switch kind, arg, _ := strings.Cut(step, ":"); kind {
	case "reset":
		panic(http.ErrAbortHandler)
	case "slow":
		d, err := time.ParseDuration(arg)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		select {
		case <-time.After(d):
		case <-r.Context().Done():
			return
		}
		b.answer(w, r, grpc, "200")
	case "grpc":
		w.Header().Set("content-type", "application/grpc")
		w.Header().Set("grpc-status", arg) // trailers only
	default:
		b.answer(w, r, grpc, step)
	}
}

// step is what the script says for an attempt, which counts from 1.
func step(script string, attempt int) string {
	if script == "" {
		return "200"
	}
	steps := strings.Split(script, ",")
	return steps[min(attempt, len(steps))-1]
}

func (b *Backend) answer(w http.ResponseWriter, r *http.Request, grpc bool, status string) {
	if grpc && status == "200" {
		w.Header().Set("content-type", "application/grpc")
		w.Header().Set("trailer", "grpc-status")
		_, _ = io.Copy(w, r.Body) // the caller sees a broken echo
		w.Header().Set("grpc-status", "0")
		return
	}
	code, err := strconv.Atoi(status)
	if err != nil {
		http.Error(w, "unknown step "+status, http.StatusBadRequest)
		return
	}
	w.WriteHeader(code)
	_, _ = fmt.Fprintln(w, b.Name) // the caller sees a short body
}

package demo

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

// The headers by which the demo follows one request through retries, and the
// limits of the misbehaving paths of every service.
const (
	headerID   = "x-demo-id"
	slowness   = 3 * time.Second
	flakyFails = 2
)

// answer is what an echo service says about a request.
type answer struct {
	Service string            `json:"service"`
	Version string            `json:"version,omitempty"`
	Path    string            `json:"path"`
	Attempt int               `json:"attempt"`
	Headers map[string]string `json:"headers"`
}

// service is one small workload: it echoes, fails the first attempts at every /flaky
// and dawdles at /slow.
type service struct {
	name, version string
	server        *http.Server
	port          int

	mu       sync.Mutex
	attempts map[string]int // by the demo's id of the request
}

func startService(name, version string) (*service, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("start service %s: %w", name, err)
	}
	s := &service{name: name, version: version, attempts: map[string]int{}, port: listener.Addr().(*net.TCPAddr).Port}
	s.server = &http.Server{Handler: s, ReadHeaderTimeout: 5 * time.Second}
	go s.server.Serve(listener) // ends with Close, and says nothing else worth hearing
	return s, nil
}

// ServeHTTP answers one request.
func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a := answer{Service: s.name, Version: s.version, Path: r.URL.RequestURI(), Attempt: s.count(r.Header.Get(headerID)), Headers: map[string]string{}}
	for name, values := range r.Header {
		a.Headers[strings.ToLower(name)] = strings.Join(values, ",")
	}
	status := http.StatusOK
	switch {
	case strings.HasSuffix(r.URL.Path, "/flaky") && a.Attempt <= flakyFails:
		status = http.StatusServiceUnavailable
	case strings.HasPrefix(r.URL.Path, "/slow"):
		select {
		case <-time.After(slowness):
		case <-r.Context().Done():
			return
		}
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	if err := json.NewEncoder(w).Encode(a); err != nil {
		return // the caller went away
	}
}

// count is the number of the attempt at the request with this id.
func (s *service) count(id string) int {
	if id == "" {
		return 1
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.attempts[id]++
	return s.attempts[id]
}

package kubetest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
)

// Compact has the API server's store forget what was before now. An API server that is
// started afterwards cannot tell of it: watches from before are told that they have expired.
func (c *Cluster) Compact(t testing.TB) {
	t.Helper()
	client := &http.Client{Timeout: patience, Transport: &http.Transport{DialContext: c.host.dial}}
	defer client.CloseIdleConnections()
	ask := func(path, body string) (answer struct {
		Header struct{ Revision string }
	}) {
		t.Helper()
		resp, err := client.Post(c.store+path, "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		if err != nil || resp.StatusCode != http.StatusOK {
			t.Fatalf("etcd %s: %s %s %v", path, resp.Status, text, err)
		}
		if err := json.NewDecoder(bytes.NewReader(text)).Decode(&answer); err != nil {
			t.Fatal(err)
		}
		return answer
	}
	now := ask("/v3/kv/range", `{"key": "AA=="}`).Header.Revision
	ask("/v3/kv/compaction", fmt.Sprintf(`{"revision": %q, "physical": true}`, now))
}

// Line is a way to the API server that can be cut.
type Line struct {
	URL string // by this way

	to string
	mu sync.Mutex
	up bool
	on map[net.Conn]bool
}

// Line is one that is up, until the test ends.
func (c *Cluster) Line(t testing.TB) *Line {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := &Line{URL: "https://" + listener.Addr().String(), to: strings.TrimPrefix(c.URL, "https://"), up: true, on: map[net.Conn]bool{}}
	var running sync.WaitGroup
	running.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			running.Go(func() { l.carry(conn) })
		}
	})
	t.Cleanup(func() {
		listener.Close()
		l.Cut()
		running.Wait()
	})
	return l
}

// Cut ends all connections, and new ones at once.
func (l *Line) Cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.up = false
	for conn := range l.on {
		conn.Close()
	}
}

// Mend lets new connections pass.
func (l *Line) Mend() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.up = true
}

func (l *Line) keep(conn net.Conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.up {
		l.on[conn] = true
	}
	return l.up
}

func (l *Line) forget(conn net.Conn) {
	conn.Close()
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.on, conn)
}

// carry copies what either side sends, until one of them ends.
func (l *Line) carry(from net.Conn) {
	defer l.forget(from)
	if !l.keep(from) {
		return
	}
	to, err := net.Dial("tcp", l.to)
	if err != nil {
		return
	}
	defer l.forget(to)
	if !l.keep(to) {
		return
	}
	back := make(chan struct{})
	go func() {
		defer close(back)
		_, _ = io.Copy(from, to) // ends with either
		from.Close()
	}()
	_, _ = io.Copy(to, from)
	to.Close()
	<-back
}

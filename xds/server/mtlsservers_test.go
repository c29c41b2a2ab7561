package server_test

import (
	"bufio"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/weftmesh/weft/internal/certs"
)

// either answers in plain text and by its own TLS at one port.
func either(t *testing.T) uint32 {
	t.Helper()
	pair := certs.New(t, "own.example")
	own, err := tls.X509KeyPair(pair.Chain, pair.Key)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	conns := &queue{l: l, next: make(chan net.Conn), config: &tls.Config{Certificates: []tls.Certificate{own}}}
	go conns.serve()
	s := &httptest.Server{Listener: conns, Config: &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = fmt.Fprintf(w, "tls %v xfcc %q", r.TLS != nil, r.Header.Get("X-Forwarded-Client-Cert"))
	})}}
	s.Start()
	t.Cleanup(s.Close)
	return uint32(l.Addr().(*net.TCPAddr).Port)
}

// queue is a listener that looks at the first byte of each connection.
type queue struct {
	l      net.Listener
	next   chan net.Conn
	config *tls.Config
}

// looked is a connection whose first byte was looked at.
type looked struct {
	net.Conn
	r *bufio.Reader
}

func (c *looked) Read(b []byte) (int, error) { return c.r.Read(b) }

func (q *queue) serve() {
	for {
		conn, err := q.l.Accept()
		if err != nil {
			close(q.next)
			return
		}
		go func() {
			c := &looked{conn, bufio.NewReader(conn)}
			first, err := c.r.Peek(1)
			switch {
			case err != nil:
				_ = conn.Close()
			case first[0] == 22:
				q.next <- tls.Server(c, q.config)
			default:
				q.next <- c
			}
		}()
	}
}

func (q *queue) Accept() (net.Conn, error) {
	if c, ok := <-q.next; ok {
		return c, nil
	}
	return nil, net.ErrClosed
}

func (q *queue) Close() error   { return q.l.Close() }
func (q *queue) Addr() net.Addr { return q.l.Addr() }

// body is what a client gets at a port.
func body(c *http.Client, url string, header http.Header) (string, error) {
	q, err := http.NewRequest(http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	q.Header = header
	resp, err := c.Do(q)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return string(text), errors.Join(err)
}

// mute is a server that answers nothing, and knows what it got.
type mute struct {
	port uint32
	mu   sync.Mutex
	got  []byte
}

func (w *mute) seen() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return string(w.got)
}

func recorder(t *testing.T) *mute {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	w := &mute{port: uint32(l.Addr().(*net.TCPAddr).Port)}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				b := make([]byte, 4096)
				n, _ := c.Read(b) // what came is what counts
				w.mu.Lock()
				w.got = append(w.got, b[:n]...)
				w.mu.Unlock()
			}()
		}
	}()
	return w
}

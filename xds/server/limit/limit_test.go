package limit_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"testing"
	"time"

	grpcpeer "google.golang.org/grpc/peer"

	"github.com/weftmesh/weft/xds/server/limit"
)

// from is a connection that says to come from an address.
type from struct {
	net.Conn
	address string
}

func (f from) RemoteAddr() net.Addr {
	at, err := net.ResolveTCPAddr("tcp", f.address)
	if err != nil {
		panic(err)
	}
	return at
}

// given is a listener of connections that a test makes.
type given struct {
	net.Listener
	conns chan net.Conn
}

func (g given) Accept() (net.Conn, error) { return <-g.conns, nil }

// world is a bounded listener and its clients.
type world struct {
	t        *testing.T
	conns    chan net.Conn
	accepted chan net.Conn
}

func open(t *testing.T, limits limit.Limits) *world {
	w := &world{t, make(chan net.Conn), make(chan net.Conn, 100)}
	l := limit.Listen(given{conns: w.conns}, "test", limits, slog.New(slog.DiscardHandler))
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			w.accepted <- c
		}
	}()
	return w
}

// dial connects from an address and returns the client's side.
func (w *world) dial(address string) net.Conn {
	client, server := net.Pipe()
	w.t.Cleanup(func() { _ = client.Close() })
	w.conns <- from{server, address}
	return client
}

// closed reports whether a client's connection is closed by the listener, for which
// it waits.
func closed(t *testing.T, c net.Conn) bool { return closedWithin(t, c, 20*time.Second) }

// stays reports whether it is still there a moment later.
func stays(t *testing.T, c net.Conn) bool { return !closedWithin(t, c, 100*time.Millisecond) }

func closedWithin(t *testing.T, c net.Conn, patience time.Duration) bool {
	t.Helper()
	if err := c.SetReadDeadline(time.Now().Add(patience)); err != nil {
		return true // as a pipe says
	}
	_, err := c.Read(make([]byte, 1))
	return !errors.Is(err, os.ErrDeadlineExceeded)
}

func prove(c net.Conn) {
	limit.Proven(grpcpeer.NewContext(context.Background(), &grpcpeer.Peer{Addr: c.RemoteAddr()}))
}

// TestThoseThatProveNothingGiveWay: the oldest of them, never one that has
// proven who it is, and where all have, the next one is refused.
func TestThoseThatProveNothingGiveWay(t *testing.T) {
	t.Parallel()
	w := open(t, limit.Limits{Connections: 3, Pending: 3, PerAddress: 3, Deadline: time.Hour})
	var clients []net.Conn
	for range 3 {
		clients = append(clients, w.dial("127.0.0.1:1"))
	}
	prove(<-w.accepted)
	clients = append(clients, w.dial("127.0.0.1:1"))
	if !closed(t, clients[1]) {
		t.Error("the oldest that has proven nothing is still there")
	}
	for _, i := range []int{0, 2, 3} {
		if !stays(t, clients[i]) {
			t.Errorf("connection %d was closed", i)
		}
	}
	for range 3 {
		prove(<-w.accepted) // of one that was closed it says nothing
	}
	if !closed(t, w.dial("127.0.0.1:1")) {
		t.Error("there was room for a fourth")
	}
	if err := clients[2].Close(); err != nil {
		t.Fatal(err)
	}
}

// TestOneUserCannotHaveAllConnections: who has proven to be somebody has a share, and all users
// leave room for others; what is beyond gives way, and what is closed makes room.
func TestOneUserCannotHaveAllConnections(t *testing.T) {
	t.Parallel()
	w := open(t, limit.Limits{Connections: 5, Pending: 5, PerAddress: 5, PerUser: 2, Users: 3, Deadline: time.Hour})
	by := func(c net.Conn, user string) bool {
		return limit.ProvenBy(grpcpeer.NewContext(context.Background(), &grpcpeer.Peer{Addr: c.RemoteAddr()}), user)
	}
	var clients, servers []net.Conn
	for range 5 {
		clients = append(clients, w.dial("127.0.0.1:1"))
		servers = append(servers, <-w.accepted)
	}
	for i, want := range []struct {
		user string
		ok   bool
	}{{"a", true}, {"a", true}, {"a", false}, {"b", true}, {"c", false}} {
		if got := by(servers[i], want.user); got != want.ok {
			t.Errorf("connection %d of %s: %v", i, want.user, got)
		}
	}
	if !by(servers[0], "a") {
		t.Error("another request of a connection counts once more")
	}
	w.dial("127.0.0.1:1")
	if !closed(t, clients[2]) {
		t.Error("the one beyond the share of its user does not give way")
	}
	admin := <-w.accepted
	prove(admin)
	if err := servers[0].Close(); err != nil {
		t.Fatal(err)
	}
	if !by(servers[4], "c") {
		t.Error("a connection that was closed still takes a place")
	}
}

// TestTheLoudestGivesWay: where nobody can prove who they are, who has most connections loses
// the oldest of them, and nobody who is still loses theirs.
func TestTheLoudestGivesWay(t *testing.T) {
	t.Parallel()
	w := open(t, limit.Limits{Connections: 4, Pending: 4, PerAddress: 4})
	quiet := w.dial("10.0.0.1:1")
	loud := w.dial("10.0.0.2:1")
	for i := range 2 {
		w.dial(fmt.Sprint("10.0.0.2:", 2+i))
	}
	w.dial("10.0.0.3:1")
	if !closed(t, loud) || !stays(t, quiet) {
		t.Error("another than the one with most connections has given way")
	}
}

// TestAPlaceIsFreeAgain: after a connection has gone.
func TestAPlaceIsFreeAgain(t *testing.T) {
	t.Parallel()
	w := open(t, limit.Limits{Connections: 1, Pending: 1, PerAddress: 1, Deadline: time.Hour, Grace: time.Hour})
	w.dial("127.0.0.1:1")
	c := <-w.accepted
	if !closed(t, w.dial("127.0.0.1:1")) {
		t.Error("there was room for a second, although the first had its grace")
	}
	prove(c)
	for range 2 {
		_ = c.Close()
	}
	if !stays(t, w.dial("127.0.0.1:1")) {
		t.Error("its place is not free")
	}
}

// TestOneAddressHasItsShare: which does not hold for loopback, nor for
// connections that have proven who they are.
func TestOneAddressHasItsShare(t *testing.T) {
	t.Parallel()
	w := open(t, limit.Limits{Connections: 100, Pending: 100, PerAddress: 2, Deadline: time.Hour})
	for range 5 {
		if !stays(t, w.dial("127.0.0.1:1")) {
			t.Error("one of loopback was refused")
		}
		<-w.accepted
	}
	w.dial("10.0.0.1:1")
	first := <-w.accepted
	w.dial("10.0.0.1:2")
	if !closed(t, w.dial("10.0.0.1:3")) || !stays(t, w.dial("10.0.0.2:1")) {
		t.Error("the share of one address is not its own")
	}
	prove(first)
	if !stays(t, w.dial("10.0.0.1:4")) {
		t.Error("one that has proven who it is counts")
	}
}

// TestInTime: who proves nothing in time is closed, whoever has is not; over
// HTTP the context of a request leads to its connection.
func TestInTime(t *testing.T) {
	t.Parallel()
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := limit.Listen(inner, "test", limit.Limits{Connections: 9, Pending: 9, PerAddress: 9, Deadline: 2 * time.Second}, slog.New(slog.DiscardHandler))
	s := &http.Server{Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/prove" {
			limit.Proven(r.Context())
		}
	})}
	go func() { _ = s.Serve(l) }()
	t.Cleanup(func() { _ = s.Close() })
	clients := map[string]net.Conn{}
	for _, path := range []string{"/prove", "/nothing"} {
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		clients[path] = c
		if _, err := io.WriteString(c, "GET "+path+" HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
	}
	if err := clients["/nothing"].SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(clients["/nothing"]); errors.Is(err, os.ErrDeadlineExceeded) {
		t.Error("one that has proven nothing is still there")
	}
	if err := clients["/prove"].SetReadDeadline(time.Now().Add(50 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(clients["/prove"]); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("one that has was closed: %v", err)
	}
}

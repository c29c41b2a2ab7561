// Package limit bounds the connections of a listener.
//
// It promises that connections that have not proven who they are cannot take the
// place of those that have, that each has to do so in time, and that a listener
// never has more connections than its share of the process's descriptors. It
// refuses by closing a connection, and says so in the log now and then.
package limit

import (
	"container/list"
	"context"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"

	grpcpeer "google.golang.org/grpc/peer"
)

// Limits of one listener.
type Limits struct {
	// Connections is how many there may be, Pending how many of them may not have
	// proven yet who they are, PerAddress how many of those may come from one
	// address; the last does not hold for loopback.
	Connections, Pending, PerAddress int
	// PerUser is how many connections one user may have that ProvenBy names, and Users how many
	// all of them may; what is left is for others. Zero is no bound.
	PerUser, Users int
	// Deadline is how long a connection may be pending; zero is for ever, where nobody can
	// prove who they are.
	Deadline time.Duration
	// Grace is how long a pending connection is left alone when there is no room;
	// after it the oldest of the address with most of them gives way to the next one.
	Grace time.Duration
}

// logEvery is the least time between two lines of the log.
const logEvery = 10 * time.Second

// Listener is a listener whose connections are bounded.
type Listener struct {
	net.Listener
	name   string
	limits Limits
	log    *slog.Logger

	mu        sync.Mutex
	open      int
	pending   *list.List // of *conn, oldest first
	addresses map[netip.Addr]int
	users     map[string]int // connections that have proven to be theirs
	ofUsers   int            // all of them
	refused   int            // connections that were refused or closed since the last line
	logged    time.Time
}

// Listen bounds l, which logs call by a name.
func Listen(l net.Listener, name string, limits Limits, log *slog.Logger) *Listener {
	return &Listener{Listener: l, name: name, limits: limits, log: log, pending: list.New(), addresses: map[netip.Addr]int{}, users: map[string]int{}}
}

// Accept waits for the next connection that there is room for.
func (l *Listener) Accept() (net.Conn, error) {
	for {
		inner, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if c := l.admit(inner); c != nil {
			return c, nil
		}
		_ = inner.Close() // there is no room
	}
}

// admit makes room for a connection if it can; nil is none.
func (l *Listener) admit(inner net.Conn) *conn {
	c := &conn{Conn: inner, of: l, since: time.Now(), from: addressOf(inner)}
	l.mu.Lock()
	defer l.mu.Unlock()
	if !c.from.IsLoopback() && l.addresses[c.from] >= l.limits.PerAddress {
		l.refuse(c.from, "one address has too many connections that have not proven who they are")
		return nil
	}
	if l.open >= l.limits.Connections || l.pending.Len() >= l.limits.Pending {
		oldest, ok := l.loser()
		if !ok || c.since.Sub(oldest.since) < l.limits.Grace {
			l.refuse(c.from, "there are too many connections")
			return nil
		}
		l.refuse(oldest.from, "it has not proven who it is, and its place was needed")
		oldest.leave()
		_ = oldest.Conn.Close()
	}
	l.open++
	l.addresses[c.from]++
	c.pending = l.pending.PushBack(c)
	if l.limits.Deadline > 0 {
		c.timer = time.AfterFunc(l.limits.Deadline, c.expire)
	}
	return c
}

// loser is the pending connection that gives way: the oldest of the address that has most of
// them, so that nobody takes the places of others. It needs mu.
func (l *Listener) loser() (found *conn, ok bool) {
	for e := l.pending.Front(); e != nil; e = e.Next() {
		if c := e.Value.(*conn); found == nil || l.addresses[c.from] > l.addresses[found.from] {
			found = c
		}
	}
	return found, found != nil
}

// refuse counts a connection that was refused or closed, and logs it now and
// then. It needs mu.
func (l *Listener) refuse(from netip.Addr, why string) {
	l.refused++
	now := time.Now()
	if now.Sub(l.logged) < logEvery {
		return
	}
	l.log.Warn("refused a connection", "listener", l.name, "address", from.String(), "error", why,
		"refused", l.refused, "open", l.open, "unproven", l.pending.Len(), "limit", l.limits.Connections)
	l.refused, l.logged = 0, now
}

// conn is one connection. Its addresses lead back to it, through TLS, HTTP and gRPC.
type conn struct {
	net.Conn
	of    *Listener
	since time.Time
	from  netip.Addr

	// With mu of the listener:
	pending *list.Element // nil once it has proven who it is
	timer   *time.Timer
	user    string // empty where it is nobody's
	left    bool
}

// address is one end of a connection.
type address struct {
	net.Addr
	conn *conn
}

// LocalAddr leads back to c: net/http has it in the context of requests.
func (c *conn) LocalAddr() net.Addr { return address{c.Conn.LocalAddr(), c} }

// RemoteAddr leads back to c: gRPC has it in the context of streams.
func (c *conn) RemoteAddr() net.Addr { return address{c.Conn.RemoteAddr(), c} }

// Close gives the place free.
func (c *conn) Close() error {
	c.of.mu.Lock()
	c.leave()
	c.of.mu.Unlock()
	return c.Conn.Close()
}

// leave needs mu.
func (c *conn) leave() {
	if c.left {
		return
	}
	c.left = true
	c.of.open--
	c.settle()
	if c.user == "" {
		return
	}
	c.of.ofUsers--
	if c.of.users[c.user]--; c.of.users[c.user] == 0 {
		delete(c.of.users, c.user)
	}
}

// settle takes c from the pending ones. It needs mu.
func (c *conn) settle() {
	if c.pending == nil {
		return
	}
	c.of.pending.Remove(c.pending)
	c.pending = nil
	if c.timer != nil {
		c.timer.Stop()
	}
	if c.of.addresses[c.from]--; c.of.addresses[c.from] == 0 {
		delete(c.of.addresses, c.from)
	}
}

// expire closes c if it has not proven in time who it is.
func (c *conn) expire() {
	c.of.mu.Lock()
	late := c.pending != nil
	if late {
		c.of.refuse(c.from, "it has not proven in time who it is")
		c.leave()
	}
	c.of.mu.Unlock()
	if late {
		_ = c.Conn.Close() // nobody else does
	}
}

// Proven says that the connection of a request or stream has proven who it is.
func Proven(ctx context.Context) {
	if a, ok := endOf(ctx).(address); ok {
		a.conn.of.mu.Lock()
		defer a.conn.of.mu.Unlock()
		a.conn.settle()
	}
}

// ProvenBy is Proven for one of many users, who may not have all connections: where there are too
// many of theirs it is false, and the connection still has to give way to others.
func ProvenBy(ctx context.Context, user string) bool {
	a, ok := endOf(ctx).(address)
	if !ok {
		return true
	}
	c, l := a.conn, a.conn.of
	l.mu.Lock()
	defer l.mu.Unlock()
	if c.left || c.user == user {
		return true
	}
	if c.user == "" {
		if most := l.limits.PerUser; most > 0 && l.users[user] >= most {
			return false
		}
		if most := l.limits.Users; most > 0 && l.ofUsers >= most {
			return false
		}
		c.user = user
		l.users[user]++
		l.ofUsers++
	} // else it counts as that of the user who came first
	c.settle()
	return true
}

// From is the address that a request or stream comes from, without its port; empty where the
// context is that of neither.
func From(ctx context.Context) string {
	if a, ok := endOf(ctx).(address); ok {
		return a.conn.from.String()
	}
	p, ok := grpcpeer.FromContext(ctx)
	if !ok || p.Addr == nil {
		return ""
	}
	if host, _, err := net.SplitHostPort(p.Addr.String()); err == nil {
		return host
	}
	return p.Addr.String()
}

// endOf is the end of a connection that the context of a request or stream has.
func endOf(ctx context.Context) net.Addr {
	if p, ok := grpcpeer.FromContext(ctx); ok {
		return p.Addr
	}
	at, _ := ctx.Value(http.LocalAddrContextKey).(net.Addr)
	return at
}

func addressOf(c net.Conn) netip.Addr {
	at, err := netip.ParseAddrPort(c.RemoteAddr().String())
	if err != nil {
		return netip.Addr{} // of no network, as those of tests
	}
	return at.Addr().Unmap()
}

package port

import (
	"errors"
	"net"
	"sync"
	"syscall"
)

// lane is a listener to which connections are given.
type lane struct {
	addr   net.Addr
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func newLane(addr net.Addr) *lane {
	return &lane{addr: addr, conns: make(chan net.Conn), closed: make(chan struct{})}
}

func (l *lane) give(c net.Conn) {
	select {
	case l.conns <- c:
	case <-l.closed:
		_ = c.Close() // the server is gone
	}
}

// Accept takes what give gives.
func (l *lane) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// Close ends Accept.
func (l *lane) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

// Addr is that of the real listener.
func (l *lane) Addr() net.Addr { return l.addr }

// peeked is a connection of which some bytes were read already.
type peeked struct {
	net.Conn
	first []byte
}

// Read gives those bytes first.
func (p *peeked) Read(b []byte) (int, error) {
	if len(p.first) == 0 {
		return p.Conn.Read(b)
	}
	n := copy(b, p.first)
	p.first = p.first[n:]
	return n, nil
}

// isTransient reports whether Accept may work again soon.
func isTransient(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) ||
		errors.Is(err, syscall.ECONNABORTED) || errors.Is(err, syscall.ENOBUFS)
}

package port

import (
	"errors"
	"net"
	"sync"
	"syscall"
)

// connListener is a listener to which connections are given.
type connListener struct {
	addr   net.Addr
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func newConnListener(addr net.Addr) *connListener {
	return &connListener{addr: addr, conns: make(chan net.Conn), closed: make(chan struct{})}
}

func (l *connListener) give(c net.Conn) {
	select {
	case l.conns <- c:
	case <-l.closed:
		_ = c.Close() // the server is gone
	}
}

// Accept takes what give gives.
func (l *connListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// Close ends Accept.
func (l *connListener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

// Addr is that of the real listener.
func (l *connListener) Addr() net.Addr { return l.addr }

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

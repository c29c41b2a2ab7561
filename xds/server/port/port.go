// Package port serves gRPC and HTTP/1.1 on one address.
//
// With TLS the client says by ALPN which one it speaks, and who speaks both is
// no client of gRPC and gets HTTP/1.1; without TLS, and where a client says
// nothing, the first bytes tell: HTTP/2 begins with its preface.
// Either server gets its connections as if it were alone, so that gRPC keeps
// its own keepalive and flow control.
package port

import (
	"bytes"
	"crypto/tls"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/keepalive"

	"github.com/weftmesh/weft/xds/server/codec"
)

const (
	// detection bounds the TLS handshake and the first bytes.
	detection = 10 * time.Second
	// A connection whose other end is gone is found within ping and pong.
	ping, pong = 30 * time.Second, 10 * time.Second
	// leastPing is how often clients may ping: sidecars of the first version do it
	// every 5 seconds.
	leastPing = 4 * time.Second
	// mostStreams bounds the streams of one connection: a client needs one, and a
	// second while it renews its token, but a proxy may carry those of many
	// clients over one connection.
	mostStreams = 128
	// buffer for writing, which a connection has only while it writes.
	buffer = 8 << 10
	// patience bounds one request by HTTP, from its first byte to the last of
	// its answer; streams of gRPC have no such end.
	patience = 30 * time.Second
	// mostHeaders bounds the headers of one request by HTTP.
	mostHeaders = 64 << 10
)

// Options is what a Mux serves.
type Options struct {
	Logger *slog.Logger
	TLS    *tls.Config // nil is plaintext
	HTTP   http.Handler
	// Patience bounds one request by HTTP; 0 is half a minute.
	Patience time.Duration
	// Register offers the services of the gRPC server.
	Register func(grpc.ServiceRegistrar)
}

// Mux serves on one listener.
type Mux struct {
	opts Options
	grpc *grpc.Server
	http *http.Server
	h2   *connListener
	h1   *connListener

	mu        sync.Mutex
	closed    bool
	late      *lateServer // of new connections while the port drains
	listens   net.Listener
	detecting map[net.Conn]bool // connections of which nobody knows yet what they speak
	running   sync.WaitGroup
}

// New makes a port that is not open yet.
func New(o Options) *Mux {
	if o.Patience == 0 {
		o.Patience = patience
	}
	if o.TLS != nil {
		o.TLS = o.TLS.Clone()
		// curl and browsers offer both, and gRPC would answer them 415; clients of
		// gRPC offer h2 alone.
		o.TLS.NextProtos = []string{"http/1.1", "h2"}
	}
	p := &Mux{opts: o, detecting: map[net.Conn]bool{}}
	p.grpc = p.server(keepalive.ServerParameters{Time: ping, Timeout: pong})
	p.http = &http.Server{
		Handler: o.HTTP, ReadHeaderTimeout: min(detection, o.Patience), ReadTimeout: o.Patience, WriteTimeout: o.Patience,
		IdleTimeout: time.Minute, MaxHeaderBytes: mostHeaders,
		ErrorLog: slog.NewLogLogger(o.Logger.Handler(), slog.LevelWarn),
	}
	return p
}

// server makes one that speaks gRPC.
func (p *Mux) server(k keepalive.ServerParameters) *grpc.Server {
	g := grpc.NewServer(
		grpc.ForceServerCodecV2(codec.New()),
		grpc.KeepaliveParams(k),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: leastPing, PermitWithoutStream: true}),
		grpc.MaxConcurrentStreams(mostStreams),
		// Most connections are idle: without a buffer for reading, and with one for
		// writing that is given back, as it is by default, they cost nothing.
		grpc.ReadBufferSize(0), grpc.WriteBufferSize(buffer),
	)
	if p.opts.Register != nil {
		p.opts.Register(g)
	}
	return g
}

// Serve takes connections from l until Shutdown, and returns nil then.
func (p *Mux) Serve(l net.Listener) error {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return l.Close()
	}
	p.listens = l
	p.h1, p.h2 = newConnListener(l.Addr()), newConnListener(l.Addr())
	p.running.Add(2)
	p.mu.Unlock()
	go func() {
		defer p.running.Done()
		_ = p.http.Serve(p.h1) // ends by Shutdown
	}()
	go func() {
		defer p.running.Done()
		_ = p.grpc.Serve(p.h2) // ends by Shutdown
	}()
	return p.accept(l)
}

func (p *Mux) accept(l net.Listener) error {
	for {
		c, err := l.Accept()
		if err == nil {
			p.detect(c)
			continue
		}
		p.mu.Lock()
		closed := p.closed
		p.mu.Unlock()
		var timeout net.Error
		switch {
		case closed:
			return nil
		case errors.As(err, &timeout) && timeout.Timeout(), isTransient(err):
			p.opts.Logger.Warn("accept", "error", err)
			time.Sleep(50 * time.Millisecond) // until a descriptor is free again
		default:
			return err
		}
	}
}

// detect finds out what c speaks, beside the other connections.
func (p *Mux) detect(c net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		_ = c.Close() // nobody will use it
		return
	}
	p.detecting[c] = true
	p.running.Add(1)
	go func() {
		defer p.running.Done()
		told, h2, err := p.identify(c)
		p.mu.Lock()
		delete(p.detecting, c)
		p.mu.Unlock()
		if err != nil {
			p.opts.Logger.Debug("protocol detection", "remote", c.RemoteAddr().String(), "error", err)
			_ = c.Close() // the client gets no better answer
			return
		}
		p.conns(h2).give(told)
	}()
}

// identify reports whether c speaks HTTP/2, and what is left to read of it.
func (p *Mux) identify(c net.Conn) (net.Conn, bool, error) {
	if err := c.SetDeadline(time.Now().Add(detection)); err != nil {
		return nil, false, err
	}
	if p.opts.TLS != nil {
		t := tls.Server(c, p.opts.TLS)
		if err := t.Handshake(); err != nil {
			return nil, false, err
		}
		if chosen := t.ConnectionState().NegotiatedProtocol; chosen != "" {
			return t, chosen == "h2", c.SetDeadline(time.Time{})
		}
		c = t
	}
	first := make([]byte, len(preface))
	n, err := io.ReadFull(c, first)
	if err != nil {
		return nil, false, err
	}
	return &peeked{c, first[:n]}, bytes.Equal(first[:n], preface), c.SetDeadline(time.Time{})
}

// conns is who takes connections now.
func (p *Mux) conns(h2 bool) *connListener {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case !h2:
		return p.h1
	case p.late != nil:
		return p.late.conns
	}
	return p.h2
}

// preface begins HTTP/2, and no request of HTTP/1.1.
var preface = []byte("PRI * HTTP/2.0")

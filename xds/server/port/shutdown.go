package port

import (
	"context"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/keepalive"
)

// lateAge is after how long who comes while the port drains is told to open new streams
// elsewhere.
const lateAge = time.Second

// lateServer is who speaks gRPC on connections that come while the port drains.
type lateServer struct {
	grpc  *grpc.Server
	conns *connListener
	gone  chan struct{} // closed when those have gone that were there before
}

// Drain tells clients of gRPC to open new streams elsewhere. Theirs go on, and whoever comes is
// served still, for a while at a time, which services may refuse; by HTTP nobody is any more.
// Shutdown must follow.
func (p *Mux) Drain() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.late != nil || p.listens == nil || p.closed {
		return
	}
	late := &lateServer{conns: newConnListener(p.listens.Addr()), gone: make(chan struct{}),
		grpc: p.server(keepalive.ServerParameters{Time: ping, Timeout: pong, MaxConnectionAge: lateAge})}
	p.late = late
	p.running.Add(1)
	go func() {
		defer p.running.Done()
		_ = late.grpc.Serve(late.conns) // ends by Shutdown
	}()
	_ = p.h1.Close() // Serve tells
	go func() {      // ends with the last stream, by Shutdown at the latest
		p.grpc.GracefulStop()
		close(late.gone)
	}()
}

// Shutdown stops taking connections, tells clients of gRPC to open new streams elsewhere, lets
// requests end until ctx is over, and then closes what is left. Streams of gRPC must be ended
// by their services.
func (p *Mux) Shutdown(ctx context.Context) error {
	p.mu.Lock()
	p.closed = true
	late := p.late
	if p.listens != nil {
		_ = p.listens.Close() // Accept tells
	}
	for c := range p.detecting {
		_ = c.Close() // they have not asked anything yet
	}
	p.mu.Unlock()
	stopped := make(chan struct{})
	go func() { // at once: clients hear that new streams belong elsewhere
		if late != nil {
			late.grpc.GracefulStop()
			<-late.gone
		} else {
			p.grpc.GracefulStop()
		}
		close(stopped)
	}()
	err := p.http.Shutdown(ctx)
	if err != nil {
		_ = p.http.Close() // err says why
	}
	select {
	case <-stopped:
	case <-ctx.Done():
		p.grpc.Stop()
		if late != nil {
			late.grpc.Stop()
		}
		<-stopped
		err = ctx.Err()
	}
	p.running.Wait()
	return err
}

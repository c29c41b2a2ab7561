// Package accesslog receives what the sidecar's Envoy writes to its agent by Envoy's access log
// service: one service, for all who want to know of connections or requests.
//
// It promises that it counts every entry that comes, and keeps none.
package accesslog

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync/atomic"

	accesslogv3 "github.com/envoyproxy/go-control-plane/envoy/data/accesslog/v3"
	servicev3 "github.com/envoyproxy/go-control-plane/envoy/service/accesslog/v3"
	"google.golang.org/grpc"
)

// Receiver is the service. Its functions are called by several goroutines, and hold up what comes after on
// the same stream: they never wait.
type Receiver struct {
	servicev3.UnimplementedAccessLogServiceServer

	// Connection is told of each connection that has ended; nil is nobody.
	Connection func(*accesslogv3.AccessLogCommon)
	// Request is told of each line about a request, and of which log it is; nil is nobody.
	Request func(log string, line *accesslogv3.HTTPAccessLogEntry)

	received atomic.Uint64
}

// Register offers the service on g.
func (r *Receiver) Register(g *grpc.Server) { servicev3.RegisterAccessLogServiceServer(g, r) }

// Received is how many entries came so far.
func (r *Receiver) Received() uint64 { return r.received.Load() }

// StreamAccessLogs takes what Envoy writes until it goes.
func (r *Receiver) StreamAccessLogs(from grpc.ClientStreamingServer[servicev3.StreamAccessLogsMessage, servicev3.StreamAccessLogsResponse]) error {
	log := "" // only the first message says it
	for {
		m, err := from.Recv()
		if errors.Is(err, io.EOF) {
			return from.SendAndClose(&servicev3.StreamAccessLogsResponse{})
		}
		if err != nil {
			return err
		}
		if name := m.GetIdentifier().GetLogName(); name != "" {
			log = name
		}
		for _, e := range m.GetTcpLogs().GetLogEntry() {
			r.received.Add(1)
			if r.Connection != nil {
				r.Connection(e.GetCommonProperties())
			}
		}
		for _, e := range m.GetHttpLogs().GetLogEntry() {
			r.received.Add(1)
			if r.Request != nil {
				r.Request(log, e)
			}
		}
	}
}

// Serve receives at l until ctx ends, by the services that register offers.
func Serve(ctx context.Context, l net.Listener, register func(*grpc.Server)) error {
	g := grpc.NewServer()
	register(g)
	stop := context.AfterFunc(ctx, g.Stop)
	defer stop()
	if err := g.Serve(l); err != nil && ctx.Err() == nil {
		return fmt.Errorf("receive what envoy writes: %w", err)
	}
	return nil
}

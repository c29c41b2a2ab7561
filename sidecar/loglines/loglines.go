// Package loglines takes lines of access logs from the sidecar's Envoy and sends them on: by TCP, or to a file
// in the directory of logs.
//
// It promises that a receiver which is away or slow costs lines and nothing else: each has a bounded queue of
// its own, what does not fit in is counted and said, and Envoy never waits. It writes to regular files of one
// directory alone.
package loglines

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	collectorv1 "go.opentelemetry.io/proto/otlp/collector/logs/v1"
	"google.golang.org/grpc"

	"github.com/weftmesh/weft/xds/bootstrap"
)

// mostReceivers bounds how many receivers there are at a time: those of all lists of a sidecar are fewer.
const mostReceivers = 64

// Forwarder is the service that Envoy sends lines to. Run sends them on.
type Forwarder struct {
	collectorv1.UnimplementedLogsServiceServer

	dir     string
	log     *slog.Logger
	idle    time.Duration // after which a receiver is forgotten
	dropped atomic.Uint64

	mu        sync.Mutex
	closed    bool
	receivers map[string]*receiver
	sending   sync.WaitGroup
}

// New makes one that writes files to a directory.
func New(dir string, log *slog.Logger) *Forwarder {
	return &Forwarder{dir: dir, log: log, idle: 10 * time.Minute, receivers: map[string]*receiver{}}
}

// Register offers the service on g.
func (f *Forwarder) Register(g *grpc.Server) { collectorv1.RegisterLogsServiceServer(g, f) }

// Dropped is how many lines came and were written nowhere so far.
func (f *Forwarder) Dropped() uint64 { return f.dropped.Load() }

// Export takes records. It never waits.
func (f *Forwarder) Export(_ context.Context, q *collectorv1.ExportLogsServiceRequest) (*collectorv1.ExportLogsServiceResponse, error) {
	for _, of := range q.GetResourceLogs() {
		for _, s := range of.GetScopeLogs() {
			for _, r := range s.GetLogRecords() {
				if to, line, ok := read(r.GetBody()); ok {
					f.offer(to, line)
				} else {
					f.dropped.Add(1)
				}
			}
		}
	}
	return &collectorv1.ExportLogsServiceResponse{}, nil
}

// Run holds the receivers until ctx ends, then gives them a moment for what they have.
func (f *Forwarder) Run(ctx context.Context) {
	<-ctx.Done()
	f.mu.Lock()
	f.closed = true
	for _, r := range f.receivers {
		r.close()
	}
	f.mu.Unlock()
	f.sending.Wait()
}

// offer queues a line.
func (f *Forwarder) offer(to string, line []byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		f.dropped.Add(1)
		return
	}
	r := f.receivers[to]
	if r == nil {
		w := f.writerTo(to)
		if w == nil || len(f.receivers) >= mostReceivers {
			f.dropped.Add(1)
			return
		}
		r = newReceiver(to, w, f)
		f.receivers[to] = r
		f.sending.Go(func() { r.run() })
	}
	r.offer(line)
}

// forget ends a receiver that has nothing to do; not so where a line came in between.
func (f *Forwarder) forget(r *receiver) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if r.waiting() {
		return false
	}
	delete(f.receivers, r.to)
	return true
}

// writerTo is what writes to a receiver; nil where nobody knows how.
func (f *Forwarder) writerTo(to string) writer {
	if at, ok := strings.CutPrefix(to, bootstrap.LogTCP); ok {
		return &stream{address: at}
	}
	if name, ok := strings.CutPrefix(to, bootstrap.LogFile); ok {
		return &file{dir: f.dir, name: name}
	}
	return nil
}

package loglines

import (
	"bytes"
	"context"
	"errors"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"
)

// Bounds of one receiver.
const (
	mostQueued = 1 << 20 // bytes that wait
	firstPause = 100 * time.Millisecond
	longPause  = 10 * time.Second
	goodbye    = time.Second // for what is left when the sidecar ends
	sayEvery   = time.Minute // that lines are lost
)

// writer writes to one receiver. It is used by one goroutine.
type writer interface {
	// write writes whole lines, and says how many bytes of them the receiver was given. It opens what it
	// writes to where that is not open.
	write(ctx context.Context, lines []byte) (int, error)
	// close gives up what is open.
	close()
}

// receiver is one that lines are sent to.
type receiver struct {
	to     string
	writer writer
	of     *Forwarder

	mu      sync.Mutex
	queue   bytes.Buffer
	lost    uint64    // lines, since that was said
	said    time.Time // when it was said last
	closing bool
	came    chan struct{} // has an item where there is something new
	ended   context.Context
	end     context.CancelFunc
}

func newReceiver(to string, w writer, of *Forwarder) *receiver {
	r := &receiver{to: to, writer: w, of: of, came: make(chan struct{}, 1)}
	r.ended, r.end = context.WithCancel(context.Background())
	return r
}

// offer queues a line, or counts it as lost.
func (r *receiver) offer(line []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.queue.Len()+len(line) > mostQueued {
		r.lose(1)
		return
	}
	r.queue.Write(line)
	r.wake()
}

// lose counts lines; mu is held.
func (r *receiver) lose(n int) {
	r.lost += uint64(n)
	r.of.dropped.Add(uint64(n))
}

func (r *receiver) wake() {
	select {
	case r.came <- struct{}{}:
	default:
	}
}

func (r *receiver) waiting() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.queue.Len() > 0
}

// close ends it when it has sent what it has, and after a moment anyhow.
func (r *receiver) close() {
	r.mu.Lock()
	r.closing = true
	r.mu.Unlock()
	time.AfterFunc(goodbye, r.end)
	r.wake()
}

// next is what waits, once there is something; nil at the end.
func (r *receiver) next() []byte {
	idle := time.NewTimer(r.of.idle)
	defer idle.Stop()
	for {
		r.mu.Lock()
		lines, closing := bytes.Clone(r.queue.Bytes()), r.closing
		r.queue.Reset()
		r.mu.Unlock()
		switch {
		case len(lines) > 0:
			return lines
		case closing:
			return nil
		}
		select {
		case <-r.came:
		case <-idle.C:
			if r.of.forget(r) {
				return nil
			}
		}
	}
}

// run sends until the end.
func (r *receiver) run() {
	defer r.writer.close()
	defer r.end()
	for lines := r.next(); lines != nil; lines = r.next() {
		r.say(r.send(lines))
	}
}

// say says that lines are lost, or cannot be sent, once in a while.
func (r *receiver) say(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.lost == 0 && err == nil || time.Since(r.said) < sayEvery {
		return
	}
	r.of.log.Warn("lines of access logs are not delivered", "to", r.to, "lost", r.lost, "error", err)
	r.lost, r.said = 0, time.Now()
}

// send sends lines, and tries again for as long as others have room to wait. A line of which a receiver may
// have a part is sent again as a whole.
func (r *receiver) send(lines []byte) error {
	pauses := &backoff.ExponentialBackOff{InitialInterval: firstPause, RandomizationFactor: 0.5, Multiplier: 2, MaxInterval: longPause}
	for {
		n, err := r.writer.write(r.ended, lines)
		if err == nil {
			return nil
		}
		r.writer.close()
		if n > 0 {
			pauses.Reset()
		}
		lines = lines[bytes.LastIndexByte(lines[:n], '\n')+1:]
		if len(lines) == 0 {
			return nil
		}
		if errors.Is(err, errNever) || r.ended.Err() != nil {
			r.mu.Lock()
			r.lose(bytes.Count(lines, []byte("\n")))
			r.mu.Unlock()
			return err
		}
		r.say(err)
		select {
		case <-r.ended.Done():
		case <-time.After(pauses.NextBackOff()):
		}
	}
}

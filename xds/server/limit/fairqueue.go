package limit

import (
	"container/list"
	"context"
	"errors"
	"sync"
)

// FairQueue bounds how many of many callers are at work at once. Of those who wait each caller
// in turn gets the next place, whoever has asked more often; and none has all the places.
type FairQueue struct {
	places, each, queue int

	mu      sync.Mutex
	busy    int
	callers map[string]*caller // that are at work or wait
	waiting *list.List         // of *caller that may have the next place, each once
}

// caller is somebody who wants turns.
type caller struct {
	name  string
	busy  int
	queue *list.List    // of chan struct{}, closed when it is its turn
	place *list.Element // in waiting; nil while it has none there
}

// ErrQueue is that a caller waits for too many turns already.
var ErrQueue = errors.New("too many requests wait already")

// NewFairQueue gives places, of which one caller has at most each, and waits for at most queue.
func NewFairQueue(places, each, queue int) *FairQueue {
	return &FairQueue{places: places, each: each, queue: queue, callers: map[string]*caller{}, waiting: list.New()}
}

// Take waits for a place of a caller; done, which has to be called, gives it free. It is
// ErrQueue where the caller waits for too many, or the error of ctx.
func (t *FairQueue) Take(ctx context.Context, name string) (done func(), err error) {
	t.mu.Lock()
	c := t.callers[name]
	if c == nil {
		c = &caller{name: name, queue: list.New()}
		t.callers[name] = c
	}
	if c.queue.Len() >= t.queue {
		t.mu.Unlock()
		return nil, ErrQueue
	}
	turn := make(chan struct{})
	at := c.queue.PushBack(turn)
	t.line(c)
	t.give()
	t.mu.Unlock()
	select {
	case <-turn:
		return sync.OnceFunc(func() { t.leave(c) }), nil
	case <-ctx.Done():
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	select {
	case <-turn: // meanwhile
		t.end(c)
	default:
		c.queue.Remove(at)
		t.forget(c)
	}
	return nil, ctx.Err()
}

func (t *FairQueue) leave(c *caller) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.end(c)
}

// end gives a place of c to the next. It needs mu, as all below.
func (t *FairQueue) end(c *caller) {
	t.busy--
	c.busy--
	t.line(c)
	t.forget(c)
	t.give()
}

// line lets c wait for the next place, behind the others, if it wants one and may have it.
func (t *FairQueue) line(c *caller) {
	if c.place == nil && c.queue.Len() > 0 && c.busy < t.each {
		c.place = t.waiting.PushBack(c)
	}
}

// give gives the places that are free.
func (t *FairQueue) give() {
	for t.busy < t.places && t.waiting.Len() > 0 {
		c := t.waiting.Remove(t.waiting.Front()).(*caller)
		c.place = nil
		first := c.queue.Front()
		if first == nil {
			continue // it waits no more
		}
		close(c.queue.Remove(first).(chan struct{}))
		t.busy++
		c.busy++
		t.line(c)
	}
}

// forget forgets who neither works nor waits.
func (t *FairQueue) forget(c *caller) {
	if c.busy > 0 || c.queue.Len() > 0 {
		return
	}
	if c.place != nil {
		t.waiting.Remove(c.place)
		c.place = nil
	}
	delete(t.callers, c.name)
}

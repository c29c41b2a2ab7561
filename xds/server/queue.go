package server

import "sync"

// queue wakes streams: each at most once at a time, in the order in which they
// became dirty, by few workers. An idle queue has no goroutine.
type queue struct {
	mu      sync.Mutex
	waiting []*stream
	queued  map[*stream]bool
	workers int
	most    int
	idle    sync.WaitGroup
}

func newQueue(workers int) *queue {
	return &queue{queued: map[*stream]bool{}, most: workers}
}

// add has st refreshed, once for all adds until a worker takes it up.
func (q *queue) add(st *stream) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.queued[st] {
		return
	}
	q.queued[st] = true
	q.waiting = append(q.waiting, st)
	if q.workers < q.most {
		q.workers++
		q.idle.Add(1)
		go q.work()
	}
}

// has reports whether st still has to be refreshed.
func (q *queue) has(st *stream) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.queued[st]
}

// take says that st looks at the newest publication from here on.
func (q *queue) take(st *stream) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.queued, st)
}

func (q *queue) work() {
	defer q.idle.Done()
	for {
		q.mu.Lock()
		if len(q.waiting) == 0 {
			q.workers--
			q.waiting = nil
			q.mu.Unlock()
			return
		}
		st := q.waiting[0]
		q.waiting = q.waiting[1:]
		q.mu.Unlock()
		st.refresh()
	}
}

// wait returns when all that was added is done.
func (q *queue) wait() { q.idle.Wait() }

package files

import (
	"fmt"
	"sync"
	"time"
)

// Timed reads what may lie on a file system that does not answer, such as a mount whose server
// is gone: a read that takes too long fails, and goes on by itself. Of one name only one is
// under way, so that nothing piles up behind it.
type Timed struct {
	// Limit is how long one read may take.
	Limit time.Duration

	mu      sync.Mutex
	running map[string]*attempt
}

type attempt struct {
	done chan struct{}
	late <-chan time.Time
	text []byte
	err  error
}

// Read answers what read does for a name; who asks meanwhile shares the answer.
func (t *Timed) Read(name string, read func() ([]byte, error)) ([]byte, error) {
	t.mu.Lock()
	a := t.running[name]
	if a == nil {
		a = &attempt{done: make(chan struct{})}
		if t.running == nil {
			t.running = map[string]*attempt{}
		}
		t.running[name] = a
		late := make(chan time.Time)
		a.late = late
		timer := time.AfterFunc(t.Limit, func() { close(late) })
		go func() {
			a.text, a.err = read()
			timer.Stop()
			t.mu.Lock()
			delete(t.running, name)
			t.mu.Unlock()
			close(a.done)
		}()
	}
	t.mu.Unlock()
	select {
	case <-a.done:
		return a.text, a.err
	case <-a.late:
		return nil, fmt.Errorf("%s is not read within %v; look whether its file system answers", name, t.Limit)
	}
}

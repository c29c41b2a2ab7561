package attached

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/sidecar/attach"
)

// errLeft is the end of a question without a whole answer.
var errLeft = errors.New("the sidecar's agent has gone before its answer was whole; try again")

// question is one to the Envoy of a sidecar.
type question struct {
	id    uint64
	path  string
	parts chan *attach.Answer
	done  chan struct{} // closed when nobody waits any more
}

var questions atomic.Uint64 // counts them, for their ids

// Ask asks the Envoy of a dataplane for one of the paths of package attach, and writes
// the answer to w as it comes. One question at a time is under way on a stream; waiting
// for it counts as time of the answer.
func (s *Server) Ask(ctx context.Context, dp api.Ref, path string, w io.Writer) error {
	st := s.newest(dp)
	if st == nil {
		return attach.ErrNoStream
	}
	ctx, cancel := context.WithTimeoutCause(ctx, s.opts.AnswerWithin, attach.ErrLate)
	defer cancel()
	select {
	case st.turn <- struct{}{}:
		defer func() { <-st.turn }()
	case <-st.ctx.Done():
		return errLeft
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	q := &question{id: questions.Add(1), path: path, parts: make(chan *attach.Answer), done: make(chan struct{})}
	defer close(q.done)
	st.await(q)
	defer st.await(nil)
	select {
	case st.asks <- q:
	case <-st.ctx.Done():
		return errLeft
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return st.take(ctx, q, w)
}

// take writes the parts of an answer.
func (st *stream) take(ctx context.Context, q *question, w io.Writer) error {
	left := attach.LargestAnswer
	for {
		select {
		case a := <-q.parts:
			if left -= len(a.GetChunk()); left < 0 {
				return attach.ErrTooLarge
			}
			if len(a.GetChunk()) > 0 {
				if _, err := w.Write(a.GetChunk()); err != nil {
					return err
				}
			}
			switch {
			case a.GetError() != "":
				return fmt.Errorf("the sidecar says: %s", cut(a.GetError()))
			case a.GetEnd():
				return nil
			}
		case <-st.ctx.Done():
			return errLeft
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// cut bounds the words of an agent.
func cut(text string) string {
	const most = 1 << 10
	return text[:min(len(text), most)]
}

func (st *stream) await(q *question) {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.current = q
}

// answered hands a part to who waits for it; what nobody waits for is dropped.
func (st *stream) answered(a *attach.Answer) {
	st.mu.Lock()
	q := st.current
	st.mu.Unlock()
	if q == nil || q.id != a.GetId() {
		return
	}
	select {
	case q.parts <- a:
	case <-q.done:
	case <-st.ctx.Done():
	}
}

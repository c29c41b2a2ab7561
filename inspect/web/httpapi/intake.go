package httpapi

import (
	"errors"
	"io"
	"net/http"
	"sync"
)

// ErrBusy is the answer to who would make the control plane hold too much.
var ErrBusy = ProblemDetails{Status: http.StatusServiceUnavailable, Title: "Too much at once", Retry: "1",
	Detail: "too much is being sent at once; try again, with fewer documents at once"}

// TooMuch reports whether a body could not be read because too much is held.
func TooMuch(err error) bool {
	var p ProblemDetails
	return errors.As(err, &p) && p.Status == ErrBusy.Status
}

// Intake bounds how much of the bodies of requests is held: what has arrived of those that
// are not answered yet.
type Intake struct {
	all, each int

	mu   sync.Mutex
	held int
	by   map[string]int
}

// NewIntake holds at most all bytes, and each of those of one sender.
func NewIntake(all, each int) *Intake { return &Intake{all: all, each: each, by: map[string]int{}} }

// Serve makes the body of a request count as its sender's while next answers it. Where it
// would be too much its reader fails with the error that Refuse answers 503.
func (i *Intake) Serve(sender string, w http.ResponseWriter, r *http.Request, next http.Handler) {
	if r.Body == nil || r.Body == http.NoBody {
		next.ServeHTTP(w, r)
		return
	}
	b := &countedBody{ReadCloser: r.Body, of: i, sender: sender, answer: w.Header()}
	defer b.leave()
	r.Body = b
	next.ServeHTTP(w, r)
}

// countedBody is a body of which what was read counts.
type countedBody struct {
	io.ReadCloser
	of     *Intake
	sender string
	held   int
	answer http.Header
}

// Read is ErrBusy where too much would be held. The rest is not waited for then: else a sender
// that has stopped would never be told.
func (b *countedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.of.mu.Lock()
	defer b.of.mu.Unlock()
	b.add(n)
	if b.of.held > b.of.all || b.of.by[b.sender] > b.of.each {
		b.answer.Set("Connection", "close")
		return 0, ErrBusy
	}
	return n, err
}

// add needs mu.
func (b *countedBody) add(n int) {
	b.held += n
	b.of.held += n
	if b.of.by[b.sender] += n; b.of.by[b.sender] == 0 {
		delete(b.of.by, b.sender)
	}
}

// leave gives free what the body held.
func (b *countedBody) leave() {
	b.of.mu.Lock()
	defer b.of.mu.Unlock()
	b.add(-b.held)
}

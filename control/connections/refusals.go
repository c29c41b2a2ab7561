package connections

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/control/telemetry"
	"github.com/weftmesh/weft/xds/server/authn"
)

const (
	codeRefusedStream = "RefusedStream"
	// refusalKept is how long a refusal counts: who is refused tries again within seconds.
	refusalKept  = 10 * time.Minute
	mostRefusals = 1000 // dataplanes
)

// Refusals are the sidecars that were not let in and have not come since: why, so that nobody has to
// look for it in the log. A client may say that it is any dataplane, and nobody has proved that: what it
// says counts only of a dataplane that there is and that is not connected, and bounds what is kept. A
// replica knows of its own streams alone.
type Refusals struct {
	exists    func(api.Ref) bool // by the name by which a sidecar calls its dataplane
	connected func(api.Ref) bool

	mu sync.Mutex
	of map[api.Ref]*refusedStream // by that name
}

type refusedStream struct {
	why    string
	proved bool // who it is, by a token that is void by now
	times  int
	last   time.Time
}

func NewRefusals(exists, connected func(api.Ref) bool) *Refusals {
	return &Refusals{exists: exists, connected: connected, of: map[api.Ref]*refusedStream{}}
}

// Refused is told who was not let in, as a client says, and why.
func (r *Refusals) Refused(node string, err error) {
	mesh, name, ok := strings.Cut(node, ".")
	dp := api.Ref{Kind: api.KindDataplane, Mesh: mesh, Name: name}
	if !ok {
		dp = api.Ref{}
	}
	r.Note(dp, err)
}

// Note is told of which dataplane the sidecar says that it is.
func (r *Refusals) Note(dp api.Ref, err error) {
	switch status.Code(err) {
	case codes.Unavailable, codes.Canceled, codes.DeadlineExceeded, codes.Internal:
		return // that is no fault of the sidecar, and it tries again
	}
	var void *authn.VoidReason
	proved := errors.As(err, &void)
	if proved {
		dp = void.Dataplane.AsNode()
	}
	if dp.Name == "" || !proved && !r.exists(dp) {
		return
	}
	now := time.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	x := r.of[dp]
	if x == nil {
		if len(r.of) >= mostRefusals {
			maps.DeleteFunc(r.of, func(_ api.Ref, x *refusedStream) bool { return now.Sub(x.last) > refusalKept })
		}
		if len(r.of) >= mostRefusals {
			return
		}
		x = &refusedStream{}
		r.of[dp] = x
	}
	x.why, x.proved, x.last = telemetry.Truncate(status.Convert(err).Message()), proved, now
	x.times++
}

// Joined is told of each stream that was let in.
func (r *Refusals) Joined(dp api.Ref) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.of, dp.AsNode())
}

// Notes say which sidecars are kept out, and why.
func (r *Refusals) Notes() (out []api.Note) {
	now := time.Now()
	r.mu.Lock()
	all := map[api.Ref]refusedStream{}
	for dp, x := range r.of {
		if now.Sub(x.last) > refusalKept {
			delete(r.of, dp)
			continue
		}
		all[dp] = *x
	}
	r.mu.Unlock()
	for _, dp := range slices.SortedFunc(maps.Keys(all), api.Ref.Compare) {
		x := all[dp]
		if r.connected(dp) || !x.proved && !r.exists(dp) {
			continue
		}
		text := fmt.Sprintf("its sidecar is not let in, last at %s (%d times): %s", x.last.UTC().Format(time.RFC3339), x.times, x.why)
		if x.proved {
			text += fmt.Sprintf(": `weft token dataplane --mesh %s --name %s`", dp.Mesh, dp.Name)
		}
		out = append(out, api.Note{Origin: &api.Origin{Ref: dp}, Severity: api.Error, Code: codeRefusedStream, Message: text})
	}
	return out
}

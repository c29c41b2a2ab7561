package peers

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/status"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/inspect"
	"github.com/weftmesh/weft/inspect/web/sidecars"
)

// State is a sidecar whose stream a peer has.
type State struct {
	Sidecar inspect.Sidecar
	Stream  sidecars.Stream
}

// Sidecars are those whose streams peers have; of one that two have, both.
func (r *Replica) Sidecars() (out []State) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for address, p := range r.ledger.peers {
		for ref, e := range p.sidecars {
			if e.told.GetStream() != nil {
				out = append(out, r.state(address, p, ref, e))
			}
		}
	}
	return out
}

// Sidecar is one of them, of several the one whose stream is the newest.
func (r *Replica) Sidecar(ref api.Ref) (newest State, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for address, p := range r.ledger.peers {
		e := p.sidecars[ref]
		if since := e.stream().GetSince(); e.stream() != nil && (!ok || time.Unix(0, since).After(newest.Stream.Since)) {
			newest, ok = r.state(address, p, ref, e), true
		}
	}
	return newest, ok
}

func (e *entry) stream() *Stream {
	if e == nil {
		return nil
	}
	return e.told.GetStream()
}

// state needs mu.
func (r *Replica) state(address string, p *peerState, ref api.Ref, e *entry) State {
	name := address
	if f := r.following[address]; f != nil {
		name = f.name
	}
	s, stream := r.ledger.state(name, p, ref, e)
	return State{s, stream}
}

// Resolving is beside how many dataplanes of a mesh peers know agents with a resolver.
func (r *Replica) Resolving(mesh string) (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, p := range r.ledger.peers {
		n += p.resolving[mesh]
	}
	return n
}

// Silent says which peers do not answer, each with what follows from it: what they hold is
// in no answer.
func (r *Replica) Silent() (notes []api.Note) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	for address, f := range r.following {
		if f.self {
			continue
		}
		p := r.ledger.peers[address]
		silent := now.Sub(f.lastHeard) > heartbeat+Patience
		if f.lastHeard.IsZero() || p == nil || !p.whole {
			silent = (f.peer.Ready || f.peer.Stopping && !f.left) && now.Sub(f.since) > Patience
		}
		if !silent {
			continue
		}
		why := ""
		if f.why != nil {
			why = ": " + status.Convert(f.why).Message()
		}
		does := "does not answer"
		if f.peer.Stopping {
			does = "is stopping and does not answer"
		}
		notes = append(notes, api.Note{Severity: api.Warning, Code: "SilentReplica",
			Message: fmt.Sprintf("the replica %s at %s %s, so sidecars that are connected to it count as absent%s", cmp.Or(f.name, f.peer.Name), address, does, why)})
	}
	slices.SortFunc(notes, func(a, b api.Note) int { return strings.Compare(a.Message, b.Message) })
	return notes
}

// Differing says which peers do not follow the same documents as this replica, for longer than
// it takes to find a new kind: what they serve is not what this one says of it.
func (r *Replica) Differing() (notes []api.Note) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for address, f := range r.following {
		if f.differs.IsZero() || time.Since(f.differs) < silence {
			continue
		}
		here, there := r.ledger.differs(r.ledger.peers[address])
		for _, x := range []struct {
			what, of string
			names    []string
		}{{"does not read", "this one reads", here}, {"reads", "this one does not read", there}} {
			if len(x.names) > 0 {
				notes = append(notes, api.Note{Severity: api.Warning, Code: "DifferentReplica",
					Message: fmt.Sprintf("the replica %s at %s %s documents that %s (%s), so what it serves may not be what is shown here; give all replicas the same flags and release", f.name, address, x.what, x.of, strings.Join(x.names, ", "))})
			}
		}
	}
	slices.SortFunc(notes, func(a, b api.Note) int { return strings.Compare(a.Message, b.Message) })
	return notes
}

// Count is how many other replicas there are, apart those that are silent.
func (r *Replica) Count() (answering, silent int) {
	silent = len(r.Silent())
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, f := range r.following {
		if !f.self {
			answering++
		}
	}
	return max(answering-silent, 0), silent
}

// Settle waits until it is known which peers there are and each has told all that it holds,
// or for Patience, or until ctx ends.
func (r *Replica) Settle(ctx context.Context) {
	for end := time.Now().Add(Patience); ctx.Err() == nil && time.Now().Before(end) && !r.settled(); {
		select {
		case <-ctx.Done():
		case <-time.After(Patience / 50):
		}
	}
}

func (r *Replica) settled() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for address, f := range r.following {
		if p := r.ledger.peers[address]; !f.self && !f.over && (p == nil || !p.whole) {
			return false
		}
	}
	return r.found
}

// holder is the connection to a peer that has the stream of a sidecar: that of its agent, or
// for an empty path that of ADS.
func (r *Replica) holder(ref api.Ref, path string) *grpc.ClientConn {
	r.mu.Lock()
	defer r.mu.Unlock()
	for address, p := range r.ledger.peers {
		if e := p.sidecars[ref]; e != nil && (path != "" && e.told.GetAttached() || path == "" && e.told.GetStream() != nil) {
			if f := r.following[address]; f != nil {
				return f.conn
			}
		}
	}
	return nil
}

// Pass has the peer that holds a sidecar ask its Envoy, and writes the answer as it comes: see
// attached.Server.Ask. An empty path is for what ADS has sent. It is false where no peer
// holds it.
func (r *Replica) Pass(ctx context.Context, ref api.Ref, path string, w io.Writer) (bool, error) {
	conn := r.holder(ref, path)
	if conn == nil {
		return false, nil
	}
	return true, r.ask(ctx, conn, ref, path, w)
}

package peers

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/weftmesh/weft/inspect/web/events"
	"github.com/weftmesh/weft/store"
	"github.com/weftmesh/weft/xds/server/streams"
)

// Bounds on peers that do not answer.
const (
	// Patience is how long a question waits for peers, and after which one is silent.
	Patience = time.Second
	// silence is after how long without a word a stream is given up, and with it all that
	// the peer has told.
	silence = 10 * time.Second
	// again is the pause between attempts to follow a peer.
	again = 500 * time.Millisecond
	// largestTold bounds one message of a peer, in bytes.
	largestTold = 16 << 20
)

// following is the connection to one peer.
type following struct {
	peer  store.ReplicaAddress
	stop  context.CancelFunc
	since time.Time // it was found
	self  bool      // it is this replica
	over  bool      // nobody follows it any more

	conn      *grpc.ClientConn // of the last stream; nil while there is none
	name      string           // as it calls itself, once it has
	lastHeard time.Time        // the last word; zero while there is no stream
	why       error            // why there is none
	left      bool             // it has ended the last one itself, which it does when it holds nothing more

	differs time.Time // since when it has followed other resources than this replica; zero while it does not
}

// errSilent ends a stream on which nothing comes.
var errSilent = errors.New("it says nothing")

// errSelf ends a stream to this replica itself.
var errSelf = errors.New("it is this replica")

// Find makes these the peers that there are. Those that are gone are followed for as long as
// they answer: they may still hold sidecars. A peer that has several addresses is followed at
// one, the same for as long as it has that.
func (r *Replica) Find(ctx context.Context, peers []store.ReplicaAddress) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.found = true
	listed := map[string]bool{}
	for _, p := range r.once(peers) {
		if p.Name != "" && p.Name == r.cfg.Name || r.closed {
			continue
		}
		listed[p.Address] = true
		if f := r.following[p.Address]; f != nil && !f.over {
			f.peer = p
			continue
		}
		f := &following{peer: p, since: time.Now()}
		var running context.Context
		running, f.stop = context.WithCancel(ctx)
		r.following[p.Address] = f
		r.running.Go(func() { r.follow(running, f, p.Address) })
	}
	for address, f := range r.following {
		if listed[address] {
			continue
		}
		f.peer = store.ReplicaAddress{} // which is not dialled again
		if f.lastHeard.IsZero() {
			f.stop()
			delete(r.following, address)
		}
	}
}

// once are peers with one address each: the one at which it is followed, or the first. It
// needs mu.
func (r *Replica) once(all []store.ReplicaAddress) (out []store.ReplicaAddress) {
	at := map[string]int{} // of the peer in out, by its name
	for _, p := range all {
		i, known := at[p.Name]
		switch f := r.following[p.Address]; {
		case p.Name == "" || !known:
			at[p.Name] = len(out)
			out = append(out, p)
		case f != nil && !f.over && !f.lastHeard.IsZero():
			out[i] = p
		}
	}
	return out
}

// follow keeps a stream to a peer until ctx ends, or the peer ends that is not listed.
func (r *Replica) follow(ctx context.Context, f *following, address string) {
	said := ""
	defer f.stop()
	for ctx.Err() == nil {
		started := time.Now()
		begun, err := r.followOnce(ctx, f, address)
		if ctx.Err() != nil {
			break
		}
		// A token lasts an hour: with the next one what the peer has told is told anew.
		if begun && status.Code(err) == codes.Unauthenticated && time.Since(started) > again {
			continue
		}
		r.end(f, address)
		r.mu.Lock()
		f.self = f.self || errors.Is(err, errSelf)
		f.left = f.left || begun && status.Convert(err).Message() == status.Convert(streams.ErrClosed).Message()
		f.why = err
		gone := f.peer.Address == "" || f.self
		r.mu.Unlock()
		if gone {
			break
		}
		if text := status.Convert(err).Message(); text != said {
			said = text
			r.cfg.Log.Info("a peer is not followed", "address", address, "error", text)
		}
		select {
		case <-ctx.Done():
		case <-time.After(again):
		}
	}
	r.end(f, address)
	r.mu.Lock()
	defer r.mu.Unlock()
	f.over = true
}

// followOnce follows a peer until its stream ends, and says whether it has begun.
func (r *Replica) followOnce(ctx context.Context, f *following, address string) (begun bool, err error) {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	ctx, err = r.proving(ctx)
	if err != nil {
		return false, err
	}
	watchdog := time.AfterFunc(silence, func() { end(errSilent) })
	defer watchdog.Stop()
	// A connection each time: who is trusted may be another than the last time.
	conn, err := grpc.NewClient("passthrough:///"+address, grpc.WithTransportCredentials(credentials.NewTLS(r.cfg.TLS())), grpc.WithContextDialer(r.cfg.Dial),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(largestTold)))
	if err != nil {
		return false, err
	}
	defer func() {
		if !begun {
			_ = conn.Close() // nobody uses it
		}
	}()
	g, err := NewPeersClient(conn).Follow(ctx)
	if err != nil {
		return false, err
	}
	wanted, changed := r.cfg.Events.Wanted()
	if err := g.Send(&Interest{Replica: r.cfg.Name, Events: wanted}); err != nil {
		_, err = g.Recv() // which says why
		return false, err
	}
	first, err := g.Recv()
	switch {
	case err != nil:
		return false, err
	case first.GetReplica() == r.cfg.Name:
		return false, errSelf
	}
	r.begin(f, conn, address, first.GetReplica())
	go r.want(ctx, g, changed)
	for {
		t, err := g.Recv()
		if cause := context.Cause(ctx); errors.Is(cause, errSilent) {
			return true, errSilent
		}
		if err != nil {
			return true, err
		}
		watchdog.Reset(silence)
		r.hear(f, address, t)
	}
}

// want tells a peer whether events are wanted, whenever that has changed, until ctx ends.
func (r *Replica) want(ctx context.Context, g Peers_FollowClient, changed <-chan struct{}) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-changed:
			var wanted bool
			wanted, changed = r.cfg.Events.Wanted()
			_ = g.Send(&Interest{Replica: r.cfg.Name, Events: wanted}) // Recv says why not
		}
	}
}

// proving adds the credentials of this replica, which may be renewed at any time.
func (r *Replica) proving(ctx context.Context) (context.Context, error) {
	token, err := r.cfg.Token()
	return metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+token), err
}

// begin has what a peer tells from now on taken, beside what it has told until it is whole.
func (r *Replica) begin(f *following, conn *grpc.ClientConn, address, name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f.hangUp()
	f.conn, f.name, f.lastHeard, f.why, f.left = conn, name, time.Now(), nil, false
	r.ledger.begin(address)
	r.cfg.Log.Info("a peer is followed", "address", address, "replica", name)
}

// end forgets what a peer has told, if anything.
func (r *Replica) end(f *following, address string) {
	r.mu.Lock()
	had := f.conn != nil
	if had {
		f.hangUp()
		f.lastHeard = time.Time{}
		r.ledger.end(address)
	}
	r.mu.Unlock()
	if had {
		r.cfg.Changed()
	}
}

// hangUp needs Replica.mu.
func (f *following) hangUp() {
	if f.conn != nil {
		_ = f.conn.Close() // it is not used any more
		f.conn = nil
	}
}

func (r *Replica) hear(f *following, address string, t *Told) {
	r.mu.Lock()
	f.lastHeard = time.Now()
	r.ledger.hear(address, t)
	if here, there := r.ledger.differs(r.ledger.peers[address]); len(here)+len(there) == 0 {
		f.differs = time.Time{}
	} else if f.differs.IsZero() {
		f.differs = f.lastHeard
	}
	r.mu.Unlock()
	if len(t.GetSidecars())+len(t.GetGone())+len(t.GetHeard()) > 0 {
		r.cfg.Changed()
	}
	r.learn(f, t)
	if n := t.GetMissed(); n > 0 {
		r.cfg.Events.Miss(n)
	}
	for _, text := range t.GetEvents() {
		var e events.Event
		if json.Unmarshal(text, &e) == nil && (e.Dataplane != "" || e.Type == "tap") {
			e.Replica, e.Revision = f.name, 0 // which counts what that replica has seen
			r.cfg.Events.Publish(e)
		}
	}
}

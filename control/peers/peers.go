// Package peers makes the replicas of a control plane know of each other's sidecars
// (spec/kubernetes.md 6.4), so that counts are whole and every replica answers every
// question.
//
// Each replica tells the others which streams it has, and what changes, over one stream to
// each; nobody keeps what he was told beyond the end of that stream, but for the moment that
// a stream with a renewed token needs. It promises that what is told follows the change and
// not the mesh, that no question waits for a peer, and that one that says nothing is named.
// It elects nobody and stores nothing.
package peers

import (
	"context"
	"crypto/tls"
	"log/slog"
	"net"
	"sync"

	"google.golang.org/grpc"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/inspect/web/events"
	"github.com/weftmesh/weft/store"
	"github.com/weftmesh/weft/xds/server"
	"github.com/weftmesh/weft/xds/server/attached"
	"github.com/weftmesh/weft/xds/server/authn"
	"github.com/weftmesh/weft/xds/server/streams"
)

//go:generate go run -C ../../hack/protogen . "$PWD/peers.proto"

// Config is what a Replica is made of.
type Config struct {
	Name   string // of this replica among its peers
	ADS    *server.Server
	Agents *attached.Server
	Events *events.Bus
	// NameOf is the name of a dataplane by the one that its sidecar has for it.
	NameOf func(api.Ref) api.Ref
	// Changed is told whenever a peer has told something of its sidecars.
	Changed func()
	// Settled is told when the store has moved, so that the sidecars of peers may be in sync
	// that were not; nil tells nobody.
	Settled func()
	// SidecarTLS is what is known here first of a sidecar's certificate and connections, nil for
	// nothing, and whether its Envoy has acknowledged that it takes mutual TLS; attached says that
	// its agent has a stream here. Nil tells nothing.
	SidecarTLS func(dp api.Ref, attached bool) (s *Secured, tls bool)
	// OnSidecar is told of each sidecar that a peer has told of, and Learns how far it is with what it
	// knows of its sidecars (see Learnt), for Follows to say when that holds here; nil for who does
	// not want it.
	OnSidecar func(api.Ref, *Sidecar)
	Learns    func(store.Position)
	// Do does what a peer asks of the leader, as Send was told; ErrNotLeading where this replica
	// does not lead. Nil does nothing.
	Do func(ctx context.Context, text []byte) (*Outcome, error)
	// Sums answers a question of a peer for what sidecars counted here; nil answers none.
	Sums func(question []byte) ([]byte, error)
	// Authenticator lets peers in, and TLS and Token are how this replica comes to them.
	Authenticator authn.Authenticator
	TLS           func() *tls.Config
	Token         func() (string, error)
	// Dial reaches an address; nil is by the network.
	Dial func(ctx context.Context, address string) (net.Conn, error)
	Log  *slog.Logger
}

// Replica is this one among its peers.
type Replica struct {
	UnimplementedPeersServer

	cfg     Config
	running sync.WaitGroup // connections to peers
	telling sync.WaitGroup // followers

	// Streams tell what happens on them while they hold locks of their own: nobody else is
	// asked anything under mu.
	mu        sync.Mutex
	closed    bool
	found     bool // it was said once which peers there are
	ledger    *ledger
	said      store.Position
	names     []string // of the resources that this replica follows, as followers were told
	followers map[*follower]bool
	following map[string]*following // by address
}

// New knows no peers yet, and how the store moves from now on; Begin must follow.
func New() *Replica {
	return &Replica{ledger: newLedger(), said: store.Position{}, followers: map[*follower]bool{}, following: map[string]*following{}}
}

// Begin says all else, before the first stream and the first publication.
func (r *Replica) Begin(cfg Config) {
	if cfg.Dial == nil {
		cfg.Dial = func(ctx context.Context, address string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "tcp", address)
		}
	}
	r.cfg = cfg
}

// Register offers the replica's service on g.
func (r *Replica) Register(g grpc.ServiceRegistrar) { RegisterPeersServer(g, r) }

// Shutdown ends all streams, and waits until they are gone, or ctx is over.
func (r *Replica) Shutdown(ctx context.Context) error {
	r.mu.Lock()
	r.closed = true
	for f := range r.followers {
		f.end(streams.ErrClosed)
	}
	for _, f := range r.following {
		f.stop()
	}
	r.mu.Unlock()
	return streams.Gone(ctx, func() { r.telling.Wait(); r.running.Wait() })
}

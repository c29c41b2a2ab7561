package peers_test

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/control/peers"
	"github.com/weftmesh/weft/inspect/web/events"
	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/sidecar/attach"
	"github.com/weftmesh/weft/store"
	"github.com/weftmesh/weft/xds/server"
	"github.com/weftmesh/weft/xds/server/attached"
	"github.com/weftmesh/weft/xds/server/authn"
	"github.com/weftmesh/weft/xds/server/authority"
	"github.com/weftmesh/weft/xds/server/port"
)

// replica is one of a control plane without documents.
type replica struct {
	*peers.Replica
	t       *testing.T
	port    *port.Mux
	agents  *attached.Server
	events  *events.Bus
	trusts  *tls.Config
	address string
	lasts   time.Duration // of the tokens of who comes; 0 for ever
	came    atomic.Int64
}

// Authenticate takes everybody, for a while.
func (r *replica) Authenticate(context.Context, string) (authn.Identity, error) {
	r.came.Add(1)
	if r.lasts == 0 {
		return authn.Identity{}, nil
	}
	return authn.Identity{Expires: time.Now().Add(r.lasts)}, nil
}

// start serves a replica whose peers' tokens last for a while.
func start(t *testing.T, name string, lasts time.Duration) *replica {
	t.Helper()
	ca, err := authority.Load(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	r := &replica{Replica: peers.New(), t: t, events: events.NewBus(), lasts: lasts, trusts: peers.TLSOf("localhost", ca.PEM())}
	ads, o := server.New(server.Default()), attached.Default()
	o.SidecarChanged = r.SidecarChanged
	agents := attached.New(o)
	r.agents = agents
	model, _ := resolve.Compile(snapshot.New(1), nil, nil)
	r.Begin(peers.Config{Name: name, ADS: ads, Agents: agents, Events: r.events, Authenticator: r, Log: slog.New(slog.DiscardHandler), Changed: func() {},
		NameOf: func(ref api.Ref) api.Ref { return ref }, TLS: func() *tls.Config { return r.trusts }, Token: func() (string, error) { return "t", nil }})
	ads.Publish(model, resolve.Affected{})
	r.Published(model, 1, nil)
	r.port = port.New(port.Options{Logger: slog.New(slog.DiscardHandler), TLS: ca.TLS(), HTTP: http.NotFoundHandler(), Register: func(g grpc.ServiceRegistrar) {
		r.Register(g)
		agents.Register(g)
	}})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r.address = l.Addr().String()
	served := make(chan error, 1)
	go func() { served <- r.port.Serve(l) }()
	t.Cleanup(func() {
		ctx := context.Background()
		if err := errors.Join(r.Replica.Shutdown(ctx), agents.Shutdown(ctx), r.port.Shutdown(ctx), <-served); err != nil {
			t.Error(err)
		}
	})
	return r
}

// follows has r follow another.
func (r *replica) follows(other *replica) {
	r.trusts = other.trusts
	r.Find(r.t.Context(), []store.ReplicaAddress{{Address: other.address}})
}

// resolver connects the agent of a sidecar that resolves names.
func (r *replica) resolver(node string) {
	r.t.Helper()
	conn, err := grpc.NewClient(r.address, grpc.WithTransportCredentials(credentials.NewTLS(r.trusts)))
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { conn.Close() })
	g, err := attach.NewSidecarClient(conn).Attach(r.t.Context())
	if err == nil {
		err = g.Send(&attach.Up{Is: &attach.Up_Hello{Hello: &attach.Hello{NodeId: node, Names: true}}})
	}
	if err != nil {
		r.t.Fatal(err)
	}
}

func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !is(); {
		if time.Now().After(end) {
			t.Fatalf("not in a minute: %s", what)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// TestNothingIsForgottenWhileATokenIsRenewed: what a peer has told is there all the time,
// though each token of this replica's ends the stream on which it is told.
func TestNothingIsForgottenWhileATokenIsRenewed(t *testing.T) {
	t.Parallel()
	a, b := start(t, "a", 0), start(t, "b", time.Second)
	b.resolver("default.web")
	a.follows(b)
	eventually(t, "the peer tells of its sidecar", func() bool { return a.Resolving("default") == 1 })
	eventually(t, "two tokens have ended", func() bool {
		if n := a.Resolving("default"); n != 1 {
			t.Fatalf("%d sidecars are known after %d streams", n, b.came.Load())
		}
		return b.came.Load() > 2
	})
}

// TestAPeerThatIsTooSlowIsToldSo: how many events of streams were dropped for it.
func TestAPeerThatIsTooSlowIsToldSo(t *testing.T) {
	t.Parallel()
	b := start(t, "b", 0)
	conn, err := grpc.NewClient(b.address, grpc.WithTransportCredentials(credentials.NewTLS(b.trusts)))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	g, err := peers.NewPeersClient(conn).Follow(t.Context())
	if err == nil {
		err = g.Send(&peers.Interest{Replica: "a", Events: true})
	}
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "it listens", b.events.HasListeners)
	for range 200_000 { // more than all buffers on the way hold
		b.events.Publish(events.Event{Type: "ack", Dataplane: "web", Message: strings.Repeat("x", 100)})
	}
	for missed := uint64(0); missed == 0; {
		told, err := g.Recv()
		if err != nil {
			t.Fatalf("it was not told what it missed: %v", err)
		}
		missed = told.GetMissed()
		b.events.Publish(events.Event{Type: "ack", Dataplane: "web"})
	}
}

// TestAReplicaThatDrainsIsFollowed: who comes while the streams of its sidecars end one after the
// other is told of those that are left, and may ask them.
func TestAReplicaThatDrainsIsFollowed(t *testing.T) {
	t.Parallel()
	a, b := start(t, "a", 0), start(t, "b", 0)
	b.resolver("default.web")
	eventually(t, "the agent is there", func() bool { return len(b.agents.Attached()) == 1 })
	b.port.Drain()
	a.follows(b)
	eventually(t, "its sidecar is told of", func() bool { return a.Resolving("default") == 1 })
	if err := b.Replica.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	eventually(t, "it is gone with the stream", func() bool { return a.Resolving("default") == 0 })
}

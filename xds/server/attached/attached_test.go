package attached_test

import (
	"bytes"
	"context"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/sidecar/attach"
	"github.com/weftmesh/weft/xds/server/attached"
	"github.com/weftmesh/weft/xds/server/authn"
)

// byToken takes any text for the token of anybody.
type byToken struct{}

func (byToken) Authenticate(_ context.Context, credentials string) (authn.Identity, error) {
	return authn.Identity{Token: credentials}, nil
}

var web = api.Ref{Kind: api.KindDataplane, Mesh: "default", Name: "web"}

// bed is a server of streams whose names a test decides.
type bed struct {
	*attached.Server
	t    *testing.T
	conn *grpc.ClientConn

	mu    sync.Mutex
	names *attach.Names
}

func newBed(t *testing.T) *bed {
	b := &bed{t: t}
	o := attached.Default()
	o.Authenticator, o.Known = byToken{}, func(api.Ref) bool { return true }
	o.Names = func(api.Ref) *attach.Names {
		b.mu.Lock()
		defer b.mu.Unlock()
		return b.names
	}
	b.Server = attached.New(o)
	g := grpc.NewServer()
	b.Register(g)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = g.Serve(l) }() // ends by Stop
	t.Cleanup(g.Stop)
	if b.conn, err = grpc.NewClient(l.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials())); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.conn.Close() })
	return b
}

// open is a stream of an agent of web, once the server has it.
func (b *bed) open(token string, hello *attach.Hello) attach.Sidecar_AttachClient {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.t.Context(), time.Minute)
	b.t.Cleanup(cancel)
	g, err := attach.NewSidecarClient(b.conn).Attach(metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+token))
	if err != nil {
		b.t.Fatal(err)
	}
	hello.NodeId, hello.Version = "default.web", token
	if err := g.Send(&attach.Up{Is: &attach.Up_Hello{Hello: hello}}); err != nil {
		b.t.Fatal(err)
	}
	b.until(func() bool { st, _ := b.Stream(web); return st.Version == token }) // the newest is this one
	return g
}

func (b *bed) until(holds func() bool) {
	b.t.Helper()
	for end := time.Now().Add(time.Minute); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			b.t.Fatal("not in a minute")
		}
	}
}

func (b *bed) hears(g attach.Sidecar_AttachClient) *attach.Down {
	b.t.Helper()
	down, err := g.Recv()
	if err != nil {
		b.t.Fatal(err)
	}
	return down
}

// TestOneQuestionAtATime: many ask one sidecar; the agent hears the next question when it has
// ended the answer before, and everybody gets what belongs to theirs.
func TestOneQuestionAtATime(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	g := b.open("a", &attach.Hello{})
	const askers = 8
	var all sync.WaitGroup
	for range askers {
		all.Go(func() {
			var out bytes.Buffer
			if err := b.Ask(t.Context(), web, "stats", &out); err != nil || out.String() != "12" {
				t.Errorf("answered %q, %v", out.String(), err)
			}
		})
	}
	heard := make(chan *attach.Ask, askers)
	go func() {
		for {
			down, err := g.Recv()
			if err != nil {
				return // the test is over
			}
			heard <- down.GetAsk()
		}
	}()
	for range askers {
		q := <-heard
		for _, part := range []*attach.Answer{{Id: q.GetId() + 1, Chunk: []byte("of nobody")}, {Id: q.GetId(), Chunk: []byte("1")}} {
			if err := g.Send(&attach.Up{Is: &attach.Up_Answer{Answer: part}}); err != nil {
				t.Fatal(err)
			}
		}
		select {
		case q := <-heard:
			t.Fatalf("question %d comes while one is under way", q.GetId())
		case <-time.After(5 * time.Millisecond):
		}
		if err := g.Send(&attach.Up{Is: &attach.Up_Answer{Answer: &attach.Answer{Id: q.GetId(), Chunk: []byte("2"), End: true}}}); err != nil {
			t.Fatal(err)
		}
	}
	all.Wait()
	if err := b.Ask(t.Context(), api.Ref{Kind: api.KindDataplane, Mesh: "default", Name: "none"}, "stats", new(bytes.Buffer)); err != attach.ErrNoStream {
		t.Errorf("a sidecar without a stream: %v", err)
	}
}

// TestRevocation: a stream ends with the token that opened it, and who waits for an answer
// over it hears so; those of other tokens stay.
func TestRevocation(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	first, second := b.open("first", &attach.Hello{Names: true}), b.open("second", &attach.Hello{Names: true})
	b.until(func() bool { return b.Resolving("default") == 1 })
	b.Revoke("first")
	if _, err := first.Recv(); status.Code(err) != codes.Unauthenticated || !strings.Contains(err.Error(), "revoked") {
		t.Errorf("the stream of a revoked token: %v", err)
	}
	asked := make(chan error, 1)
	go func() { asked <- b.Ask(t.Context(), web, "stats", new(bytes.Buffer)) }()
	if b.hears(second).GetAsk() == nil {
		t.Error("the other stream is not asked")
	}
	b.RevokeOf(web, func(token string) bool { return token != "second" })
	b.RevokeOf(web, func(token string) bool { return token == "second" })
	if err := <-asked; err == nil || !strings.Contains(err.Error(), "has gone") {
		t.Errorf("a question that is under way: %v", err)
	}
	b.until(func() bool { _, ok := b.Stream(web); return !ok && b.Resolving("default") == 0 })
}

// TestNamesAndAuthorities: each goes out once, and when it has changed: to who takes changes
// what has changed, to others the whole list.
func TestNamesAndAuthorities(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	list := func(version string, names ...string) {
		n := &attach.Names{Version: version}
		for _, name := range names {
			n.Names = append(n.Names, &attach.Name{Name: name})
		}
		b.mu.Lock()
		b.names = n
		b.mu.Unlock()
		b.Publish([]api.Ref{web})
	}
	list("1", "a", "b", "c", "d")
	newer := b.open("newer", &attach.Hello{Names: true, Changes: true})
	if n := b.hears(newer).GetNames(); n.GetVersion() != "1" || n.GetSince() != "" || len(n.GetNames()) != 4 {
		t.Errorf("the first list is %v", n)
	}
	older := b.open("older", &attach.Hello{Names: true})
	b.hears(older)
	list("1", "a", "b", "c", "d")
	list("2", "a", "b", "d", "e")
	if n := b.hears(newer).GetNames(); n.GetVersion() != "2" || n.GetSince() != "1" || len(n.GetNames()) != 1 || n.GetNames()[0].GetName() != "e" || len(n.GetGone()) != 1 || n.GetGone()[0] != "c" {
		t.Errorf("the changes are %v", n)
	}
	if n := b.hears(older).GetNames(); n.GetSince() != "" || len(n.GetNames()) != 4 {
		t.Errorf("an agent that takes no changes hears %v", n)
	}
	b.Authorities([]byte("one"))
	b.Authorities([]byte("one"))
	if got := string(b.hears(newer).GetCa().GetPem()); got != "one" {
		t.Errorf("authorities are %q", got)
	}
	b.Authorities([]byte("two"))
	if got := string(b.hears(newer).GetCa().GetPem()); got != "two" {
		t.Errorf("authorities are %q", got)
	}
}

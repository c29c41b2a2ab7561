package server_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"

	"github.com/weftmesh/weft/xds/server"
	"github.com/weftmesh/weft/xds/server/authn"
	"github.com/weftmesh/weft/xds/server/syncstatus"
	"github.com/weftmesh/weft/xds/server/token"
)

func keys(t *testing.T) *token.SigningKeys {
	t.Helper()
	k, err := token.Load(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func issue(t *testing.T, k *token.SigningKeys, name string) string {
	t.Helper()
	s, err := k.Issue(token.Claims{Mesh: "default", Name: name}, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	return s.Text
}

// TestIdentityComesFirst: without good credentials there is not one response.
func TestIdentityComesFirst(t *testing.T) {
	t.Parallel()
	k := keys(t)
	p := two(t, func(o *server.Options) { o.Authenticator = k })
	good := issue(t, k, "front")
	for name, tc := range map[string]struct {
		node, credentials string
		want              codes.Code
	}{
		"nothing":              {"default.front", "", codes.Unauthenticated},
		"garbage":              {"default.front", "Bearer garbage", codes.Unauthenticated},
		"another authority":    {"default.front", "Bearer " + issue(t, keys(t), "front"), codes.Unauthenticated},
		"another dataplane":    {"default.other", "Bearer " + good, codes.PermissionDenied},
		"another mesh":         {"prod.front", "Bearer " + good, codes.PermissionDenied},
		"a token, no node":     {"", "Bearer " + good, codes.InvalidArgument},
		"a node without mesh":  {"front", "Bearer " + good, codes.InvalidArgument},
		"a dataplane's prefix": {"default.front.x", "Bearer " + good, codes.PermissionDenied},
	} {
		c := p.delta(tc.node, tc.credentials)
		c.ask("cds", nil)
		c.ask("lds", nil)
		if code, n := c.ended(); code != tc.want || n > 0 {
			t.Errorf("%s: %v after %d responses, want %v", name, code, n, tc.want)
		}
	}
	for _, credentials := range []string{good, "Bearer " + good, "bearer " + good} {
		c := p.delta("default.front", credentials)
		c.ask("cds", nil)
		c.next("cds")
		c.end()
		p.until("front", "is gone", func(s syncstatus.Status) bool { return !s.Connected })
	}
}

// TestNodeStays: a client that later says to be another gets what is its own.
func TestNodeStays(t *testing.T) {
	t.Parallel()
	p := two(t, nil)
	c := p.delta("default.front", "")
	c.ask("cds", nil)
	c.ack(c.next("cds"))
	c.node = node("default.other")
	c.ask("eds", nil, "web:8080", "a:8080")
	if got := resources(c.next("eds")); len(got) != 1 || got[0] != "web:8080" {
		t.Errorf("endpoints of %v, want those of front alone", got)
	}
}

// expiring lets in everybody for a moment.
type expiring struct{ at time.Time }

func (e expiring) Authenticate(context.Context, string) (authn.Identity, error) {
	return authn.Identity{Dataplane: dataplaneRef("front"), Expires: e.at}, nil
}

// TestTokenExpiresOnTheStream: a stream lives no longer than its token.
func TestTokenExpiresOnTheStream(t *testing.T) {
	t.Parallel()
	p := two(t, func(o *server.Options) { o.Authenticator = expiring{time.Now().Add(200 * time.Millisecond)} })
	c := p.delta("default.front", "")
	c.ask("cds", nil)
	if code, _ := c.ended(); code != codes.Unauthenticated {
		t.Errorf("ended with %v", code)
	}
}

type broken struct{}

func (broken) Authenticate(context.Context, string) (authn.Identity, error) {
	return authn.Identity{}, errors.New("no such user")
}

// TestSilentClient: a stream that never says who it is ends.
func TestSilentClient(t *testing.T) {
	t.Parallel()
	p := two(t, func(o *server.Options) { o.FirstRequest = 50 * time.Millisecond })
	if code, n := p.delta("default.front", "").ended(); code != codes.DeadlineExceeded || n > 0 {
		t.Errorf("ended with %v after %d responses", code, n)
	}
	p = two(t, func(o *server.Options) { o.Authenticator = broken{} })
	if code, _ := p.delta("default.front", "").ended(); code != codes.Unauthenticated {
		t.Errorf("an authenticator without a code: %v", code)
	}
}

// TestUnknownTypes: weft has nothing of other types, and what a client asks of
// them costs the others nothing.
func TestUnknownTypes(t *testing.T) {
	t.Parallel()
	p := two(t, nil)
	c := p.delta("default.front", "")
	for _, url := range []string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"} {
		c.send(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: url})
	}
	c.configure()
	p.synced("front")
}

// shop is a dataplane with a namespace, as one of Kubernetes has.
const shop = `type: Dataplane
mesh: default
namespace: shop
name: web-1
networking: {address: 127.0.0.1, inbound: [{port: 20009, tags: {kuma.io/service: web}}]}
`

// TestNamesOfKubernetes: a dataplane with a namespace connects by its full name,
// with a token for that name, also if it comes into being only then.
func TestNamesOfKubernetes(t *testing.T) {
	t.Parallel()
	k := keys(t)
	p := two(t, func(o *server.Options) { o.Authenticator = k })
	token := issue(t, k, "web-1.shop")
	early := p.delta("default.web-1.shop", token)
	early.ask("cds", nil)
	p.until("web-1.shop", "waits", func(s syncstatus.Status) bool { return s.Note != "" })
	p.apply(shop)
	if code, n := early.ended(); code != codes.Unavailable || n > 0 {
		t.Errorf("who waited ended with %v after %d responses", code, n)
	}
	c := p.delta("default.web-1.shop", token)
	c.ask("cds", nil)
	if got := resources(c.next("cds")); len(got) != 1 || got[0] != "inbound:127.0.0.1:20009" {
		t.Errorf("clusters %v", got)
	}
	ref := dataplaneRef("web-1")
	ref.Namespace = "shop"
	if s, ok := p.Status(ref); !ok || !s.Connected {
		t.Errorf("status: %+v", s)
	}
	for _, foreign := range []string{"web-1", "front", "web-1.other"} {
		c := p.delta("default.web-1.shop", issue(t, k, foreign))
		c.ask("cds", nil)
		if code, n := c.ended(); code != codes.PermissionDenied || n > 0 {
			t.Errorf("with the token of %s: %v after %d responses", foreign, code, n)
		}
	}
}

// TestRevokedTokenEndsItsStream: at once, those of other tokens go on, and it
// opens none any more.
func TestRevokedTokenEndsItsStream(t *testing.T) {
	t.Parallel()
	k := keys(t)
	p := two(t, func(o *server.Options) { o.Authenticator = k })
	stolen, err := k.Issue(token.Claims{Mesh: "default", Name: "front"}, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	bad, good := p.delta("default.front", stolen.Text), p.delta("default.front", issue(t, k, "front"))
	for _, c := range []*delta{bad, good} {
		c.ask("cds", nil)
		c.ack(c.next("cds"))
	}
	if err := k.Revocations().Revoke(time.Now(), stolen.ID); err != nil {
		t.Fatal(err)
	}
	p.Revoke(stolen.ID)
	if code, _ := bad.ended(); code != codes.Unauthenticated {
		t.Errorf("its stream ended with %v", code)
	}
	again := p.delta("default.front", stolen.Text)
	again.ask("cds", nil)
	if code, n := again.ended(); code != codes.Unauthenticated || n > 0 {
		t.Errorf("a new stream: %v after %d responses", code, n)
	}
	good.ask("lds", nil)
	good.ack(good.next("lds"))
}

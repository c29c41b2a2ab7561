// Package spiretest serves the SPIFFE Workload API, by its protocol on a unix socket, with a root
// of its own: what the agent of a SPIRE is to a workload.
package spiretest

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"errors"
	"maps"
	"net"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/spiffe/go-spiffe/v2/proto/spiffe/workload"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/weftmesh/weft/internal/envoytest"
	signing "github.com/weftmesh/weft/xds/server/authority/workload"
)

// life is that of its first certificate. Each ends a second later than the one before, so that they
// can be told apart.
const life = time.Hour

// Authority signs in a trust domain, and may have several roots of which the last signs.
type Authority struct {
	t      testing.TB
	domain string

	mu      sync.Mutex
	roots   []*signing.Signer
	signed  int
	life    time.Duration // of certificates, from a clock that is behind by so much
	behind  time.Duration
	changed chan struct{}
}

// New makes an authority with a root.
func New(t testing.TB, domain string) *Authority {
	t.Helper()
	a := &Authority{t: t, domain: domain, life: life, changed: make(chan struct{})}
	a.AddRoot()
	return a
}

// AddRoot makes a root that is believed from now on. It signs from the next Give.
func (a *Authority) AddRoot() {
	a.t.Helper()
	root, err := signing.NewRoot(a.domain, false, 24*time.Hour, time.Now())
	if err != nil {
		a.t.Fatal(err)
	}
	a.edit(func() { a.roots = append(a.roots, root) })
}

// DropRoot has the first root believed no more.
func (a *Authority) DropRoot() { a.edit(func() { a.roots = a.roots[1:] }) }

// Roots are the certificates of all roots, in PEM.
func (a *Authority) Roots() (out []string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, r := range a.roots {
		out = append(out, string(signing.CertificateChain{r.Certificate()}.PEM()))
	}
	return out
}

// Leaf is a certificate of any names, with its key.
func (a *Authority) Leaf(names ...string) (signing.CertificateChain, *ecdsa.PrivateKey) {
	a.t.Helper()
	key, err := signing.NewKey()
	if err != nil {
		a.t.Fatal(err)
	}
	return a.certify(&key.PublicKey, names...), key
}

// certify has the last root sign.
func (a *Authority) certify(public crypto.PublicKey, names ...string) signing.CertificateChain {
	a.t.Helper()
	a.mu.Lock()
	root, long, behind := a.roots[len(a.roots)-1], a.life+time.Duration(a.signed)*time.Second, a.behind
	a.signed++
	a.mu.Unlock()
	chain, err := signing.NewLocal(root, func() time.Time { return time.Now().Add(-behind) }).Sign(names, public, long)
	if err != nil {
		a.t.Fatal(err)
	}
	return chain
}

// Live has certificates live for so long from now on, by a clock that is behind by so much.
func (a *Authority) Live(long, behind time.Duration) {
	a.edit(func() { a.life, a.behind = long, behind })
}

func (a *Authority) edit(f func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	f()
	close(a.changed)
	a.changed = make(chan struct{})
}

// bundle is that of the domain, and is closed when it is another one.
func (a *Authority) bundle() ([]byte, <-chan struct{}) {
	a.mu.Lock()
	defer a.mu.Unlock()
	var out []byte
	for _, r := range a.roots {
		out = append(out, r.Certificate().Raw...)
	}
	return out, a.changed
}

// Agent is the Workload API of one workload.
type Agent struct {
	*Authority
	workload.UnimplementedSpiffeWorkloadAPIServer
	path string
	rsa  bool

	// Foreign has it give each certificate with the key of another.
	Foreign bool

	mu    sync.Mutex
	svids map[string]*workload.X509SVID
	mute  bool
	fails bool
	news  chan struct{}
}

// Agent is a Workload API that does not listen yet.
func (a *Authority) Agent() *Agent {
	a.t.Helper()
	return &Agent{Authority: a, path: filepath.Join(envoytest.Dir(a.t), "spire.sock"), svids: map[string]*workload.X509SVID{}, news: make(chan struct{})}
}

// RSA has it make keys for RSA from now on, as a SPIRE may.
func (g *Agent) RSA() { g.rsa = true }

// Address is what SPIFFE_ENDPOINT_SOCKET says of it.
func (g *Agent) Address() string { return "unix://" + g.path }

// Serve listens until the test ends, or until it is stopped, after which it may listen again.
func (g *Agent) Serve() (stop func()) {
	g.t.Helper()
	l, err := net.Listen("unix", g.path)
	if err != nil {
		g.t.Fatal(err)
	}
	s := grpc.NewServer()
	workload.RegisterSpiffeWorkloadAPIServer(s, g)
	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	stop = sync.OnceFunc(func() {
		s.Stop()
		if err := <-served; err != nil && !errors.Is(err, grpc.ErrServerStopped) {
			g.t.Error(err)
		}
	})
	g.t.Cleanup(stop)
	return stop
}

// Give has the workload called by new certificates of these names, and pushes them.
func (g *Agent) Give(ids ...string) {
	g.t.Helper()
	all := map[string]*workload.X509SVID{}
	for _, id := range ids {
		all[id] = g.sign(id)
	}
	g.say(func() { g.svids = all })
}

// Mute has it accept questions and say nothing, or answer again.
func (g *Agent) Mute(mute bool) { g.say(func() { g.mute = mute }) }

// Fail has it answer all questions with a failure, or answer them again.
func (g *Agent) Fail(fails bool) { g.say(func() { g.fails = fails }) }

func (g *Agent) say(f func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	f()
	close(g.news)
	g.news = make(chan struct{})
}

func (g *Agent) sign(id string) *workload.X509SVID {
	g.t.Helper()
	var chain signing.CertificateChain
	var private crypto.Signer
	if g.rsa {
		key, err := rsa.GenerateKey(rand.Reader, 2048)
		if err != nil {
			g.t.Fatal(err)
		}
		chain, private = g.certify(&key.PublicKey, id), key
	} else {
		chain, private = g.Leaf(id)
	}
	if g.Foreign {
		_, private = g.Leaf(id)
	}
	der, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		g.t.Fatal(err)
	}
	out := &workload.X509SVID{SpiffeId: id, X509SvidKey: der}
	for _, c := range chain {
		out.X509Svid = append(out.X509Svid, c.Raw...)
	}
	return out
}

// FetchX509SVID pushes the certificates of the workload and each that takes their place.
func (g *Agent) FetchX509SVID(_ *workload.X509SVIDRequest, to workload.SpiffeWorkloadAPI_FetchX509SVIDServer) error {
	return g.push(to, func(bundle []byte, svids map[string]*workload.X509SVID) error {
		out := &workload.X509SVIDResponse{}
		for _, one := range svids {
			out.Svids = append(out.Svids, &workload.X509SVID{SpiffeId: one.SpiffeId, X509Svid: one.X509Svid, X509SvidKey: one.X509SvidKey, Bundle: bundle})
		}
		return to.Send(out)
	})
}

// FetchX509Bundles pushes the roots of the domain and each that joins them.
func (g *Agent) FetchX509Bundles(_ *workload.X509BundlesRequest, to workload.SpiffeWorkloadAPI_FetchX509BundlesServer) error {
	return g.push(to, func(bundle []byte, _ map[string]*workload.X509SVID) error {
		return to.Send(&workload.X509BundlesResponse{Bundles: map[string][]byte{"spiffe://" + g.domain: bundle}})
	})
}

func (g *Agent) push(to grpc.ServerStream, send func(bundle []byte, svids map[string]*workload.X509SVID) error) error {
	if md, _ := metadata.FromIncomingContext(to.Context()); len(md["workload.spiffe.io"]) != 1 || md["workload.spiffe.io"][0] != "true" {
		return status.Error(codes.InvalidArgument, "security header missing from request")
	}
	for {
		bundle, other := g.bundle()
		g.mu.Lock()
		svids, mute, fails, news := maps.Clone(g.svids), g.mute, g.fails, g.news
		g.mu.Unlock()
		if fails {
			return status.Error(codes.Internal, "the datastore is gone")
		}
		if !mute {
			if len(svids) == 0 {
				return status.Error(codes.PermissionDenied, "no identity issued")
			}
			if err := send(bundle, svids); err != nil {
				return err
			}
		}
		select {
		case <-to.Context().Done():
			return nil
		case <-other:
		case <-news:
		}
	}
}

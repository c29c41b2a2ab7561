package mtls

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/control/authorities"
	"github.com/weftmesh/weft/sidecar/attach"
	"github.com/weftmesh/weft/xds/server/authority/workload"
)

// outsideRoot is an authority outside, of the trust domain spire.test.
func outsideRoot(t *testing.T) *workload.Signer {
	t.Helper()
	s, err := workload.NewRoot("spire.test", false, time.Hour, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestACertificateThatIsShownCounts: one that proves what it says counts with rotations, and has its dataplane
// counted again. One that nobody has signed counts with nobody, and is told to those who look for what was signed
// by the roots of a lost store.
func TestACertificateThatIsShownCounts(t *testing.T) {
	t.Parallel()
	p, known, stranger := unserved(t), outsideRoot(t), outsideRoot(t)
	domain, owner := "spire.test", api.Ref{Kind: api.KindMeshIdentity, Mesh: "default", Name: "own"}
	p.Keeper.Take(snapshot.New(1,
		&api.Object{Ref: owner, Spec: &api.MeshIdentity{SpiffeID: &api.IdentityNames{TrustDomain: &domain}, Provider: &api.IdentityProvider{Type: api.ProviderSpire}}},
		&api.Object{Ref: api.Ref{Kind: api.KindMeshTrust, Mesh: "default", Name: "own"}, Spec: &api.MeshTrust{TrustDomain: domain, CABundles: []api.CABundle{
			{Type: "Pem", PEM: &api.PEMBundle{Value: string(workload.CertificateChain{known.Certificate()}.PEM())}}}}}))
	var counted, doubted []api.Ref
	p.Mark = func(dps ...api.Ref) { counted = append(counted, dps...) }
	p.Showed = func(dp api.Ref, _ *attach.Certificate) { doubted = append(doubted, dp) }
	dp := api.Ref{Kind: api.KindDataplane, Mesh: "default", Name: "web-1"}
	shows := func(by *workload.Signer) (roots []string) {
		t.Helper()
		key, err := workload.NewKey()
		if err != nil {
			t.Fatal(err)
		}
		chain, err := by.Issue([]string{"spiffe://spire.test/web"}, &key.PublicKey, 30*time.Minute, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		proof, err := workload.Prove(key, "default.web-1")
		if err != nil {
			t.Fatal(err)
		}
		p.Shown(dp, &attach.Certificate{Chain: chain.DER(), Proof: proof})
		p.prove(map[api.Ref]bool{dp: true})
		for s := range p.Parts.issued.all(owner) {
			roots = append(roots, s.Name+" "+s.Root)
		}
		return roots
	}
	if got := shows(stranger); got != nil || counted != nil || !slices.Equal(doubted, []api.Ref{dp}) || p.Root(dp) != "" {
		t.Errorf("one that nobody has signed: rotations know of %v, %v are counted again, %v are told", got, counted, doubted)
	}
	root := workload.Fingerprint(known.Certificate())
	if got := shows(known); !slices.Equal(got, []string{"web-1 " + root}) || !slices.Equal(counted, []api.Ref{dp}) || len(doubted) != 1 || p.Root(dp) != root {
		t.Errorf("one that is proved: rotations know of %v, %v are counted again, %v are told", got, counted, doubted)
	}
}

// TestHeldInLessSpace: what is kept of a certificate says what it was made of, in whole seconds, and
// tells apart what differs.
func TestHeldInLessSpace(t *testing.T) {
	t.Parallel()
	held := func(t *rapid.T) authorities.ProvenCertificate {
		text := rapid.SampledFrom([]string{"", "a", "b"})
		at := func(what string) time.Time {
			return time.Unix(rapid.Int64Range(1_700_000_000, 1_700_000_002).Draw(t, what), rapid.Int64Range(0, 1e9-1).Draw(t, what+" and"))
		}
		return authorities.ProvenCertificate{Owner: api.Ref{Kind: api.KindMesh, Name: text.Draw(t, "owner")}, Root: text.Draw(t, "root"),
			Names: rapid.SliceOfN(text, 0, 3).Draw(t, "names"), Issued: at("issued"), Ends: at("ends")}
	}
	rapid.Check(t, func(t *rapid.T) {
		a, b := held(t), held(t)
		x, y := newHeldCert(a), newHeldCert(b)
		if got := x.held(); got.Owner != a.Owner || got.Root != a.Root || !slices.Equal(got.Names, a.Names) ||
			got.Issued.Unix() != a.Issued.Unix() || got.Ends.Unix() != a.Ends.Unix() {
			t.Fatalf("%+v, not %+v", got, a)
		}
		other := a.Root != b.Root || a.Issued.Unix() != b.Issued.Unix() || a.Ends.Unix() != b.Ends.Unix()
		if x.other(y) != other {
			t.Fatalf("another certificate: %v; %+v, %+v", !other, a, b)
		}
		i, names := &insight{held: x}, slices.Equal(a.Names, b.Names)
		if later := b.Issued.Unix() > a.Issued.Unix(); i.yields(y, true) != later || i.yields(y, false) != (other || !names) {
			t.Fatalf("later: %v, another: %v, the same names: %v; %+v, %+v", later, other, names, a, b)
		}
		if end := a.Ends.Truncate(time.Second); x.valid(end) || !x.valid(end.Add(-1)) {
			t.Fatalf("it does not end at %v", end)
		}
	})
}

// TestTimesBeyondSeconds: a time that is too early or too late to be said is the nearest one that is
// not, so that no order is turned around.
func TestTimesBeyondSeconds(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"1900-01-01T00:00:00Z": "1970-01-01T00:00:00Z",
		"2026-08-01T12:00:00Z": "2026-08-01T12:00:00Z",
		"9999-12-31T23:59:59Z": "2106-02-07T06:28:15Z",
	} {
		at, err := time.Parse(time.RFC3339, text)
		if is := secondOf(at).time().UTC().Format(time.RFC3339); err != nil || is != want {
			t.Errorf("%s is %s, not %s: %v", text, is, want, err)
		}
	}
	if got := newHeldCert(authorities.ProvenCertificate{}); got == (heldCert{}) || got.valid(time.Now()) || len(got.held().Names) != 0 {
		t.Errorf("a certificate that says nothing is %+v", got)
	}
}

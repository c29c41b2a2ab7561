package workload

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"
)

var (
	noon = time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)
	web  = []string{"spiffe://a.mesh/ns/shop/sa/web"}
)

func newKey(t testing.TB) *ecdsa.PrivateKey {
	t.Helper()
	key, err := NewKey()
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func newRoot(t testing.TB, domain string, constrained bool, now time.Time) *Signer {
	t.Helper()
	root, err := NewRoot(domain, constrained, RootLife, now)
	if err != nil {
		t.Fatal(err)
	}
	return root
}

// TestFields: each certificate has the fields of spec/identity.md 2.2, and no others.
func TestFields(t *testing.T) {
	t.Parallel()
	local := NewLocal(newRoot(t, "a.mesh", true, noon), func() time.Time { return noon })
	key := newKey(t)
	chain, err := local.Sign(web, &key.PublicKey, CertificateLife)
	if err != nil {
		t.Fatal(err)
	}
	if len(chain) != 2 {
		t.Fatalf("%d certificates", len(chain))
	}
	leaf, between, root := chain[0], chain[1], local.root.certificate
	if err := Check(chain, CertificateRequest{web, &key.PublicKey, []*x509.Certificate{root}}, noon); err != nil {
		t.Error(err)
	}
	for _, c := range []struct {
		what    string
		c       *x509.Certificate
		ca      bool
		pathlen int
		life    time.Duration
		use     x509.KeyUsage
		uris    string
	}{
		{"root", root, true, 1, RootLife, x509.KeyUsageCertSign | x509.KeyUsageCRLSign, "spiffe://a.mesh"},
		{"intermediate", between, true, 0, IntermediateLife, x509.KeyUsageCertSign | x509.KeyUsageCRLSign, ""},
		{"leaf", leaf, false, -1, CertificateLife, x509.KeyUsageDigitalSignature, web[0]},
	} {
		k, ok := c.c.PublicKey.(*ecdsa.PublicKey)
		if !ok || k.Curve != elliptic.P256() || c.c.SignatureAlgorithm != x509.ECDSAWithSHA256 {
			t.Errorf("%s: key %T, signed by %v", c.what, c.c.PublicKey, c.c.SignatureAlgorithm)
		}
		if c.c.IsCA != c.ca || c.c.MaxPathLen != c.pathlen || !c.c.BasicConstraintsValid || c.c.KeyUsage != c.use || strings.Join(named(c.c), " ") != c.uris {
			t.Errorf("%s: CA %v, path %d, use %b, names %v", c.what, c.c.IsCA, c.c.MaxPathLen, c.c.KeyUsage, named(c.c))
		}
		if !c.c.NotBefore.Equal(noon.Add(-Leeway)) || !c.c.NotAfter.Equal(noon.Add(c.life)) {
			t.Errorf("%s: from %v to %v", c.what, c.c.NotBefore, c.c.NotAfter)
		}
		if n := c.c.SerialNumber; n.Sign() <= 0 || n.BitLen() > 127 || n.BitLen() <= 64 {
			t.Errorf("%s: a serial of %d bits", c.what, n.BitLen())
		}
	}
	if !slices.Equal(root.PermittedURIDomains, []string{"a.mesh"}) || !root.PermittedDNSDomainsCritical {
		t.Errorf("the root may sign for %v", root.PermittedURIDomains)
	}
	if leaf.Subject.String() != "" || !slices.Equal(leaf.ExtKeyUsage, []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}) {
		t.Errorf("leaf: subject %q, uses %v", leaf.Subject, leaf.ExtKeyUsage)
	}
	for _, e := range leaf.Extensions {
		if e.Id.String() == "2.5.29.17" && !e.Critical {
			t.Error("the names are not critical")
		}
	}
}

// TestOverYears: for eleven years, day by day and with restarts, what was signed in the last
// day holds; nothing outlives what is above it, and a root that has ended signs nothing.
func TestOverYears(t *testing.T) {
	t.Parallel()
	now, key := noon, newKey(t)
	root := newRoot(t, "a.mesh", true, noon)
	local := NewLocal(root, func() time.Time { return now })
	intermediates := map[string]bool{}
	for day := range 11 * 365 {
		now = noon.Add(time.Duration(day) * 24 * time.Hour)
		if day%500 == 499 {
			local = NewLocal(root, func() time.Time { return now })
		}
		chain, err := local.Sign(web, &key.PublicKey, CertificateLife)
		if !now.Before(root.certificate.NotAfter) {
			if err == nil {
				t.Fatalf("%v: a root that ended signed", now)
			}
			continue
		}
		if err != nil {
			t.Fatalf("%v: %v", now, err)
		}
		last := chain[0].NotAfter.Add(-time.Second)
		if _, err := waysOf(chain, []*x509.Certificate{root.certificate}, last); err != nil {
			t.Fatalf("%v: %v", now, err)
		}
		if chain[0].NotAfter.Before(earlier(now.Add(CertificateLife), root.certificate.NotAfter)) {
			t.Fatalf("%v: the leaf ends at %v", now, chain[0].NotAfter)
		}
		intermediates[string(chain[1].Raw)] = true
	}
	if n := len(intermediates); n < 61 || n > 80 {
		t.Errorf("%d intermediates in ten years, each for two months", n)
	}
}

// TestClockSetBack: what is signed after the clock was set back holds at once, although something was
// signed while it was ahead.
func TestClockSetBack(t *testing.T) {
	t.Parallel()
	now, key := noon, newKey(t)
	root := newRoot(t, "a.mesh", true, noon)
	local := NewLocal(root, func() time.Time { return now })
	for _, now = range []time.Time{noon, noon.Add(100 * 24 * time.Hour), noon} {
		chain, err := local.Sign(web, &key.PublicKey, CertificateLife)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := waysOf(chain, []*x509.Certificate{root.certificate}, now); err != nil {
			t.Errorf("%v: %v", now, err)
		}
	}
}

// TestNames: a leaf names what it was asked to name, in that order, or is not made.
func TestNames(t *testing.T) {
	t.Parallel()
	root, key := newRoot(t, "default", false, noon), newKey(t)
	older := []string{"spiffe://default/web", "kuma://kuma.io/service/web", "kuma://version/v1"}
	chain, err := root.Issue(older, &key.PublicKey, CertificateLife, noon)
	if err != nil || !slices.Equal(named(chain[0]), older) {
		t.Errorf("%v, %v", chain, err)
	}
	for want, names := range map[string][]string{
		"without a name":                   nil,
		"names a trust domain":             {"spiffe://default"},
		"does not begin with spiffe":       {"kuma://version/v1", "spiffe://default/web"},
		"has an empty part":                {"spiffe://default//web"},
		"would not hold the name":          {"spiffe://default/web", "kuma://a b/c"},
		"would not hold the name \"%zz\" ": {"spiffe://default/web", "%zz"},
	} {
		if _, err := root.Issue(names, &key.PublicKey, CertificateLife, noon); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v", names, err)
		}
	}
}

// TestConstraints: a constrained root speaks for its domain alone, whoever verifies (F14;
// TestFacts asks Envoy). One that is not constrained also signs Kuma's names.
func TestConstraints(t *testing.T) {
	t.Parallel()
	key := newKey(t)
	for _, constrained := range []bool{true, false} {
		root := newRoot(t, "a.mesh", constrained, noon)
		between, err := root.Intermediate(noon)
		if err != nil {
			t.Fatal(err)
		}
		for name, foreign := range map[string]bool{"spiffe://a.mesh/x": false, "spiffe://b.mesh/x": true, "spiffe://a.mesh.evil/x": true} {
			chain, err := between.Issue([]string{name}, &key.PublicKey, CertificateLife, noon)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := waysOf(chain, []*x509.Certificate{root.certificate}, noon); (err != nil) != (constrained && foreign) {
				t.Errorf("constrained %v, %s: %v", constrained, name, err)
			}
		}
		if _, err := between.Intermediate(noon); err == nil {
			t.Error("an intermediate signed another")
		}
	}
}

// TestRequests: of a request only the key is used, and only of one that holds it.
func TestRequests(t *testing.T) {
	t.Parallel()
	key := newKey(t)
	good, err := NewRequest(key)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := PublicKey(good); err != nil || !got.Equal(&key.PublicKey) {
		t.Errorf("%v, %v", got, err)
	}
	greedy, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{
		Subject: pkix.Name{CommonName: "payments"}, DNSNames: []string{"payments"},
		URIs: []*url.URL{{Scheme: "spiffe", Host: "a.mesh", Path: "/payments"}},
	}, key)
	if err != nil {
		t.Fatal(err)
	}
	public, err := PublicKey(greedy)
	if err != nil {
		t.Fatal(err)
	}
	chain, err := newRoot(t, "a.mesh", true, noon).Issue(web, public, CertificateLife, noon)
	if err != nil || !slices.Equal(named(chain[0]), web) || chain[0].Subject.String() != "" {
		t.Errorf("%v, %v", named(chain[0]), err)
	}
	broken := slices.Clone(good)
	broken[len(broken)-1] ^= 1
	p384, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	other, err := NewRequest(p384)
	if err != nil {
		t.Fatal(err)
	}
	for want, request := range map[string][]byte{
		"not signed by its own key": broken, "not ECDSA P-256": other, "no request": []byte("hello"), "at most 4096": make([]byte, 5000),
	} {
		if _, err := PublicKey(request); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

// FuzzPublicKey: no request is the end of who reads it.
func FuzzPublicKey(f *testing.F) {
	good, err := NewRequest(newKey(f))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Fuzz(func(t *testing.T, request []byte) {
		if key, err := PublicKey(request); err == nil && key.Curve != elliptic.P256() {
			t.Errorf("a key on %v", key.Curve)
		}
	})
}

// TestRenewals: sidecars renew between half and two thirds of a life, evenly, each always
// at the same time.
func TestRenewals(t *testing.T) {
	t.Parallel()
	ends := noon.Add(CertificateLife)
	buckets := map[int]int{}
	for i := range 10_000 {
		name := "web-" + big.NewInt(int64(i)).String()
		at := RenewAt(noon, ends, name).Sub(noon)
		if at < 12*time.Hour || at >= 16*time.Hour || RenewAt(noon, ends, name) != noon.Add(at) {
			t.Fatalf("%s renews after %v", name, at)
		}
		buckets[int((at-12*time.Hour)/(24*time.Minute))]++
	}
	for b, n := range buckets {
		if n < 800 || n > 1200 || b > 9 {
			t.Errorf("%d of 10000 renew in the %dth tenth", n, b)
		}
	}
	if at := WarnAt(noon, ends); !at.Equal(noon.Add(CertificateLife * 4 / 5)) {
		t.Errorf("warned at %v", at)
	}
}

package workload

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
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
	chain, err := local.Sign(t.Context(), web, &key.PublicKey, LeafLife)
	if err != nil {
		t.Fatal(err)
	}
	roots, _ := local.Roots(t.Context())
	if len(chain) != 2 || len(roots) != 1 {
		t.Fatalf("%d certificates under %d roots", len(chain), len(roots))
	}
	leaf, between, root := chain[0], chain[1], roots[0]
	if err := Check(chain, Asked{web, &key.PublicKey, LeafLife, roots}, noon); err != nil {
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
		{"leaf", leaf, false, -1, LeafLife, x509.KeyUsageDigitalSignature, web[0]},
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
		chain, err := local.Sign(t.Context(), web, &key.PublicKey, LeafLife)
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
		if err := verify(chain, []*x509.Certificate{root.certificate}, last); err != nil {
			t.Fatalf("%v: %v", now, err)
		}
		if chain[0].NotAfter.Before(earlier(now.Add(LeafLife), root.certificate.NotAfter)) {
			t.Fatalf("%v: the leaf ends at %v", now, chain[0].NotAfter)
		}
		intermediates[string(chain[1].Raw)] = true
	}
	if n := len(intermediates); n < 61 || n > 80 {
		t.Errorf("%d intermediates in ten years, each for two months", n)
	}
}

// TestNames: a leaf names what it was asked to name, in that order, or is not made.
func TestNames(t *testing.T) {
	t.Parallel()
	root, key := newRoot(t, "default", false, noon), newKey(t)
	older := []string{"spiffe://default/web", "kuma://kuma.io/service/web", "kuma://version/v1"}
	chain, err := root.Leaf(older, &key.PublicKey, LeafLife, noon)
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
		if _, err := root.Leaf(names, &key.PublicKey, LeafLife, noon); err == nil || !strings.Contains(err.Error(), want) {
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
			chain, err := between.Leaf([]string{name}, &key.PublicKey, LeafLife, noon)
			if err != nil {
				t.Fatal(err)
			}
			if err := verify(chain, []*x509.Certificate{root.certificate}, noon); (err != nil) != (constrained && foreign) {
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
	chain, err := newRoot(t, "a.mesh", true, noon).Leaf(web, public, LeafLife, noon)
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
	ends := noon.Add(LeafLife)
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
	if at := WarnAt(noon, ends); !at.Equal(noon.Add(LeafLife * 4 / 5)) {
		t.Errorf("warned at %v", at)
	}
}

// TestCheck: each way in which an authority may answer something else is found.
func TestCheck(t *testing.T) {
	t.Parallel()
	root, key, other := newRoot(t, "a.mesh", true, noon), newKey(t), newKey(t)
	names := []string{web[0], "spiffe://a.mesh/second"}
	asked := Asked{names, &key.PublicKey, LeafLife, []*x509.Certificate{root.certificate}}
	stranger := newRoot(t, "a.mesh", true, noon)
	template := func(change func(*x509.Certificate)) Chain {
		u, err := uris(names)
		if err != nil {
			t.Fatal(err)
		}
		c := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: noon, NotAfter: noon.Add(LeafLife), KeyUsage: x509.KeyUsageDigitalSignature, URIs: u,
			BasicConstraintsValid: true, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}}
		change(c)
		leaf, err := sign(c, root.certificate, &key.PublicKey, root.key)
		if err != nil {
			t.Fatal(err)
		}
		return Chain{leaf}
	}
	leaf := func(by *Signer, names []string, key crypto.PublicKey, life time.Duration, now time.Time) Chain {
		c, err := by.Leaf(names, key, life, now)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	for _, c := range []struct {
		chain Chain
		wrong []string
	}{
		{leaf(root, names, &key.PublicKey, LeafLife, noon), nil},
		{template(func(*x509.Certificate) {}), nil},
		{leaf(root, names, &key.PublicKey, LeafLife/2, noon), nil},
		{nil, []string{"no certificate"}},
		{leaf(root, web, &key.PublicKey, LeafLife, noon), []string{"it names spiffe://a.mesh/ns/shop/sa/web instead of"}},
		{leaf(root, []string{names[1], names[0]}, &key.PublicKey, LeafLife, noon), []string{"it names spiffe://a.mesh/second, "}},
		{leaf(root, names, &other.PublicKey, 48*time.Hour, noon), []string{"another key", "later than 24h0m0s"}},
		{leaf(stranger, names, &key.PublicKey, LeafLife, noon), []string{"its chain does not hold"}},
		{leaf(root, names, &key.PublicKey, LeafLife, noon.Add(-25*time.Hour)), []string{"its chain does not hold: x509: certificate has expired"}},
		{leaf(root, names, &key.PublicKey, LeafLife, noon.Add(90*time.Minute)), []string{"later than", "its chain does not hold"}},
		{template(func(c *x509.Certificate) { c.DNSNames, c.IPAddresses = []string{"web"}, []net.IP{{127, 0, 0, 1}} }), []string{"DNS:web, IP:127.0.0.1 instead of"}},
		{template(func(c *x509.Certificate) { c.IsCA, c.KeyUsage = true, x509.KeyUsageCertSign }), []string{"may sign others", "lacks the use digitalSignature"}},
		{template(func(c *x509.Certificate) { c.ExtKeyUsage = c.ExtKeyUsage[:1] }), []string{"lacks the extended use clientAuth"}},
	} {
		err := Check(c.chain, asked, noon)
		if (err == nil) != (c.wrong == nil) {
			t.Errorf("want %v, got %v", c.wrong, err)
			continue
		}
		for _, w := range c.wrong {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("want %v, got %v", w, err)
			}
		}
	}
}

// TestProvided: authorities that people bring, what is wrong with them, and not a word of a
// key in any message.
func TestProvided(t *testing.T) {
	t.Parallel()
	small, err := rsa.GenerateKey(rand.Reader, 1024)
	if err != nil {
		t.Fatal(err)
	}
	_, ed, _ := ed25519.GenerateKey(rand.Reader)
	p384, _ := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	p521, _ := ecdsa.GenerateKey(elliptic.P521(), rand.Reader)
	made := func(key crypto.Signer, change func(*x509.Certificate)) (certificate, private []byte) {
		c, _, err := authority("of somebody", noon)
		if err != nil {
			t.Fatal(err)
		}
		c.NotAfter, c.MaxPathLen = noon.Add(RootLife), -1
		if change != nil {
			change(c)
		}
		signed, err := sign(c, c, key.Public(), key)
		if err != nil {
			t.Fatal(err)
		}
		certificate, private, err = (&Signer{certificate: signed, key: key}).PEM()
		if err != nil {
			t.Fatal(err)
		}
		return certificate, private
	}
	kept, keptKey, err := newRoot(t, "a.mesh", true, noon).PEM()
	if err != nil {
		t.Fatal(err)
	}
	_, foreign := made(newKey(t), nil)
	for _, c := range []struct {
		key         crypto.Signer
		change      func(*x509.Certificate)
		field, want string
	}{
		{newKey(t), nil, "", ""},
		{ed, nil, "", ""},
		{p384, nil, "", ""},
		{newKey(t), func(c *x509.Certificate) { c.MaxPathLen, c.MaxPathLenZero = 0, true }, "", ""},
		{p521, nil, "cert", "another curve"},
		{small, nil, "cert", "less than 2048 bits"},
		{newKey(t), func(c *x509.Certificate) { c.IsCA, c.MaxPathLen = false, 0 }, "cert", "CA:TRUE"},
		{newKey(t), func(c *x509.Certificate) { c.KeyUsage = x509.KeyUsageCRLSign }, "cert", "keyCertSign"},
		{newKey(t), func(c *x509.Certificate) { c.KeyUsage |= x509.KeyUsageKeyAgreement }, "cert", "keyAgreement"},
		{newKey(t), func(c *x509.Certificate) { c.NotAfter = noon.Add(47 * time.Hour) }, "cert", "two certificates of workloads"},
		{newKey(t), func(c *x509.Certificate) { c.NotBefore = noon.Add(time.Hour) }, "cert", "not valid before"},
	} {
		certificate, private := made(c.key, c.change)
		s, fault := Parse(certificate, private, LeafLife, noon)
		if c.want == "" && fault != nil || c.want != "" && (fault == nil || fault.Field != c.field || !strings.Contains(fault.Message, c.want)) {
			t.Errorf("want %s, got %v", c.want, fault)
		}
		if fault != nil {
			continue
		}
		key := newKey(t)
		chain, err := NewLocal(s, func() time.Time { return noon }).Sign(t.Context(), web, &key.PublicKey, LeafLife)
		if err == nil {
			err = Check(chain, Asked{web, &key.PublicKey, LeafLife, []*x509.Certificate{s.certificate}}, noon)
		}
		if err != nil {
			t.Errorf("what %T signs: %v", c.key, err)
		}
	}
	if s, fault := Parse(kept, keptKey, LeafLife, noon); fault != nil || Fingerprint(s.certificate) == "" || !strings.HasPrefix(s.String(), "weft root ") {
		t.Errorf("our own: %v", fault)
	}
	for want, pair := range map[string][2][]byte{
		"cert holds no certificate":      {keptKey, keptKey},
		"cert holds more than one":       {slices.Concat(kept, kept), keptKey},
		"cert holds a certificate that ": {pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: []byte("x")}), keptKey},
		"key holds no private key":       {kept, []byte("s3cr3t")},
		"key is not the private key":     {kept, foreign},
	} {
		_, fault := Parse(pair[0], pair[1], LeafLife, noon)
		if fault == nil || !strings.HasPrefix(fault.Error(), want) || strings.Contains(fault.Error(), "s3cr3t") {
			t.Errorf("%s: %v", want, fault)
		}
	}
}

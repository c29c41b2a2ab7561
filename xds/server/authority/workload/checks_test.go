package workload

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestCheck: each way in which an authority may answer something else is found.
func TestCheck(t *testing.T) {
	t.Parallel()
	root, key, other := newRoot(t, "a.mesh", true, noon), newKey(t), newKey(t)
	names := []string{web[0], "spiffe://a.mesh/second"}
	asked := CertificateRequest{names, &key.PublicKey, []*x509.Certificate{root.certificate}}
	stranger := newRoot(t, "a.mesh", true, noon)
	template := func(change func(*x509.Certificate)) CertificateChain {
		u, err := uris(names)
		if err != nil {
			t.Fatal(err)
		}
		c := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: noon, NotAfter: noon.Add(CertificateLife), KeyUsage: x509.KeyUsageDigitalSignature, URIs: u,
			BasicConstraintsValid: true, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}}
		change(c)
		leaf, err := sign(c, root.certificate, &key.PublicKey, root.key)
		if err != nil {
			t.Fatal(err)
		}
		return CertificateChain{leaf}
	}
	leaf := func(by *Signer, names []string, key crypto.PublicKey, life time.Duration, now time.Time) CertificateChain {
		c, err := by.Issue(names, key, life, now)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	for _, c := range []struct {
		chain CertificateChain
		wrong []string
	}{
		{leaf(root, names, &key.PublicKey, CertificateLife, noon), nil},
		{template(func(*x509.Certificate) {}), nil},
		{leaf(root, names, &key.PublicKey, CertificateLife/2, noon), nil},
		{nil, []string{"there is no certificate"}},
		{leaf(root, web, &key.PublicKey, CertificateLife, noon), []string{"it names spiffe://a.mesh/ns/shop/sa/web instead of"}},
		{leaf(root, []string{names[1], names[0]}, &key.PublicKey, CertificateLife, noon), []string{"it names spiffe://a.mesh/second, "}},
		{leaf(root, names, &other.PublicKey, 48*time.Hour, noon), []string{"another key"}},
		{leaf(stranger, names, &key.PublicKey, CertificateLife, noon), []string{"no root that others believe has signed it"}},
		{leaf(stranger, names, &other.PublicKey, CertificateLife, noon), []string{"another key", "its chain does not hold"}},
		{leaf(root, names, &key.PublicKey, CertificateLife, noon.Add(-25*time.Hour)), []string{"it has ended at "}},
		{leaf(root, names, &key.PublicKey, CertificateLife, noon.Add(90*time.Minute)), []string{"it is not valid before "}},
		{template(func(c *x509.Certificate) { c.DNSNames, c.IPAddresses = []string{"web"}, []net.IP{{127, 0, 0, 1}} }), nil},
		{template(func(c *x509.Certificate) { c.URIs = nil }), []string{"it names nobody instead of"}},
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
		s, fault := Parse(certificate, private, CertificateLife, noon)
		if c.want == "" && fault != nil || c.want != "" && (fault == nil || fault.Field != c.field || !strings.Contains(fault.Message, c.want)) {
			t.Errorf("want %s, got %v", c.want, fault)
		}
		if fault != nil {
			continue
		}
		key := newKey(t)
		chain, err := NewLocal(s, func() time.Time { return noon }).Sign(web, &key.PublicKey, CertificateLife)
		if err == nil {
			err = Check(chain, CertificateRequest{web, &key.PublicKey, []*x509.Certificate{s.certificate}}, noon)
		}
		if err != nil {
			t.Errorf("what %T signs: %v", c.key, err)
		}
	}
	if s, fault := Parse(kept, keptKey, CertificateLife, noon); fault != nil || Fingerprint(s.certificate) == "" || !strings.HasPrefix(s.String(), "weft root ") {
		t.Errorf("our own: %v", fault)
	}
	for want, pair := range map[string][2][]byte{
		"cert holds no certificate":      {keptKey, keptKey},
		"cert holds more than one":       {slices.Concat(kept, kept), keptKey},
		"cert holds a certificate that ": {pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: []byte("x")}), keptKey},
		"key holds no private key":       {kept, []byte("s3cr3t")},
		"key is not the private key":     {kept, foreign},
	} {
		_, fault := Parse(pair[0], pair[1], CertificateLife, noon)
		if fault == nil || !strings.HasPrefix(fault.Error(), want) || strings.Contains(fault.Error(), "s3cr3t") {
			t.Errorf("%s: %v", want, fault)
		}
	}
}

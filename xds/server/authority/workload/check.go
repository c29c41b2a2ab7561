package workload

import (
	"crypto"
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// CertificateRequest is what a certificate was asked for.
type CertificateRequest struct {
	Names []string // the SPIFFE ID first; nil where it is not known here
	Key   crypto.PublicKey
	Roots []*x509.Certificate // whom others believe; nil where it is not known here
}

// ErrUnbelieved is in the error of Check where nothing is wrong but that none of the roots has signed.
var ErrUnbelieved = errors.New("no root that others believe has signed it")

// Check says everything that keeps a workload from showing a chain that an authority has given it, of
// weft or outside; nil where it may be used (spec/identity.md 2.6). The first name must be the
// first, since validators of SPIFFE look at that alone (F2). Names of hosts have no effect, and a
// SPIRE may add some.
func Check(c CertificateChain, asked CertificateRequest, now time.Time) error {
	if len(c) == 0 {
		return errors.New("there is no certificate")
	}
	var wrong []string
	say := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	leaf := c[0]
	if got := named(leaf); len(got) == 0 || asked.Names != nil && (got[0] != asked.Names[0] || !slices.Equal(sorted(got), sorted(asked.Names))) {
		say("it names %s instead of %s", list(got), list(asked.Names))
	}
	if key, ok := leaf.PublicKey.(interface{ Equal(crypto.PublicKey) bool }); !ok || !key.Equal(asked.Key) {
		say("it is for another key than the workload's")
	}
	if leaf.IsCA || leaf.KeyUsage&x509.KeyUsageCertSign != 0 {
		say("it may sign others")
	}
	if leaf.KeyUsage&x509.KeyUsageDigitalSignature == 0 {
		say("it lacks the use digitalSignature")
	}
	for _, use := range []struct {
		use  x509.ExtKeyUsage
		name string
	}{{x509.ExtKeyUsageServerAuth, "serverAuth"}, {x509.ExtKeyUsageClientAuth, "clientAuth"}} {
		if !slices.Contains(leaf.ExtKeyUsage, use.use) {
			say("it lacks the extended use %s", use.name)
		}
	}
	switch {
	case !now.Before(leaf.NotAfter):
		say("it has ended at %s; set the clock of this host if that is not so", leaf.NotAfter.UTC().Format(time.RFC3339))
	case now.Before(leaf.NotBefore):
		say("it is not valid before %s; set the clock of this host if that is not so", leaf.NotBefore.UTC().Format(time.RFC3339))
	case asked.Roots != nil:
		if _, err := waysOf(c, asked.Roots, now); err != nil && wrong == nil {
			return fmt.Errorf("%w: %w", ErrUnbelieved, err)
		} else if err != nil {
			say("its chain does not hold: %v", err)
		}
	}
	if wrong == nil {
		return nil
	}
	return errors.New(strings.Join(wrong, "; "))
}

// waysOf are those from the certificate to a root by the rest of the chain.
func waysOf(c CertificateChain, roots []*x509.Certificate, now time.Time) ([][]*x509.Certificate, error) {
	o := x509.VerifyOptions{Roots: x509.NewCertPool(), Intermediates: x509.NewCertPool(), CurrentTime: now, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny}}
	for _, r := range roots {
		o.Roots.AddCert(r)
	}
	for _, i := range c[1:] {
		o.Intermediates.AddCert(i)
	}
	return c[0].Verify(o)
}

// named are the names of a certificate that count, in its order.
func named(c *x509.Certificate) (out []string) {
	for _, u := range c.URIs {
		out = append(out, u.String())
	}
	return out
}

func sorted(names []string) []string { return slices.Sorted(slices.Values(names)) }

func list(names []string) string {
	if len(names) == 0 {
		return "nobody"
	}
	return strings.Join(names, ", ")
}

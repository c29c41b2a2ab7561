package workload

import (
	"crypto"
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/go-multierror"
)

// Asked is what a leaf was asked for.
type Asked struct {
	Names []string // the SPIFFE ID first
	Key   crypto.PublicKey
	Life  time.Duration
	Roots []*x509.Certificate
}

// Check says everything in which a chain that an authority returned differs from what it
// was asked for; nil where it may be used (spec/identity.md 2.6). The first name must be
// the first, since validators of SPIFFE look at that alone (F2).
func Check(c Chain, asked Asked, now time.Time) error {
	if len(c) == 0 {
		return errors.New("the authority returned no certificate")
	}
	var errs *multierror.Error
	wrong := func(format string, args ...any) { errs = multierror.Append(errs, fmt.Errorf(format, args...)) }
	leaf := c[0]
	got := named(leaf)
	if len(got) == 0 || len(asked.Names) == 0 || got[0] != asked.Names[0] || !slices.Equal(sorted(got), sorted(asked.Names)) {
		wrong("it names %s instead of %s", list(got), list(asked.Names))
	}
	if key, ok := leaf.PublicKey.(interface{ Equal(crypto.PublicKey) bool }); !ok || !key.Equal(asked.Key) {
		wrong("it is for another key than the workload's")
	}
	if leaf.IsCA || leaf.KeyUsage&x509.KeyUsageCertSign != 0 {
		wrong("it may sign others")
	}
	if leaf.KeyUsage&x509.KeyUsageDigitalSignature == 0 {
		wrong("it lacks the use digitalSignature")
	}
	for _, use := range []struct {
		use  x509.ExtKeyUsage
		name string
	}{{x509.ExtKeyUsageServerAuth, "serverAuth"}, {x509.ExtKeyUsageClientAuth, "clientAuth"}} {
		if !slices.Contains(leaf.ExtKeyUsage, use.use) {
			wrong("it lacks the extended use %s", use.name)
		}
	}
	if most := now.Add(asked.Life + Leeway); leaf.NotAfter.After(most) {
		wrong("it ends at %s, later than %s after now", leaf.NotAfter.UTC().Format(time.RFC3339), asked.Life)
	}
	if _, err := waysOf(c, asked.Roots, now); err != nil {
		wrong("its chain does not hold: %w", err)
	}
	return errs.ErrorOrNil()
}

// waysOf are those from the leaf to a root by the rest of the chain.
func waysOf(c Chain, roots []*x509.Certificate, now time.Time) ([][]*x509.Certificate, error) {
	o := x509.VerifyOptions{Roots: x509.NewCertPool(), Intermediates: x509.NewCertPool(), CurrentTime: now, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny}}
	for _, r := range roots {
		o.Roots.AddCert(r)
	}
	for _, i := range c[1:] {
		o.Intermediates.AddCert(i)
	}
	return c[0].Verify(o)
}

// named are all names of a certificate, in the order in which each kind has them.
func named(c *x509.Certificate) (out []string) {
	for _, u := range c.URIs {
		out = append(out, u.String())
	}
	for _, n := range c.DNSNames {
		out = append(out, "DNS:"+n)
	}
	for _, ip := range c.IPAddresses {
		out = append(out, "IP:"+ip.String())
	}
	for _, m := range c.EmailAddresses {
		out = append(out, "email:"+m)
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

package spiffe_test

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/spiffe/go-spiffe/v2/spiffeid"
	"pgregory.net/rapid"

	"github.com/weftmesh/weft/api/spiffe"
)

// TestNamesAreTheStandards: what weft takes for an ID go-spiffe takes too, and reads alike. What go-spiffe takes
// and weft does not has a trust domain that no certificate can have for a host name, or is too long.
func TestNamesAreTheStandards(t *testing.T) {
	t.Parallel()
	part := rapid.StringMatching(`[a-z0-9_.-]{0,5}|[a-zA-Z0-9_.%-]{0,3}|\.{1,2}|10\.0\.0\.1`)
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.SampledFrom([]string{spiffe.Scheme, spiffe.Scheme, spiffe.Scheme, "SPIFFE://", "spiffe:/", ""}).Draw(t, "scheme") +
			strings.Join(rapid.SliceOfN(part, 1, 4).Draw(t, "parts"), "/")
		id, err := spiffe.Parse(text)
		theirs, other := spiffeid.FromString(text)
		switch {
		case err == nil && other != nil:
			t.Fatalf("%q is an ID, and go-spiffe says %v", text, other)
		case err == nil:
			if id.String() != theirs.String() || id.Domain != theirs.TrustDomain().Name() || id.Path != theirs.Path() {
				t.Fatalf("%q is read as %+v, and by go-spiffe as %s", text, id, theirs)
			}
		case other == nil:
			domain := theirs.TrustDomain().Name()
			_, address := netip.ParseAddr(domain)
			if address != nil && !strings.HasPrefix(domain, ".") && !strings.HasSuffix(domain, ".") && !strings.Contains(domain, "..") && len(domain) < 254 {
				t.Fatalf("%q is no ID (%v), and go-spiffe takes it", text, err)
			}
		}
	})
}

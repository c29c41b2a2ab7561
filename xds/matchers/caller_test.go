package matchers

import (
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/weftmesh/weft/resolve/effective"
)

// TestCaller: a route for some callers matches the header that Envoy writes of their
// certificates, and of no others'.
func TestCaller(t *testing.T) {
	t.Parallel()
	name := rapid.Custom(func(t *rapid.T) string {
		return "spiffe://" + strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"a.b", "axb", "x", "web", "we"}), 2, 4).Draw(t, "segments"), "/")
	})
	rapid.Check(t, func(t *rapid.T) {
		names := rapid.SliceOfN(name, 1, 3).Draw(t, "names")
		c := effective.CallerMatch{ID: "spiffe://a.b/" + rapid.SampledFrom([]string{"x/web", "web", "x"}).Draw(t, "ID"), Below: rapid.Bool().Draw(t, "below")}
		written := "By=spiffe://a.b/me;Hash=0f;URI=" + strings.Join(names, ";URI=")
		if got, want := matchesHeader(c, written), c.Have(names); got != want {
			t.Fatalf("%+v, %s: %v", c, written, got)
		}
	})
	if matchesHeader(effective.CallerMatch{ID: "spiffe://a.b/web"}, "By=spiffe://a.b/me;Hash=0f;URI=spiffe://c/x;URI=kuma://y;URI=spiffe://a.b/web") {
		t.Error("who speaks for another domain names a.b's in the middle of a name")
	}
}

// matchesHeader is what Envoy finds: an expression matches a header whole.
func matchesHeader(c effective.CallerMatch, header string) bool {
	r := Caller(c)
	return regexp.MustCompile("^(?:" + r.GetStringMatch().GetSafeRegex().Regex + ")$").MatchString(header)
}

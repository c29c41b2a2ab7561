package matchers

import (
	"regexp"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"

	"github.com/weftmesh/weft/api/spiffe"
	"github.com/weftmesh/weft/resolve/effective"
)

// AllOfCaller holds of the requests of callers whose certificate proves their ID, and all names that c has beside it.
func AllOfCaller(c effective.CallerMatch) []*routev3.HeaderMatcher {
	out := []*routev3.HeaderMatcher{Caller(c)}
	for _, name := range c.Names() {
		out = append(out, certificate("URI="+regexp.QuoteMeta(spiffe.Scheme+c.Domain())+"(/[^;]*)?;(URI=[^;]*;)*URI="+regexp.QuoteMeta(name)))
	}
	return out
}

// certificate holds of requests whose caller has a certificate with those names, and others behind them.
func certificate(names string) *routev3.HeaderMatcher {
	return &routev3.HeaderMatcher{
		Name: "x-forwarded-client-cert",
		HeaderMatchSpecifier: &routev3.HeaderMatcher_StringMatch{StringMatch: &matcherv3.StringMatcher{
			MatchPattern: &matcherv3.StringMatcher_SafeRegex{SafeRegex: &matcherv3.RegexMatcher{
				Regex: "(By=[^;]*;)*Hash=[0-9a-f]+;" + names + "(;.*)?",
			}},
		}},
	}
}

// Caller holds of the requests of callers whose certificate proves their ID: of the
// header in which Envoy itself writes the names, in place of what came. Only names behind
// others of the same domain count: that the first is one of its domain is checked in the
// handshake, and who speaks for another domain may write anything behind it (F2).
func Caller(c effective.CallerMatch) *routev3.HeaderMatcher {
	name := regexp.QuoteMeta(c.ID)
	if c.Below {
		name += "(/[^;]*)?"
	}
	return certificate("(URI=" + regexp.QuoteMeta(spiffe.Scheme+c.Domain()) + "/[^;]*;)*URI=" + name)
}

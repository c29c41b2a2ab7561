package permission_test

import (
	"strings"
	"testing"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/internal/matches"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/route/match"
	"github.com/weftmesh/weft/sim/permission"
)

// TestRequestsThatStandForARule: where a rule of an inbound goes that closes it, among the requests by which the
// inbound is compared before and after are some that the rule takes and some that it does not, and they stand for
// all. Where it takes what no request is known to be, as one with a claim, they do not.
func TestRequestsThatStandForARule(t *testing.T) {
	t.Parallel()
	inbound := func(rules ...effective.InboundRule) *effective.Inbound {
		return &effective.Inbound{Protocol: api.HTTP, TLS: &effective.InboundTLS{Mode: "Strict"}, Rules: rules}
	}
	for _, c := range []struct {
		on    match.Condition
		taken string // what is in the text of a request that the rule takes; empty where none is known
	}{
		{matches.On(match.OnPath, match.SegmentPrefix, "", "/admin"), "/admin"},
		{matches.Method("PATCH"), "PATCH "},
		{matches.On(match.OnHeader, match.Equal, "x-a", "1"), "x-a: 1"},
		{matches.On(match.OnCookie, match.Equal, "who", "me"), "cookie: who=me"},
		{matches.On(match.OnQuery, match.Equal, "debug", "yes"), "?debug=yes"},
		{matches.On(match.OnAuthority, match.Equal, "", "shop.example"), " shop.example/"},
		{matches.On(match.OnClaim, match.Equal, "iss", "example"), ""},
	} {
		for name, planned := range map[string][2]*effective.Inbound{
			"it goes":  {inbound(effective.InboundRule{Match: matches.Of(c.on), Closed: "a test"}), inbound()},
			"it comes": {inbound(), inbound(effective.InboundRule{Match: matches.Of(c.on), Closed: "a test"})},
		} {
			list, whole := permission.ProbesBetween(planned[0], planned[1], false)
			taken := 0
			for i := range list {
				if c.taken != "" && strings.Contains(list[i].String(), c.taken) {
					taken++
				}
			}
			if whole != (c.taken != "") || whole && taken == 0 || taken == len(list) {
				t.Errorf("%s by its %s: %d of %d requests are taken by the rule, and they stand for all: %v", name, c.on.On, taken, len(list), whole)
			}
		}
	}
}

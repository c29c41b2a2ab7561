package sim_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/weftmesh/weft/route"
	"github.com/weftmesh/weft/sim/wire"
)

// TestWhatTheServiceDecidesIsAnnounced: where a route asks an authorization service and nobody says what it answers,
// the verdict says that it is not known; it says nothing of it where somebody does, or where nobody is asked.
func TestWhatTheServiceDecidesIsAnnounced(t *testing.T) {
	t.Parallel()
	guarded, open := everything(to("v1", 1)), everything(to("v1", 1))
	guarded.Filters = []route.Filter{{Authorization: &route.Authorization{}}}
	for _, c := range []struct {
		guarded bool
		answers string
		unknown bool
	}{
		{true, "", true}, {true, "allow", false}, {false, "", false},
	} {
		r := shop(open)
		if c.guarded {
			r = shop(guarded)
		}
		v, err := run(r, wire.Request{URL: "http://web:8080/", Authz: c.answers})
		if err != nil {
			t.Fatal(err)
		}
		if got := slices.ContainsFunc(v.Unknown, func(s string) bool { return strings.HasPrefix(s, "authorization: the service decides ") }); got != c.unknown {
			t.Errorf("guarded %v, answered %q: %q", c.guarded, c.answers, v.Unknown)
		}
	}
}

package dataplanes

import (
	"testing"

	"github.com/weftmesh/weft/resolve/derive"
	"github.com/weftmesh/weft/resolve/effective"
)

// TestOutboundsThatStay: after a change a dataplane keeps its outbounds only where they are the same in all that
// sidecars listen by: the list, whether traffic is redirected, and whether working them out failed.
func TestOutboundsThatStay(t *testing.T) {
	t.Parallel()
	of := func() []*effective.Outbound { return []*effective.Outbound{{Address: "127.0.0.1", Port: 80}} }
	bug := &derive.Failed{}
	for _, c := range []struct {
		what string
		a, b *Outbounds
		same bool
	}{
		{"nothing", &Outbounds{}, &Outbounds{}, true},
		{"one list", &Outbounds{list: of()}, &Outbounds{list: of()}, true},
		{"redirected", &Outbounds{list: of(), redirected: true}, &Outbounds{list: of(), redirected: true}, true},
		{"redirected now", &Outbounds{list: of()}, &Outbounds{list: of(), redirected: true}, false},
		{"another list", &Outbounds{list: of()}, &Outbounds{}, false},
		{"it fails", &Outbounds{failed: bug}, &Outbounds{failed: bug}, true},
		{"it fails now", &Outbounds{}, &Outbounds{failed: bug}, false},
		{"it fails no longer", &Outbounds{failed: bug}, &Outbounds{}, false},
	} {
		if got := c.a.equal(c.b); got != c.same {
			t.Errorf("%s: the same is %v", c.what, got)
		}
	}
}

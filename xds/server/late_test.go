package server_test

import (
	"testing"
	"time"

	"github.com/weftmesh/weft/xds/server"
	"github.com/weftmesh/weft/xds/server/syncstatus"
)

// back connects again as an Envoy does that has what it confirmed before.
func (p *plane) back(have map[string]map[string]string) *delta {
	p.t.Helper()
	c := p.delta("default.front", "")
	c.ask("cds", have["cds"])
	c.ack(c.next("cds"))
	c.ask("eds", have["eds"], "web:8080")
	c.ask("lds", have["lds"])
	c.ack(c.next("lds"))
	c.ask("rds", have["rds"], "outbound:web:8080")
	return c
}

// TestRefusedTwiceAroundARestart: a sidecar refuses, the control plane dies and
// is back, the sidecar refuses again, and at that moment a fix is published.
// Whether the fix or the refusal is taken up first, and whether the refusal
// names its culprit: the fix is sent at once, and then nothing is refused.
func TestRefusedTwiceAroundARestart(t *testing.T) {
	t.Parallel()
	for name, fixFirst := range map[string]bool{"the fix first": true, "the refusal first": false} {
		for _, words := range []string{"outbound:web:8080 is bad", "bad"} {
			t.Run(name+", "+words, func(t *testing.T) {
				t.Parallel()
				p := two(t, func(o *server.Options) { o.ResendEvery = time.Hour })
				c := p.delta("default.front", "")
				have := c.configure()
				p.synced("front")
				p.apply(retries(3))
				c.nack(c.next("rds"), words)
				p.until("front", "refuses", func(s syncstatus.Status) bool { return s.Nack != nil && s.Nack.Current })
				p.restart()

				c = p.back(have)
				bad := c.next("rds")
				refuse := func() {
					c.nack(bad, words)
					p.until("front", "refuses again", func(s syncstatus.Status) bool { return s.Types["rds"].Nacked == 1 })
				}
				fix := func() {
					p.apply(retries(4))
					p.until("front", "is told of the fix", func(s syncstatus.Status) bool { return s.Published == p.snapshot.Revision() })
				}
				if fixFirst {
					fix()
					refuse()
				} else {
					refuse()
					fix()
				}
				c.ack(c.next("rds"))
				if s := p.synced("front"); s.Nack == nil || s.Nack.Current {
					t.Errorf("in sync, and the refusal stands: %+v", s.Nack)
				}
			})
		}
	}
}

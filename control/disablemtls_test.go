package control_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/control"
)

// TestTLSIsHeld: a mesh that gives up mutual TLS takes plain text as soon as its Envoys can, and TLS
// until every sidecar that is connected has acknowledged that nobody is called by it any more, and no
// longer than for a bounded while.
func TestTLSIsHeld(t *testing.T) {
	t.Parallel()
	for what, s := range map[string]struct {
		most time.Duration
		acks bool
	}{
		"who is slow acknowledges":  {time.Hour, true},
		"who is slow never answers": {2 * time.Second, false},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			p := secure(t, discard(), func(c *control.Config) { c.HoldPlain = s.most })
			defer p.stop()
			web, pay, slow := newMember(t, "web-1", "web", "payments"), newMember(t, "pay-1", "payments", "web"), newMember(t, "slow-1", "slow", "web")
			p.want(http.StatusOK, http.MethodPost, "/_apply", allowed+web.document+pay.document+slow.document+fmt.Sprintf(mutual, "ca-1", strings.Replace(builtin, "PERMISSIVE", "STRICT", 1)))
			p.sidecar("pay-1", p.dataplaneToken("pay-1", ""), discard())
			p.sidecar("web-1", p.dataplaneToken("web-1", ""), discard())
			eventually(t, "web is known", func() bool { return isKnown(t.Context(), web.outbound, "web") })
			answers := p.acknowledges("slow-1", p.dataplaneToken("slow-1", ""))
			p.want(http.StatusOK, http.MethodPost, "/_apply", "type: Mesh\nname: default\n")
			eventually(t, "plain text is taken", func() bool { return requested(t.Context(), pay.inbound) != "" })
			trusted := func() bool {
				return p.Snapshot().Has(api.Ref{Kind: api.KindMeshTrust, Mesh: "default", Name: api.TrustName(api.Ref{Kind: api.KindMesh, Name: "default"})})
			}
			if s.acks {
				if !trusted() {
					t.Error("nobody is trusted any more, and a caller does not know yet that he is to call in plain text")
				}
				close(answers)
			}
			eventually(t, "TLS is over", func() bool { return !trusted() })
			eventually(t, "web calls as nobody", func() bool {
				return !isKnown(t.Context(), web.outbound, "web") && requested(t.Context(), web.outbound) != ""
			})
		})
	}
}

package control_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/weftmesh/weft/control"
	"github.com/weftmesh/weft/inspect/mtls"
)

// mtls is how far the mesh is.
func (p *plane) mtls() mtls.MTLS {
	p.t.Helper()
	var out mtls.MTLS
	if err := json.Unmarshal([]byte(p.want(http.StatusOK, http.MethodGet, "/meshes/default/_mtls", "")), &out); err != nil {
		p.t.Fatal(err)
	}
	return out
}

// TestPlaintextClientsAreTold (case 35): who calls in plain text is seen by the sidecar that he
// calls, and told of where plain text is to be refused; then he is.
func TestPlaintextClientsAreTold(t *testing.T) {
	t.Parallel()
	p := secure(t, discard(), func(c *control.Config) { c.HoldPlain = time.Hour })
	defer p.stop()
	web, pay := newMember(t, "web-1", "web", "payments"), newMember(t, "pay-1", "payments", "web")
	p.want(http.StatusOK, http.MethodPost, "/_apply", allowed+web.document+pay.document+fmt.Sprintf(mutual, "ca-1", builtin))
	p.sidecar("web-1", p.dataplaneToken("web-1", ""), discard(), time.Second)
	p.sidecar("pay-1", p.dataplaneToken("pay-1", ""), discard(), time.Second)
	p.know(map[string]member{"web": web, "payments": pay})
	payments := func() mtls.DataplaneMTLS { return p.mtls().Items[0] }
	eventually(t, "connections by TLS are counted", func() bool { return payments().Inbounds[0].TLS.All > 0 })
	if s := payments(); s.Name != "pay-1" || s.Identity != "spiffe://default/payments" || s.Certificate == nil || s.Certificate.Issued == nil || s.Inbounds[0].Wanted != "Permissive" || s.Inbounds[0].Confirmed != "Permissive" {
		t.Errorf("%+v", s)
	}
	eventually(t, "a client in plain text is told of", func() bool {
		return requested(t.Context(), pay.inbound) != "" && len(payments().Senders) > 0
	})
	if s := payments().Senders[0]; s.From != "127.0.0.1" || s.Port != pay.inbound || s.Connections == 0 || time.Since(s.Last) > time.Hour {
		t.Errorf("%+v", s)
	}
	all := p.mtls()
	if len(all.Authorities) != 1 || all.Authorities[0].Signs != payments().Certificate.Root || len(all.Senders) == 0 {
		t.Errorf("%+v", all)
	}
	strict := fmt.Sprintf(mutual, "ca-1", strings.Replace(builtin, "PERMISSIVE", "STRICT", 1))
	for _, query := range []string{"?dryRun=true", ""} {
		text := p.want(http.StatusOK, http.MethodPost, "/_apply"+query, strict)
		if !strings.Contains(text, `"PlaintextClients"`) || !strings.Contains(text, fmt.Sprintf("127.0.0.1 at pay-1 port %d", pay.inbound)) {
			t.Errorf("%q warns of nobody: %s", query, text)
		}
	}
	eventually(t, "plain text is refused", func() bool { return requested(t.Context(), pay.inbound) == "" })
	eventually(t, "and all is strict, without a connection in plain text", func() bool {
		s := payments().Inbounds[0]
		return s.Wanted == "Strict" && s.Confirmed == "Strict" && s.Plain.Open == 0
	})
	if !strings.Contains(requested(t.Context(), pay.outbound), "URI=spiffe://default/payments") {
		t.Error("who proves who he is is refused")
	}
}

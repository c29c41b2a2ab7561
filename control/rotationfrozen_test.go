package control_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"

	"github.com/weftmesh/weft/control"
)

// TestRotationWaitsForWhoIsFrozen (case 36): while sidecars call each other a root is replaced;
// one that is connected and acknowledges nothing holds that up, and no call fails; as soon as
// it acknowledges again the rotation goes on.
func TestRotationWaitsForWhoIsFrozen(t *testing.T) {
	t.Parallel()
	strict := strings.Replace(builtin, "PERMISSIVE", "STRICT", 1) // of which inbounds trust somebody from their beginning
	p := secure(t, discard(), func(c *control.Config) { c.RotationSpread = time.Second })
	defer p.stop()
	web, pay := newMember(t, "web-1", "web", "payments"), newMember(t, "pay-1", "payments", "web")
	cold := newMember(t, "cold-1", "cold", "web")
	p.want(http.StatusOK, http.MethodPost, "/_apply", allowed+web.document+pay.document+cold.document+fmt.Sprintf(mutual, "ca-1", strict))
	p.sidecar("web-1", p.dataplaneToken("web-1", ""), discard())
	p.sidecar("pay-1", p.dataplaneToken("pay-1", ""), discard())
	token := p.dataplaneToken("cold-1", "")
	var frozen sync.Mutex
	p.gated("cold-1", token, &frozen)
	certified := func() bool {
		code, _, _ := p.certify(token, "cold-1")
		time.Sleep(100 * time.Millisecond) // there is a cap
		return code == http.StatusOK
	}
	eventually(t, "the one has a certificate", certified)
	p.know(map[string]member{"web": web, "payments": pay})
	phase := func() string { is, _ := p.Phase(); return is }
	eventually(t, "the first root is in use", func() bool { return phase() == "Steady" })
	load := startTraffic(t, 25, map[string]func() func(context.Context) (string, error){
		"web":      func() func(context.Context) (string, error) { return calls(t, "slow", web.outbound) },
		"payments": func() func(context.Context) (string, error) { return calls(t, "slow", pay.outbound) },
	})
	frozen.Lock()
	thaw := sync.OnceFunc(frozen.Unlock)
	defer thaw()
	p.want(http.StatusOK, http.MethodPost, "/_apply", fmt.Sprintf(mutual, "ca-2", strict+", {name: ca-2, type: builtin}"))
	eventually(t, "the new root is to be trusted", func() bool { return phase() == "Trusting" })
	load.goOn("while one is frozen", 100)
	if is := phase(); is != "Trusting" {
		t.Errorf("it is %s, and one sidecar does not trust the new root", is)
	}
	thaw()
	eventually(t, "the new root signs", func() bool { is := phase(); return is == "Issuing" || is == "Settling" })
	eventually(t, "all have certificates of the new root", func() bool { certified(); return phase() == "Settling" })
	load.goOn("with the new root", 50)
}

// gated is a sidecar that acknowledges what it gets while frozen is not locked.
func (p *plane) gated(name, token string, frozen *sync.Mutex) {
	p.t.Helper()
	s, end := p.stream(name, token)
	p.t.Cleanup(end)
	for kind, names := range map[string][]string{"config.listener.v3.Listener": {"*"}, "config.route.v3.RouteConfiguration": {"*"}, "config.endpoint.v3.ClusterLoadAssignment": {"*"},
		"extensions.transport_sockets.tls.v3.Secret": {"mesh_ca:secret:default", "mesh_ca:secret:default:default"}} {
		if err := s.Send(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: "type.googleapis.com/envoy." + kind, ResourceNamesSubscribe: names}); err != nil {
			p.t.Fatal(err)
		}
	}
	go func() {
		for {
			r, err := s.Recv()
			if err != nil {
				return // the test has ended
			}
			frozen.Lock()
			err = s.Send(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: r.GetTypeUrl(), ResponseNonce: r.GetNonce()})
			if frozen.Unlock(); err != nil {
				return
			}
		}
	}()
}

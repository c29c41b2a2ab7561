package xds_test

import (
	"bufio"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/internal/envoytest"
	"github.com/weftmesh/weft/resolve"
)

// TestRedirectedTraffic: a dataplane whose traffic is redirected has one
// listener for each direction where it arrives; the others bind no port.
func TestRedirectedTraffic(t *testing.T) {
	t.Parallel()
	in := &resolve.Inbound{Address: "127.0.0.1", Port: 8080, ServiceAddress: "127.0.0.1", ServicePort: 8080, Protocol: api.TCP}
	r := sidecar([]*resolve.Table{table()}, nil, in)
	inbound, outbound := envoytest.Port(t), envoytest.Port(t)
	proxied := &api.TransparentProxying{RedirectPortInbound: inbound, RedirectPortOutbound: outbound}
	r.Dataplane.Spec.(*api.Dataplane).Networking.TransparentProxying = proxied
	s := renderer().Render(r)
	want := []string{"inbound:127.0.0.1:8080", "inbound:passthrough:ipv4", "outbound:127.0.0.1:10001", "outbound:passthrough:ipv4"}
	if d := cmp.Diff(want, names(s.Listeners)); d != "" {
		t.Errorf("listeners (-want +got):\n%s", d)
	}
	for _, l := range s.Listeners {
		open := envoytest.Listener(t, l)
		if bound := open.BindToPort == nil; bound != strings.Contains(l.Name, "passthrough") {
			t.Errorf("%s: bind_to_port %v", l.Name, open.BindToPort)
		}
	}
	envoytest.Drive(t, s)
	for _, port := range []uint32{inbound, outbound} {
		conn, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
		if _, err := bufio.NewReader(conn).ReadByte(); err == nil || strings.Contains(err.Error(), "timeout") {
			t.Errorf("a connection that was not redirected: %v, want it closed", err)
		}
	}
	proxied.IPFamilyMode = "DualStack"
	if got := names(renderer().Render(r).Listeners); !slices.Contains(got, "outbound:passthrough:ipv6") {
		t.Errorf("listeners for both families: %q", got)
	}
}

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
	"github.com/weftmesh/weft/resolve/effective"
)

// TestRedirectedTraffic: a dataplane whose traffic is redirected has one
// listener for each direction where it arrives; the others bind no port.
func TestRedirectedTraffic(t *testing.T) {
	t.Parallel()
	in := &effective.Inbound{Address: "127.0.0.1", Port: 8080, ServiceAddress: "127.0.0.1", ServicePort: 8080, Protocol: api.TCP}
	r := sidecar([]*effective.Table{table()}, nil, in)
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

// TestQuestionsFromOutsideEnd: what was going to the port of the sidecar's name server ends
// where it was redirected to, whoever listens there (spec/kubernetes.md 5.4). That the
// other two ports end takes the rules of a kernel: see cmd/weft.
func TestQuestionsFromOutsideEnd(t *testing.T) {
	t.Parallel()
	const own = "127.0.8.1"
	in, out, other := envoytest.Port(t), envoytest.Port(t), envoytest.Port(t)
	listen(t, own, 15053, "15053\n", "")
	listen(t, own, other, "passed\n", "")
	envoytest.Drive(t, believing(t, renderer().Render(redirected(own, envoytest.Port(t), in, out, 1))))
	text, err := bufio.NewReader(goingTo(t, in, own, 15053)).ReadString('\n')
	if err == nil || text != "" || strings.Contains(err.Error(), "timeout") {
		t.Errorf("to port 15053: %q, %v; want it closed", text, err)
	}
	if text, err := bufio.NewReader(goingTo(t, in, own, other)).ReadString('\n'); text != "passed\n" {
		t.Errorf("to port %d: %q, %v", other, text, err)
	}
}

// TestStrictClosesWhatNoInboundNames (spec/identity.md 3.2): what is redirected to a port that no
// inbound names reaches the workload, and where the dataplane is strict ends; the inbound itself
// goes on.
func TestStrictClosesWhatNoInboundNames(t *testing.T) {
	t.Parallel()
	const own = "127.0.8.2"
	other, routed, inbound := envoytest.Port(t), envoytest.Port(t), envoytest.Port(t)
	listen(t, own, other, "reached\n", "")
	listen(t, own, routed, "reached\n", "")
	app := envoytest.Port(t)
	listen(t, "127.0.0.1", app, "reached\n", "")
	for _, strict := range []bool{false, true} {
		in := envoytest.Port(t)
		r := redirected(own, routed, in, envoytest.Port(t), 1)
		r.Inbounds = []effective.InboundUse{{Inbound: &effective.Inbound{Address: own, Port: inbound, ServiceAddress: "127.0.0.1", ServicePort: app, Protocol: api.TCP}}}
		if strict {
			r.Closed = &api.Origin{Ref: r.Ref}
		}
		envoytest.Drive(t, believing(t, renderer().Render(r)))
		for port, open := range map[uint32]bool{other: !strict, routed: !strict, inbound: true} {
			text, err := bufio.NewReader(goingTo(t, in, own, port)).ReadString('\n')
			if got := text == "reached\n"; got != open || err != nil && strings.Contains(err.Error(), "timeout") {
				t.Errorf("strict %v, port %d of other %d, routed %d, inbound %d: %q %v", strict, port, other, routed, inbound, text, err)
			}
		}
	}
}

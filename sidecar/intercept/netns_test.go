package intercept_test

import (
	"context"
	"fmt"
	"net/netip"
	"testing"

	"github.com/weftmesh/weft/internal/netnstest"
	"github.com/weftmesh/weft/sidecar/intercept"
)

// The users of a pod, and clients of it. guest is one whose calls are left alone.
const (
	app     = 1000
	sidecar = 5678
	guest   = 1500
)

var everyBackend = []intercept.Firewall{intercept.IptablesNFT, intercept.IptablesLegacy, intercept.NFT}

// pod is one with servers at all ports that matter, and another one as a client.
type pod struct {
	*netnstest.Namespace
	world, other *netnstest.Namespace
}

func newPod(t *testing.T) *pod {
	n := netnstest.New(t)
	p := &pod{n.Pod(), n.World, n.Pod()}
	for _, port := range []string{"8080", "22", "9902"} {
		p.Answer(app, "app:"+port, "[::]:"+port)
	}
	for _, port := range []string{"15001", "15006"} {
		p.Answer(sidecar, port, "[::]:"+port)
	}
	for _, port := range []string{"80", "81"} {
		n.World.Answer(0, "foreign:"+port, "[::]:"+port)
	}
	return p
}

func (p *pod) install(t *testing.T, c intercept.Config, b intercept.Firewall) (out intercept.Applied) {
	t.Helper()
	if err := p.Do(0, func() (err error) {
		out, err = intercept.Install(context.Background(), c, b)
		return err
	}); err != nil {
		t.Fatalf("install by %s: %v", b, err)
	}
	return out
}

func (p *pod) uninstall(t *testing.T) (out intercept.Applied) {
	t.Helper()
	if err := p.Do(0, func() (err error) {
		out, err = intercept.Uninstall(context.Background())
		return err
	}); err != nil {
		t.Fatalf("uninstall: %v", err)
	}
	return out
}

// family are the addresses that matter in one family.
type family struct{ own, loopback, self, foreign, unrouted, excluded netip.Addr }

func (p *pod) families() map[string]family {
	return map[string]family{
		"IPv4": {p.IPv4, netip.MustParseAddr("127.0.0.1"), netip.MustParseAddr("127.0.0.6"),
			netnstest.ForeignIPv4, netip.MustParseAddr("242.0.0.7"), netnstest.WorldIPv4},
		"IPv6": {p.IPv6, netip.IPv6Loopback(), netip.MustParseAddr("::6"),
			netnstest.ForeignIPv6, netip.MustParseAddr("fd77:6566:74::f200:7"), netnstest.WorldIPv6},
	}
}

// row says who connects where, and who answers.
type row struct {
	who  string
	from netip.Addr
	to   netip.Addr
	port uint16
	want string
}

// rows are the lines of spec/kubernetes.md 5.4, and what is excluded besides.
func (f family) rows() []row {
	none := netip.Addr{}
	return []row{
		{"A", none, f.foreign, 80, "15001"},
		{"A", none, f.unrouted, 80, "15001"},
		{"A", none, f.own, 8080, "app:8080"},
		{"A", none, f.loopback, 8080, "app:8080"},
		{"S", none, f.foreign, 80, "foreign:80"},
		{"S", none, f.own, 8080, "15006"},
		{"S", f.self, f.own, 8080, "app:8080"},
		{"S", none, f.loopback, 8080, "app:8080"},
		{"X", none, f.own, 8080, "15006"},
		{"X", none, f.own, 9902, "app:9902"},
		{"X", none, f.own, 15001, "15006"},
		{"X", none, f.own, 15006, "15006"},
		{"X", none, f.own, 15053, "15006"},
		// what is excluded
		{"A", none, f.foreign, 81, "foreign:81"},
		{"A", none, f.excluded, 80, "foreign:80"},
		{"G", none, f.foreign, 80, "foreign:80"},
		{"G", none, f.own, 8080, "app:8080"},
		{"X", none, f.own, 22, "app:22"},
		{"W", none, f.own, 8080, "app:8080"},
	}
}

// excluding excludes what the rows say.
func excluding() intercept.Config {
	c := intercept.Default()
	c.ExcludeInboundPorts = intercept.Ports{{First: 20, Last: 22}}
	c.ExcludeOutboundPorts = intercept.Ports{{First: 81, Last: 81}}
	c.ExcludeInboundIPs = []netip.Prefix{netip.PrefixFrom(netnstest.WorldIPv4, 32), netip.PrefixFrom(netnstest.WorldIPv6, 128)}
	c.ExcludeOutboundIPs = c.ExcludeInboundIPs
	c.ExcludeOutboundPortsForUIDs = []intercept.UIDPorts{{Ports: intercept.Ports{{First: 80, Last: 80}}, UIDs: intercept.UIDRange{First: guest, Last: guest}}}
	return c
}

func (p *pod) ask(r row) string {
	at := netip.AddrPortFrom(r.to, r.port)
	switch r.who {
	case "A":
		return p.Ask(app, r.from, at)
	case "S":
		return p.Ask(sidecar, r.from, at)
	case "G":
		return p.Ask(guest, r.from, at)
	case "W":
		return p.world.Ask(0, r.from, at)
	}
	return p.other.Ask(0, r.from, at)
}

func (p *pod) check(t *testing.T, name string, f family) {
	t.Helper()
	for _, r := range f.rows() {
		at := netip.AddrPortFrom(r.to, r.port)
		if got, want := p.ask(r), answer(r, at); got != want {
			t.Errorf("%s: %s from %v to %s is answered %q, want %q", name, r.who, r.from, at, got, want)
		}
	}
}

// answer is what a row wants to hear: who it is, and where the connection was going.
func answer(r row, at netip.AddrPort) string { return r.want + " " + at.String() }

// TestWhereConnectionsGo is case 49 of spec/kubernetes.md: each line of 5.4, by each
// backend, in both families.
func TestWhereConnectionsGo(t *testing.T) {
	t.Parallel()
	for _, b := range everyBackend {
		t.Run(string(b), func(t *testing.T) {
			t.Parallel()
			p := newPod(t)
			if got := p.install(t, excluding(), b); !got.Changed || got.Backend != b || len(got.Warnings) > 0 {
				t.Errorf("installed: %+v", got)
			}
			for name, f := range p.families() {
				p.check(t, name, f)
			}
			if got := p.install(t, excluding(), b); got.Changed {
				t.Errorf("installed once more: %+v, want it unchanged", got)
			}
			p.uninstall(t)
			for name, f := range p.families() {
				r := row{"X", netip.Addr{}, f.own, 8080, "app:8080"}
				if got, want := p.ask(r), answer(r, netip.AddrPortFrom(r.to, r.port)); got != want {
					t.Errorf("%s after uninstalling: %q, want %q", name, got, want)
				}
			}
			if got := p.uninstall(t); got.Changed {
				t.Errorf("uninstalled once more: %+v, want it unchanged", got)
			}
		})
	}
}

// TestGateways: clients of a gateway reach it directly, and so does itself.
func TestGateways(t *testing.T) {
	t.Parallel()
	p := newPod(t)
	c := intercept.Default()
	c.RedirectInbound = false
	for _, b := range everyBackend {
		p.install(t, c, b) // takes away what the one before made
		for name, f := range p.families() {
			for _, r := range []row{
				{"X", netip.Addr{}, f.own, 8080, "app:8080"},
				{"S", netip.Addr{}, f.own, 8080, "app:8080"},
				{"A", netip.Addr{}, f.foreign, 80, "15001"},
			} {
				if got, want := p.ask(r), answer(r, netip.AddrPortFrom(r.to, r.port)); got != want {
					t.Errorf("%s, %s: %s to %s: %q, want %q", b, name, r.who, r.to, got, want)
				}
			}
		}
	}
}

// TestQuestionsAreRedirected: what the workload asks the name servers goes to the
// sidecar, over UDP and TCP; what the sidecar and excluded users ask, and what is asked
// of others, goes where it was going.
func TestQuestionsAreRedirected(t *testing.T) {
	t.Parallel()
	for _, b := range everyBackend {
		t.Run(string(b), func(t *testing.T) {
			t.Parallel()
			p := newPod(t)
			p.world.Answer(0, "server", "[::]:53")
			for _, ip := range []netip.Addr{netnstest.WorldIPv4, netnstest.WorldIPv6, netnstest.ForeignIPv4, netnstest.ForeignIPv6} {
				p.world.AnswerPackets(0, "server", netip.AddrPortFrom(ip, 53).String())
			}
			for _, ip := range []string{"127.0.0.1:15053", "[::1]:15053"} {
				p.Answer(sidecar, "sidecar", ip)
				p.AnswerPackets(sidecar, "sidecar", ip)
			}
			c := intercept.Default()
			c.RedirectDNS, c.DNSServers = true, []netip.Addr{netnstest.WorldIPv4, netnstest.WorldIPv6}
			c.ExcludeOutboundPortsForUIDs = []intercept.UIDPorts{{UIDs: intercept.UIDRange{First: guest, Last: guest}}}
			p.install(t, c, b)
			if got := p.install(t, c, b); got.Changed {
				t.Errorf("installed once more: %+v", got)
			}
			for name, f := range p.families() {
				server, other := netip.AddrPortFrom(f.excluded, 53), netip.AddrPortFrom(f.foreign, 53)
				for i, r := range []struct {
					who  int
					to   netip.AddrPort
					want string
				}{{app, server, "sidecar"}, {sidecar, server, "server"}, {guest, server, "server"}, {app, other, "server"}} {
					question := fmt.Sprint(name, i)
					// One port after the other's: conntrack must not take the one for the other.
					from := netip.AddrPortFrom(f.own, 5353)
					if got := p.AskPacket(r.who, from, r.to, question); got != r.want+" "+question {
						t.Errorf("%s: user %d asks %s: %q, want %q", name, r.who, r.to, got, r.want)
					}
					want := r.want + " " + r.to.String()
					if r.to == other {
						want = "15001 " + r.to.String() // over TCP, as every other port
					}
					if got := p.Ask(r.who, netip.Addr{}, r.to); got != want {
						t.Errorf("%s: user %d asks %s over TCP: %q, want %q", name, r.who, r.to, got, want)
					}
				}
			}
		})
	}
}

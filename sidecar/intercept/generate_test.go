package intercept_test

import (
	"fmt"
	"net/netip"
	"strings"

	"pgregory.net/rapid"

	"github.com/weftmesh/weft/sidecar/intercept"
)

// anyConfig is a valid one.
func anyConfig(t *rapid.T) intercept.Config {
	list := func(name string, most int, entry func(i int) string) string {
		n := rapid.IntRange(0, most).Draw(t, name)
		var out []string
		for i := range n {
			out = append(out, entry(i))
		}
		return strings.Join(out, ",")
	}
	ports := func(name string) intercept.Ports {
		p, err := intercept.ParsePorts(list(name, 40, func(int) string {
			first := rapid.IntRange(1, 65535).Draw(t, "first")
			return fmt.Sprintf("%d-%d", first, min(65535, first+rapid.SampledFrom([]int{0, 0, 0, 1, 500}).Draw(t, "more")))
		}))
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	addr := func() netip.Addr {
		if rapid.Bool().Draw(t, "v4") {
			return netip.AddrFrom4([4]byte(rapid.SliceOfN(rapid.Byte(), 4, 4).Draw(t, "ip")))
		}
		ip := [16]byte(rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "ip6"))
		ip[0] = 0xfd
		return netip.AddrFrom16(ip)
	}
	prefixes := func(name string) intercept.Prefixes {
		p, err := intercept.ParsePrefixes(list(name, 4, func(int) string {
			ip := addr()
			return netip.PrefixFrom(ip, rapid.IntRange(0, ip.BitLen()).Draw(t, "bits")).String()
		}))
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	c := intercept.Default()
	base := uint16(rapid.IntRange(10_000, 60_000).Draw(t, "port"))
	c.InboundPort, c.OutboundPort, c.DNSPort = base, base+1, base+2
	c.ProxyUID = uint32(rapid.IntRange(0, 70_000).Draw(t, "uid"))
	c.RedirectInbound = rapid.Bool().Draw(t, "inbound")
	c.DropInvalidPackets = rapid.Bool().Draw(t, "drop")
	c.IPFamilyMode = rapid.SampledFrom([]intercept.IPFamilyMode{intercept.DualStack, intercept.IPv4, intercept.IPv6}).Draw(t, "mode")
	c.ExcludeInboundPorts, c.ExcludeOutboundPorts = ports("in"), ports("out")
	c.ExcludeInboundIPs, c.ExcludeOutboundIPs = prefixes("clients"), prefixes("servers")
	if c.RedirectDNS = rapid.Bool().Draw(t, "dns"); c.RedirectDNS {
		c.DNSServers = []netip.Addr{addr(), addr()}
	}
	for range rapid.IntRange(0, 3).Draw(t, "users") {
		first := uint32(rapid.IntRange(0, 70_000).Draw(t, "user"))
		c.ExcludeOutboundPortsForUIDs = append(c.ExcludeOutboundPortsForUIDs, intercept.UIDPorts{
			Protocol: rapid.SampledFrom([]string{"", intercept.TCP}).Draw(t, "protocol"), Ports: ports("theirs"),
			UIDs: intercept.UIDRange{First: first, Last: first + uint32(rapid.IntRange(0, 3).Draw(t, "users more"))},
		})
	}
	if err := c.Validate(); err != nil {
		t.Fatal(err)
	}
	return c
}

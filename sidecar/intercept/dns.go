package intercept

import (
	"bufio"
	"net/netip"
	"strings"
)

var questionPorts = Ports{{dns, dns}}

// questions are the rules that send questions of the workload to the sidecar, for each
// server that it would ask: were they for every server, a cache on this host that the
// sidecar asks would ask the sidecar (spec/kubernetes.md 5.2).
func (c *Config) questions() []rule {
	if !c.RedirectDNS {
		return nil
	}
	var out []rule
	ask := func(protocol string, r rule) {
		r.table, r.chain, r.protocol, r.ports = nat, output, protocol, questionPorts
		out = append(out, r)
	}
	for _, protocol := range []string{UDP, TCP} {
		ask(protocol, rule{uids: c.proxy()})
	}
	for _, protocol := range []string{UDP, TCP} {
		for _, uids := range c.askThemselves(protocol) {
			ask(protocol, rule{uids: uids})
		}
	}
	for _, s := range c.DNSServers {
		for _, protocol := range []string{UDP, TCP} {
			ask(protocol, rule{family: familyOf(s), dest: netip.PrefixFrom(s, s.BitLen()), do: redirect, port: c.DNSPort})
		}
	}
	return out
}

// zones give what the sidecar asks and what it is asked zones of their own in conntrack:
// both go from one address to the same server, and over UDP from a port that may be the
// same, so that their entries would collide.
func (c *Config) zones() []rule {
	if !c.RedirectDNS {
		return nil
	}
	var out []rule
	add := func(chain string, number uint16, r rule) {
		r.table, r.chain, r.protocol, r.do, r.zone = raw, chain, UDP, zone, number
		out = append(out, r)
	}
	add(output, proxyZone, rule{ports: questionPorts, uids: c.proxy()})
	for _, uids := range c.askThemselves(UDP) {
		add(output, proxyZone, rule{ports: questionPorts, uids: uids})
	}
	add(output, workloadZone, rule{sourcePort: c.DNSPort, uids: c.proxy()})
	for _, s := range c.DNSServers {
		server := netip.PrefixFrom(s, s.BitLen())
		add(output, workloadZone, rule{family: familyOf(s), dest: server, ports: questionPorts})
	}
	for _, s := range c.DNSServers {
		server := netip.PrefixFrom(s, s.BitLen())
		add(prerouting, proxyZone, rule{family: familyOf(s), source: server, sourcePort: dns})
	}
	return out
}

// askThemselves are the users whose questions over a protocol are left alone.
func (c *Config) askThemselves(protocol string) []*UIDRange {
	var out []*UIDRange
	for _, u := range c.ExcludeOutboundPortsForUIDs {
		if (u.Protocol == "" || u.Protocol == protocol) && u.Ports.cover(dns) {
			out = append(out, &UIDRange{u.UIDs.First, u.UIDs.Last})
		}
	}
	return out
}

// NameServers are the servers of a resolv.conf, in order and each once. One with a zone
// cannot stand in a rule, and is left out.
func NameServers(resolvConf string) []netip.Addr {
	var out []netip.Addr
	seen := map[netip.Addr]bool{}
	for s := bufio.NewScanner(strings.NewReader(resolvConf)); s.Scan(); {
		words := strings.Fields(s.Text())
		if len(words) < 2 || words[0] != "nameserver" {
			continue
		}
		ip, err := netip.ParseAddr(words[1])
		if ip = ip.Unmap(); err == nil && ip.Zone() == "" && !seen[ip] {
			out, seen[ip] = append(out, ip), true
		}
	}
	return out
}

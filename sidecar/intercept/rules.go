package intercept

import (
	"net/netip"
	"slices"
)

// The tables and chains. Those of weft hold what the others only lead to.
const (
	mangle = "mangle"
	raw    = "raw"
	nat    = "nat"

	prerouting    = "PREROUTING"
	output        = "OUTPUT"
	weftInbound   = "WEFT_INBOUND"
	weftOutbound  = "WEFT_OUTBOUND"
	chainsOfOurs  = "WEFT_"
	proxyZone     = 1 // of what the sidecar asks of a name server
	workloadZone  = 2 // of what the workload asks, and the sidecar answers
	loopback      = "lo"
	multiportMost = 15
)

// action is what a rule does with what it matches.
type action int

const (
	letPass action = iota
	redirect
	jump
	zone
	drop
)

// rule is one rule, in the syntax of neither program. What is zero matches everything.
type rule struct {
	table, chain     string
	family           int // 4, 6, or 0 for both
	source, dest     netip.Prefix
	notDest          bool
	byLoopback       bool // leaves by lo
	protocol         string
	ports            Ports // destination
	notPorts         bool
	sourcePort       uint16
	uids             *UIDRange
	notUIDs, invalid bool

	do     action
	port   uint16 // of redirect
	target string // of jump
	zone   uint16
}

// families are those that c redirects, with their loopback and the address from which a
// sidecar calls its own workload.
type familyFacts struct {
	number         int
	loopback, self netip.Prefix
}

var (
	facts4 = familyFacts{4, netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("127.0.0.6/32")}
	facts6 = familyFacts{6, netip.MustParsePrefix("::1/128"), netip.MustParsePrefix("::6/128")}
)

func (c *Config) families() []familyFacts {
	var out []familyFacts
	if c.IPFamilyMode.has4() {
		out = append(out, facts4)
	}
	if c.IPFamilyMode.has6() {
		out = append(out, facts6)
	}
	return out
}

// rules are those of spec/kubernetes.md 5.2, in their order within each chain.
func rules(c Config) []rule {
	out := slices.Concat(c.invalid(), c.zones())
	if c.RedirectInbound {
		out = append(out, c.inbound()...)
	}
	out = append(out, c.outbound()...)
	if c.RedirectInbound {
		out = append(out, rule{table: nat, chain: prerouting, protocol: TCP, do: jump, target: weftInbound})
	}
	out = append(out, c.questions()...)
	out = append(out, rule{table: nat, chain: output, protocol: TCP, do: jump, target: weftOutbound})
	only := c.families()
	return slices.DeleteFunc(out, func(r rule) bool {
		return r.family != 0 && !slices.ContainsFunc(only, func(f familyFacts) bool { return f.number == r.family })
	})
}

func (c *Config) proxy() *UIDRange { return &UIDRange{c.ProxyUID, c.ProxyUID} }

func (c *Config) invalid() []rule {
	if !c.DropInvalidPackets {
		return nil
	}
	return []rule{{table: mangle, chain: prerouting, protocol: TCP, invalid: true, do: drop}}
}

// inbound are the rules for what comes from outside.
func (c *Config) inbound() []rule {
	in := func(r rule) rule {
		r.table, r.chain = nat, weftInbound
		return r
	}
	var out []rule
	for _, p := range c.ExcludeInboundIPs {
		out = append(out, in(rule{family: familyOf(p.Addr()), source: p}))
	}
	direct := append(Ports{{ProbePort, ProbePort}, {ReadinessPort, ReadinessPort}}, c.ExcludeInboundPorts...)
	for _, ports := range chunks(direct.normal()) {
		out = append(out, in(rule{protocol: TCP, ports: ports}))
	}
	return append(out, in(rule{protocol: TCP, do: redirect, port: c.InboundPort}))
}

// outbound are the rules for what processes of this namespace send.
func (c *Config) outbound() []rule {
	at := func(r rule) rule {
		r.table, r.chain = nat, weftOutbound
		return r
	}
	// What loops back is the sidecar calling its own workload: as a client, then it is
	// taken for inbound traffic, or as the workload's sidecar, then it has arrived.
	var notDNS Ports
	if c.RedirectDNS {
		notDNS = Ports{{dns, dns}}
	}
	var out []rule
	for _, f := range c.families() {
		out = append(out, at(rule{family: f.number, source: f.self, byLoopback: true}))
		if c.RedirectInbound {
			out = append(out, at(rule{family: f.number, dest: f.loopback, notDest: true, byLoopback: true, protocol: TCP,
				ports: notDNS, notPorts: true, uids: c.proxy(), do: redirect, port: c.InboundPort}))
		}
	}
	out = append(out,
		at(rule{byLoopback: true, protocol: TCP, ports: notDNS, notPorts: true, uids: c.proxy(), notUIDs: true}),
		at(rule{uids: c.proxy()}))
	for _, f := range c.families() {
		out = append(out, at(rule{family: f.number, dest: f.loopback}))
	}
	for _, p := range c.ExcludeOutboundIPs {
		out = append(out, at(rule{family: familyOf(p.Addr()), dest: p}))
	}
	for _, ports := range chunks(c.ExcludeOutboundPorts.normal()) {
		out = append(out, at(rule{protocol: TCP, ports: ports}))
	}
	for _, u := range c.ExcludeOutboundPortsForUIDs {
		if u.Protocol == UDP {
			continue // of UDP only DNS is redirected: see questions
		}
		for _, ports := range chunksOrAll(u.Ports.normal()) {
			out = append(out, at(rule{protocol: TCP, ports: ports, uids: &UIDRange{u.UIDs.First, u.UIDs.Last}}))
		}
	}
	return append(out, at(rule{protocol: TCP, do: redirect, port: c.OutboundPort}))
}

// chunks are as many ports as one multiport match takes each; a range counts two.
func chunks(ports Ports) []Ports {
	var out []Ports
	room := 0
	for _, p := range ports {
		need := 1
		if p.First != p.Last {
			need = 2
		}
		if need > room {
			out, room = append(out, nil), multiportMost
		}
		out[len(out)-1], room = append(out[len(out)-1], p), room-need
	}
	return out
}

func chunksOrAll(ports Ports) []Ports {
	if len(ports) == 0 {
		return []Ports{nil}
	}
	return chunks(ports)
}

func familyOf(ip netip.Addr) int {
	if ip.Is4() {
		return 4
	}
	return 6
}

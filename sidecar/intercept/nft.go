package intercept

import (
	"encoding/json"
	"net/netip"
	"strings"
)

// nftTable is the one table of weft, for both families.
const nftTable = "inet weft"

// nftChains are the chains of the table in order, by table and chain of iptables.
var nftChains = []struct{ table, chain, name, hook string }{
	{nat, weftInbound, "inbound", ""},
	{nat, weftOutbound, "outbound", ""},
	{mangle, prerouting, "prerouting_mangle", "type filter hook prerouting priority mangle; policy accept;"},
	{raw, prerouting, "prerouting_raw", "type filter hook prerouting priority raw; policy accept;"},
	{raw, output, "output_raw", "type filter hook output priority raw; policy accept;"},
	{nat, prerouting, "prerouting", "type nat hook prerouting priority dstnat; policy accept;"},
	{nat, output, "output", "type nat hook output priority -100; policy accept;"},
}

// nftBody prints the table as `nft -s list table` does, so that what is installed can be
// compared with what is wanted.
func nftBody(c Config) string {
	all, only := rules(c), 0
	if c.IPFamilyMode != DualStack {
		only = c.families()[0].number
	}
	var chains []string
	for _, ch := range nftChains {
		var lines []string
		for _, r := range all {
			if r.table == ch.table && r.chain == ch.chain {
				lines = append(lines, "\t\t"+r.nft(only)+"\n")
			}
		}
		if len(lines) == 0 {
			continue
		}
		head := "\tchain " + ch.name + " {\n"
		if ch.hook != "" {
			head += "\t\t" + ch.hook + "\n"
		}
		chains = append(chains, head+strings.Join(lines, "")+"\t}\n")
	}
	return "table " + nftTable + " {\n" + strings.Join(chains, "\n") + "}\n"
}

// nftReplace is a file that makes the table what body says; an empty body takes it away.
// The first line makes a table, so that the second finds one to delete.
func nftReplace(body string) string {
	return "table " + nftTable + "\ndelete table " + nftTable + "\n" + body
}

// nft prints a rule; only is the one family that is redirected, 0 for both.
func (r rule) nft(only int) string {
	var w []string
	add := func(words ...string) { w = append(w, words...) }
	family := r.family
	if family == 0 {
		family = only
	}
	switch {
	case some(r.source):
		add(nftFamily(r.source), "saddr", nftPrefix(r.source))
	case some(r.dest) && r.notDest:
		add(nftFamily(r.dest), "daddr", "!=", nftPrefix(r.dest))
	case some(r.dest):
		add(nftFamily(r.dest), "daddr", nftPrefix(r.dest))
	case family != 0:
		add("meta", "nfproto", map[int]string{4: "ipv4", 6: "ipv6"}[family])
	}
	if r.byLoopback {
		add("oifname", `"`+loopback+`"`)
	}
	switch {
	case r.sourcePort != 0:
		add(r.protocol, "sport", number(r.sourcePort))
	case len(r.ports) == 1 && r.notPorts:
		add(r.protocol, "dport", "!=", r.ports.String())
	case len(r.ports) == 1:
		add(r.protocol, "dport", r.ports.String())
	case len(r.ports) > 1:
		add(r.protocol, "dport", "{", strings.ReplaceAll(r.ports.String(), ",", ", "), "}")
	case r.protocol != "":
		add("meta", "l4proto", r.protocol)
	}
	if r.uids != nil {
		add("meta", "skuid")
		if r.notUIDs {
			add("!=")
		}
		add(r.uids.String())
	}
	if r.invalid {
		add("ct", "state", "invalid")
	}
	add(r.nftVerdict(), "comment", `"`+Comment+`"`)
	return strings.Join(w, " ")
}

func (r rule) nftVerdict() string {
	switch r.do {
	case redirect:
		return "redirect to :" + number(r.port)
	case jump:
		return "jump " + map[string]string{weftInbound: "inbound", weftOutbound: "outbound"}[r.target]
	case zone:
		return "ct zone set " + number(r.zone)
	case drop:
		return "drop"
	}
	return "return"
}

func nftFamily(p netip.Prefix) string {
	if p.Addr().Is4() {
		return "ip"
	}
	return "ip6"
}

func nftPrefix(p netip.Prefix) string {
	if p.IsSingleIP() {
		return p.Addr().String()
	}
	return p.String()
}

// nftOurs reports whether all rules of the table that `nft -j list table` prints carry
// weft's comment, and there are any.
func nftOurs(listing string) bool {
	var read struct {
		Nftables []struct {
			Rule *struct{ Comment string }
		}
	}
	if json.Unmarshal([]byte(listing), &read) != nil {
		return false
	}
	n := 0
	for _, x := range read.Nftables {
		if x.Rule == nil {
			continue
		}
		if n++; !carriesOurs("-A x --comment " + strings.Join(strings.Fields(x.Rule.Comment), "_")) {
			return false
		}
	}
	return n > 0
}

// sameTable reports whether two listings say the same.
func sameTable(a, b string) bool {
	return strings.Join(strings.Fields(a), " ") == strings.Join(strings.Fields(b), " ")
}

package intercept

import (
	"net/netip"
	"strings"
)

// tables are those that weft writes to, the one last without which nothing is redirected.
var tables = []string{mangle, raw, nat}

// ruleset is what is ours in the tables of one family: what iptables-save prints of it.
type ruleset map[string][]string // by table, each -A CHAIN …

// iptables prints the rules of one family as iptables-save does, so that what is
// installed can be compared with what is wanted.
func iptables(c Config, family int) ruleset {
	out := ruleset{}
	for _, r := range rules(c) {
		if r.family == 0 || r.family == family {
			out[r.table] = append(out[r.table], r.iptables())
		}
	}
	return out
}

func (r rule) iptables() string {
	w := []string{"-A", r.chain}
	add := func(not bool, words ...string) {
		if not {
			w = append(w, "!")
		}
		w = append(w, words...)
	}
	if some(r.source) {
		add(false, "-s", r.source.String())
	}
	if some(r.dest) {
		add(r.notDest, "-d", r.dest.String())
	}
	if r.byLoopback {
		add(false, "-o", loopback)
	}
	if r.protocol != "" {
		add(false, "-p", r.protocol)
	}
	switch {
	case r.sourcePort != 0:
		add(false, "-m", r.protocol)
		add(false, "--sport", number(r.sourcePort))
	case len(r.ports) == 1 && r.ports[0].First == r.ports[0].Last:
		add(false, "-m", r.protocol)
		add(r.notPorts, "--dport", number(r.ports[0].First))
	case len(r.ports) > 0:
		add(false, "-m", "multiport")
		add(r.notPorts, "--dports", strings.ReplaceAll(r.ports.String(), "-", ":"))
	}
	if r.uids != nil {
		add(false, "-m", "owner")
		add(r.notUIDs, "--uid-owner", r.uids.String())
	}
	if r.invalid {
		add(false, "-m", "conntrack", "--ctstate", "INVALID")
	}
	add(false, "-m", "comment", "--comment", `"`+Comment+`"`, "-j", r.iptablesTarget())
	return strings.Join(w, " ")
}

func (r rule) iptablesTarget() string {
	switch r.do {
	case redirect:
		return "REDIRECT --to-ports " + number(r.port)
	case jump:
		return r.target
	case zone:
		return "CT --zone " + number(r.zone)
	case drop:
		return "DROP"
	}
	return "RETURN"
}

// some reports whether p leaves anything out.
func some(p netip.Prefix) bool { return p.IsValid() && p.Bits() > 0 }

// restoreText is the text of iptables-restore that makes what is there into what is
// wanted, and leaves foreign rules where they are. With --noflush a chain that is
// declared is emptied, and a rule of a chain of the kernel's is added once more: so the
// old ones go first (spec/kubernetes.md 5.5). It is empty where there is nothing to do.
func restoreText(there, want ruleset) string {
	var b strings.Builder
	for _, table := range tables {
		old, now := there[table], want[table]
		if len(old)+len(now) == 0 {
			continue
		}
		b.WriteString("*" + table + "\n")
		keep := chainsOf(now)
		for _, chain := range append(keep, without(chainsOf(old), keep)...) {
			b.WriteString(":" + chain + " - [0:0]\n")
		}
		for _, line := range old {
			if !strings.HasPrefix(chainOf(line), chainsOfOurs) {
				b.WriteString("-D" + strings.TrimPrefix(line, "-A") + "\n")
			}
		}
		for _, line := range now {
			b.WriteString(line + "\n")
		}
		for _, chain := range without(chainsOf(old), keep) {
			b.WriteString("-X " + chain + "\n")
		}
		b.WriteString("COMMIT\n")
	}
	return b.String()
}

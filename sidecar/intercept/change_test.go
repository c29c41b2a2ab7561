package intercept_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/weftmesh/weft/internal/netnstest"
	"github.com/weftmesh/weft/sidecar/intercept"
)

// foreignRules are somebody else's, around which weft's come and go.
const foreignRules = `*nat
:KUBE-SERVICES - [0:0]
-A PREROUTING -m comment --comment "kubernetes \"service\" portals" -j KUBE-SERVICES
-A OUTPUT -d 192.0.2.1/32 -p tcp -m tcp --dport 80 -j RETURN
-A KUBE-SERVICES -p tcp -m comment --comment weft/x -j RETURN
COMMIT
*raw
-A OUTPUT -d 192.0.2.2/32 -j RETURN
COMMIT
*mangle
-A PREROUTING -s 192.0.2.3/32 -j ACCEPT
COMMIT
`

const foreignTable = "table inet somebody {\n\tchain output {\n\t\ttype nat hook output priority -99; policy accept;\n\t\tip daddr 192.0.2.1 tcp dport 80 accept\n\t}\n}\n"

// feed runs a program of the namespace with text to read.
func feed(t *testing.T, n *netnstest.Namespace, text string, command ...string) {
	t.Helper()
	cmd := n.Command(0, command[0], command[1:]...)
	cmd.Stdin = strings.NewReader(text)
	if said, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v: %s", command, err, said)
	}
}

var (
	counters = regexp.MustCompile(`\[\d+:\d+\]`)
	dates    = regexp.MustCompile(`(?m)^#.*\n`)
)

// everything is all rules of a namespace, by all programs, without counters and dates.
func everything(n *netnstest.Namespace, backends ...string) string {
	var out strings.Builder
	for _, b := range backends {
		for _, program := range []string{"iptables", "ip6tables"} {
			out.WriteString("== " + program + b + "\n")
			out.WriteString(dates.ReplaceAllString(counters.ReplaceAllString(n.Output(program+b+"-save"), ""), ""))
		}
	}
	out.WriteString(n.Output("nft", "-s", "list", "tables"))
	return out.String() + n.Output("nft", "-s", "list", "table", "inet", "somebody")
}

// TestForeignRulesStay: what others installed is byte for byte what it was, after
// installing twice by every backend and uninstalling once.
func TestForeignRulesStay(t *testing.T) {
	t.Parallel()
	n := netnstest.New(t)
	p := &pod{Namespace: n.Pod()}
	for _, b := range []string{"iptables-nft", "ip6tables-nft", "iptables-legacy", "ip6tables-legacy"} {
		text := foreignRules
		if strings.HasPrefix(b, "ip6") {
			text = regexp.MustCompile(`192\.0\.2\.(\d)/32`).ReplaceAllString(text, "2001:db8::$1/128")
		}
		feed(t, p.Namespace, text, b+"-restore")
	}
	feed(t, p.Namespace, foreignTable, "nft", "-f", "-")
	before := everything(p.Namespace, "-nft", "-legacy")
	c := excluding()
	c.DropInvalidPackets, c.RedirectDNS = true, true
	c.DNSServers = append(c.DNSServers, netnstest.WorldIPv4, netnstest.WorldIPv6)
	for i, b := range everyBackend {
		p.install(t, c, b)
		c.ExcludeInboundPorts = append(c.ExcludeInboundPorts, intercept.PortRange{First: 7000 + 10*uint16(i), Last: 7000 + 10*uint16(i)})
		if got := p.install(t, c, b); !got.Changed {
			t.Errorf("%s: other flags change nothing", b)
		}
		if strings.Count(everything(p.Namespace, "-nft", "-legacy"), "192.0.2.1") != 3 {
			t.Errorf("%s: a foreign rule is gone", b)
		}
	}
	p.uninstall(t)
	if d := cmp.Diff(before, everything(p.Namespace, "-nft", "-legacy")); d != "" {
		t.Errorf("after uninstalling (-before +after):\n%s", d)
	}
	if text := p.Output("ip", "-6", "addr", "show", "dev", "lo"); strings.Contains(text, "::6/") {
		t.Errorf("the address stays:\n%s", text)
	}
}

// TestForeignRulesInOurChains: both commands refuse, name the rule and touch nothing.
func TestForeignRulesInOurChains(t *testing.T) {
	t.Parallel()
	n := netnstest.New(t)
	p := &pod{Namespace: n.Pod()}
	feed(t, p.Namespace, foreignTable, "nft", "-f", "-")
	feed(t, p.Namespace, "table inet weft {\n\tchain x {\n\t\taccept\n\t}\n}\n", "nft", "-f", "-")
	feed(t, p.Namespace, "*nat\n:WEFT_OUTBOUND - [0:0]\n-A WEFT_OUTBOUND -p udp -j ACCEPT\nCOMMIT\n", "ip6tables-nft-restore")
	before := everything(p.Namespace, "-nft")
	for name, do := range map[string]func() (intercept.Applied, error){
		"install": func() (intercept.Applied, error) {
			return intercept.Install(context.Background(), intercept.Default(), intercept.Auto)
		},
		"uninstall": func() (intercept.Applied, error) { return intercept.Uninstall(context.Background()) },
	} {
		err := p.Do(0, func() error { _, err := do(); return err })
		if err == nil || !strings.Contains(err.Error(), "ip6tables-nft: table nat: a rule in a chain of weft's that weft did not make: -A WEFT_OUTBOUND -p udp -j ACCEPT") ||
			!strings.Contains(err.Error(), "nft: table inet weft has rules that weft did not make") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if d := cmp.Diff(before, everything(p.Namespace, "-nft")); d != "" {
		t.Errorf("(-before +after):\n%s", d)
	}
}

// TestFailureHalfWay: where IPv6 fails after IPv4 was done, everything is as it was,
// whether nothing was installed before or something else. What fails is the program, for
// the kernel takes everything that it was asked about before.
func TestFailureHalfWay(t *testing.T) {
	netnstest.Need(t)
	p := &pod{Namespace: netnstest.New(t).Pod()}
	feed(t, p.Namespace, foreignTable, "nft", "-f", "-")
	feed(t, p.Namespace, foreignRules, "iptables-nft-restore")
	path, dir := os.Getenv("PATH"), t.TempDir()
	real, err := exec.LookPath("ip6tables-nft-restore")
	if err != nil {
		t.Fatal(err)
	}
	// It takes the first of the tables, and then fails, once.
	script := "#!/bin/sh\ncase \"$*\" in *--test*) exec " + real + " \"$@\";; esac\n" +
		"[ -e " + dir + "/failed ] && exec " + real + " \"$@\"\ntouch " + dir + "/failed\n" +
		"sed '/^COMMIT/q' | " + real + " \"$@\"\necho 'No buffer space' >&2\nexit 4\n"
	if err := os.WriteFile(filepath.Join(dir, "ip6tables-nft-restore"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	c := intercept.Default()
	c.DropInvalidPackets = true
	for _, installed := range []bool{false, true} {
		if installed {
			p.install(t, c, intercept.IptablesNFT)
			c.ExcludeInboundPorts = intercept.Ports{{First: 22, Last: 22}}
			c.DropInvalidPackets = false
		}
		before := everything(p.Namespace, "-nft")
		address := p.Output("ip", "-6", "addr", "show", "dev", "lo")
		t.Setenv("PATH", dir+":"+path)
		err := p.Do(0, func() error {
			_, err := intercept.Install(context.Background(), c, intercept.IptablesNFT)
			return err
		})
		if err == nil || !strings.Contains(err.Error(), "No buffer space; if this kernel cannot redirect IPv6, give --ip-family-mode ipv4; what was changed is undone") {
			t.Errorf("installed %v: %v", installed, err)
		}
		t.Setenv("PATH", path)
		got := everything(p.Namespace, "-nft")
		if d := cmp.Diff(ruled(before), ruled(got)); d != "" {
			t.Errorf("installed %v (-before +after):\n%s", installed, d)
		}
		if d := cmp.Diff(address, p.Output("ip", "-6", "addr", "show", "dev", "lo")); d != "" {
			t.Errorf("installed %v: addresses (-before +after):\n%s", installed, d)
		}
		if err := os.Remove(filepath.Join(dir, "failed")); err != nil {
			t.Fatal(err)
		}
	}
}

var unruled = regexp.MustCompile(`(?m)^(\*\w+\n(:.*\n)*COMMIT|table ip6? \w+)\n`)

// ruled leaves out the tables without rules: the kernel keeps what was made once.
func ruled(text string) string { return unruled.ReplaceAllString(text, "") }

// TestNoIPv6: dual stack is IPv4 then, and says so; IPv6 alone is refused.
func TestNoIPv6(t *testing.T) {
	t.Parallel()
	p := &pod{Namespace: netnstest.New(t).Pod()}
	p.Output("sysctl", "-q", "-w", "net.ipv6.conf.all.disable_ipv6=1", "net.ipv6.conf.lo.disable_ipv6=1")
	got := p.install(t, intercept.Default(), intercept.NFT)
	if got.Describe() != "installed: IPv4 by nft" || len(got.Warnings) != 1 || !strings.Contains(got.Warnings[0], "only IPv4 is redirected") {
		t.Errorf("%+v", got)
	}
	c := intercept.Default()
	c.IPFamilyMode = intercept.IPv6
	err := p.Do(0, func() error { _, err := intercept.Install(context.Background(), c, intercept.Auto); return err })
	if err == nil || !strings.Contains(err.Error(), "--ip-family-mode: there is no IPv6 here; write ipv4") {
		t.Errorf("IPv6 alone: %v", err)
	}
}

// TestWhichBackend: auto goes where the rules of others are.
func TestWhichBackend(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		there []string
		want  intercept.Firewall
	}{
		{nil, intercept.IptablesNFT},
		{[]string{"iptables-legacy"}, intercept.IptablesLegacy},
		{[]string{"ip6tables-legacy"}, intercept.IptablesLegacy},
		{[]string{"iptables-legacy", "iptables-nft"}, intercept.IptablesNFT},
	} {
		p := &pod{Namespace: netnstest.New(t).Pod()}
		for _, b := range c.there {
			feed(t, p.Namespace, "*filter\n-A INPUT -i lo -j ACCEPT\nCOMMIT\n", b+"-restore")
		}
		for _, want := range []bool{true, false} {
			if got := p.install(t, intercept.Default(), intercept.Auto); got.Backend != c.want || got.Changed != want {
				t.Errorf("beside %q: %+v, want %s", c.there, got, c.want)
			}
		}
	}
}

// TestTheKernelTakesEveryConfig: what is listed of any rules is what was wanted, so that
// installing once more changes nothing, and any follows on any other.
func TestTheKernelTakesEveryConfig(t *testing.T) {
	t.Parallel()
	p := &pod{Namespace: netnstest.New(t).Pod()}
	configs := rapid.Custom(anyConfig)
	for seed := range 40 {
		c, b := configs.Example(seed), everyBackend[seed%3]
		p.install(t, c, b)
		if got := p.install(t, c, b); got.Changed {
			t.Fatalf("%s: installed once more: %+v; %q", b, got, c.Args())
		}
	}
}

// TestSeveralAtOnce: one installs, and the others find what it installed.
func TestSeveralAtOnce(t *testing.T) {
	t.Parallel()
	p := &pod{Namespace: netnstest.New(t).Pod()}
	outcomes := make(chan intercept.Applied)
	const several = 4
	for range several {
		go func() {
			var out intercept.Applied
			err := p.Do(0, func() (err error) {
				out, err = intercept.Install(context.Background(), intercept.Default(), intercept.IptablesNFT)
				return err
			})
			if err != nil {
				t.Error(err)
			}
			outcomes <- out
		}()
	}
	changed := 0
	for range several {
		if out := <-outcomes; out.Changed {
			changed++
		}
	}
	if changed != 1 {
		t.Errorf("%d of %d installed it, want one", changed, several)
	}
}

package intercept_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weftmesh/weft/sidecar/intercept"
)

// TestWhoseRules: what of an output of iptables-save is weft's, and what is refused.
func TestWhoseRules(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, save string
		ours       []string
		foreign    int
		refused    string
	}{
		{name: "nothing"},
		{
			name: "ours, of any version, beside others",
			save: `:WEFT_INBOUND - [0:0]
-A PREROUTING -p tcp -m comment --comment "weft/1" -j WEFT_INBOUND
-A PREROUTING -p tcp -j KUBE-SERVICES
-A WEFT_INBOUND -p tcp -m comment --comment weft/2 -j REDIRECT --to-ports 15006`,
			ours: []string{
				`-A PREROUTING -p tcp -m comment --comment "weft/1" -j WEFT_INBOUND`,
				`-A WEFT_INBOUND -p tcp -m comment --comment weft/2 -j REDIRECT --to-ports 15006`,
			},
			foreign: 1,
		},
		{
			name: "a comment that speaks of ours",
			save: `-A OUTPUT -m comment --comment "see \"--comment weft/1\" -j WEFT_OUTBOUND" -j ACCEPT
-A OUTPUT -m comment --comment "weft/1 too" -j ACCEPT
-A OUTPUT -m comment --comment weft/ -j ACCEPT`,
			foreign: 3,
		},
		{
			name:    "somebody's chain of our names",
			save:    ":WEFT_OUTBOUND - [0:0]\n-A WEFT_OUTBOUND -j ACCEPT",
			refused: "-A WEFT_OUTBOUND -j ACCEPT",
		},
		{
			name:    "an empty chain of our names",
			save:    ":WEFT_X - [0:0]",
			refused: "a chain of weft's names that weft did not make: WEFT_X",
		},
		{
			name:    "somebody's way into our chain",
			save:    ":WEFT_OUTBOUND - [0:0]\n-A FORWARD -g WEFT_OUTBOUND\n-A WEFT_OUTBOUND -m comment --comment weft/1 -j RETURN",
			ours:    []string{"-A WEFT_OUTBOUND -m comment --comment weft/1 -j RETURN"},
			refused: "-A FORWARD -g WEFT_OUTBOUND",
		},
	} {
		ours, foreign, err := intercept.ParseSave("# Generated\n*nat\n:OUTPUT ACCEPT [0:0]\n" + c.save + "\nCOMMIT\n")
		if d := cmp.Diff(c.ours, ours["nat"]); d != "" || foreign != c.foreign {
			t.Errorf("%s: %d foreign, want %d; ours (-want +got):\n%s", c.name, foreign, c.foreign, d)
		}
		if (err != nil) != (c.refused != "") || err != nil && !strings.Contains(err.Error(), c.refused) {
			t.Errorf("%s: %v, want %q", c.name, err, c.refused)
		}
	}
}

// TestWhoseTable: the table of nft is weft's if every rule in it is.
func TestWhoseTable(t *testing.T) {
	t.Parallel()
	for listing, want := range map[string]bool{
		`{"nftables":[{"table":{}},{"rule":{"comment":"weft/1"}},{"rule":{"comment":"weft/7"}}]}`: true,
		`{"nftables":[{"rule":{"comment":"weft/1"}},{"rule":{}}]}`:                                false,
		`{"nftables":[{"rule":{"comment":"x --comment weft/1"}}]}`:                                false,
		`{"nftables":[{"table":{}}]}`:                                                             false,
		`?`:                                                                                       false,
	} {
		if got := intercept.NFTOurs(listing); got != want {
			t.Errorf("%s: %v, want %v", listing, got, want)
		}
	}
}

// TestNameServers: those of a resolv.conf, each once.
func TestNameServers(t *testing.T) {
	t.Parallel()
	got := intercept.NameServers("# nameserver 192.0.2.1\nnameserver 10.0.0.10\nsearch x\nnameserver fd00::a\nnameserver\t10.0.0.10\nnameserver fe80::1%eth0\nnameserver $(reboot)\nnameserver ::ffff:10.0.0.11\n")
	var text []string
	for _, ip := range got {
		text = append(text, ip.String())
	}
	if d := cmp.Diff([]string{"10.0.0.10", "fd00::a", "10.0.0.11"}, text); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// TestAnnotationsAreReadStrictly: what is wrong in one is refused, as flags are.
func TestAnnotationsAreReadStrictly(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"redirectUDP": true}`:                               "unknown field",
		`{"excludeInboundPorts": ["80 -j ACCEPT"]}`:           "is no port",
		`{"excludeOutboundIPs": ["::ffff:10.0.0.1/128"]}`:     "is no address",
		`{"dnsServers": ["fe80::1%eth0"]}`:                    "is no address",
		`{"excludeOutboundPortsForUIDs": ["1;2"]}`:            "not one entry",
		`{"ipFamilyMode": "both"}`:                            "--ip-family-mode: unknown",
		`{"inboundPort": 0}`:                                  "--inbound-port: 0 is no port",
		`{"outboundPort": 9902}`:                              "--outbound-port: the sidecar answers probes there",
		`{"outboundPort": 15053}`:                             "--dns-port: it is the port of --outbound-port too",
		`{"dnsServers": ["10.0.0.10"]}`:                       "add --redirect-dns",
		`{} {}`:                                               "goes on after its end",
		`{"excludeInboundPorts": [` + many(1001) + `"5000"]}`: "more than 1000 entries",
	} {
		if _, err := intercept.ParseAnnotation(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.80s: %v, want %q", text, err, want)
		}
	}
}

// many are ports with a comma after each.
func many(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `"%d",`, 10_000+2*i)
	}
	return b.String()
}

// FuzzParseAnnotation: whatever is read comes back the same, and its rules are made.
func FuzzParseAnnotation(f *testing.F) {
	f.Add(`{}`)
	f.Add(`{"excludeInboundPorts": ["80", "8000-8100"], "excludeOutboundIPs": ["10.0.0.1", "fd00::/8"], "excludeOutboundPortsForUIDs": ["udp:53:5"], "redirectDNS": true, "dnsServers": ["10.0.0.10"]}`)
	f.Fuzz(func(t *testing.T, text string) {
		c, err := intercept.ParseAnnotation(text)
		if err != nil {
			return
		}
		again, err := intercept.ParseAnnotation(c.Annotation())
		if err != nil {
			t.Fatalf("%s: %v", c.Annotation(), err)
		}
		for _, b := range intercept.Backends {
			if d := cmp.Diff(intercept.Render(c, b), intercept.Render(again, b)); d != "" {
				t.Fatal(d)
			}
		}
	})
}

// FuzzParseSave: no output of a program breaks the reading of it, and nothing that is
// foreign is taken for ours.
func FuzzParseSave(f *testing.F) {
	f.Add(`-A OUTPUT -m comment --comment "a \"b\" weft/1" -j ACCEPT`)
	f.Add("*nat\n:WEFT_X - [0:0]\n-A WEFT_X -m comment --comment weft/1 -j RETURN\nCOMMIT")
	f.Fuzz(func(t *testing.T, text string) {
		ours, _, _ := intercept.ParseSave(text)
		for _, lines := range ours {
			for _, line := range lines {
				if !strings.Contains(text, line) || !strings.Contains(strings.ReplaceAll(line, `"`, ""), "weft/") {
					t.Fatalf("%q is taken for ours", line)
				}
			}
		}
	})
}

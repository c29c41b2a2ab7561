package intercept

import (
	"fmt"
	"strings"
)

// Firewall is the program by which rules get into the kernel.
type Firewall string

// The backends. Auto is IptablesLegacy where its tables alone hold rules, else
// IptablesNFT, else NFT, by which of them are there.
const (
	Auto           Firewall = "auto"
	IptablesNFT    Firewall = "iptables-nft"
	IptablesLegacy Firewall = "iptables-legacy"
	NFT            Firewall = "nft"
)

// Backends are all of them, as they may be asked for.
var Backends = []Firewall{Auto, IptablesNFT, IptablesLegacy, NFT}

// ParseBackend reads the name of a backend.
func ParseBackend(text string) (Firewall, error) {
	var names []string
	for _, b := range Backends {
		if string(b) == text {
			return b, nil
		}
		names = append(names, string(b))
	}
	return "", &InvalidFlag{"backend", fmt.Sprintf("%q is none; write one of %s", text, strings.Join(names, ", "))}
}

// String is a line of shell that does it.
func (in CommandInput) String() string {
	line := strings.Join(in.Command, " ")
	if in.Text == "" {
		return line + "\n"
	}
	return line + " <<'END'\n" + in.Text + "END\n"
}

// lockWait is how many seconds iptables waits for others that change rules.
const lockWait = "5"

// CommandInput is a command and what it reads.
type CommandInput struct {
	Command []string
	Text    string
}

// Render is what installs c where nothing of weft's is yet: one transaction for each
// family, or one for both with NFT. It is a pure function of valid settings, and Auto is
// IptablesNFT to it, as is no backend.
func Render(c Config, b Firewall) []CommandInput {
	var out []CommandInput
	if c.IPFamilyMode.has6() {
		out = append(out, CommandInput{Command: addSelf6})
	}
	if b == NFT {
		return append(out, CommandInput{nftLoad, nftReplace(nftBody(c))})
	}
	if b == Auto || b == "" {
		b = IptablesNFT
	}
	for _, f := range c.families() {
		out = append(out, CommandInput{restore(b, f.number), restoreText(nil, iptables(c, f.number))})
	}
	return out
}

// The address from which a sidecar calls its own workload over IPv6 is not on the
// loopback device by itself, as all of 127.0.0.0/8 is. Without nodad the kernel looks for
// duplicates of it first, if only for a moment, and nobody can bind it meanwhile.
var (
	addSelf6    = []string{"ip", "-6", "addr", "add", facts6.self.String(), "dev", loopback, "nodad"}
	removeSelf6 = []string{"ip", "-6", "addr", "del", facts6.self.String(), "dev", loopback}
	nftLoad     = []string{"nft", "-f", "-"}
)

func restore(b Firewall, family int) []string {
	return []string{tool(b, family, "restore"), "--noflush", "--wait", lockWait}
}

// tool is such as ip6tables-nft-save.
func tool(b Firewall, family int, does string) string {
	variant, name := strings.TrimPrefix(string(b), "iptables-"), "iptables-"
	if family == 6 {
		name = "ip6tables-"
	}
	return name + variant + "-" + does
}

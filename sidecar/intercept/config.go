package intercept

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/hashicorp/go-multierror"
)

// Config says what is redirected to a sidecar, and what is not. Its JSON is the value of
// the pod's annotation InterceptionAnnotation, from which a CNI plugin makes the same
// rules that weft-init makes of flags (spec/kubernetes.md 5.7): keys are added and never
// renamed, and a key that is absent has the value of Default.
type Config struct {
	// ProxyUID is the user that the sidecar runs as. What it sends is not redirected.
	ProxyUID uint32 `json:"proxyUID"`
	// InboundPort, OutboundPort and DNSPort are where the sidecar listens: all differ.
	InboundPort  uint16 `json:"inboundPort"`
	OutboundPort uint16 `json:"outboundPort"`
	DNSPort      uint16 `json:"dnsPort"`
	// RedirectInbound is false for gateways, whose clients are outside the mesh.
	RedirectInbound bool `json:"redirectInbound"`
	// ExcludeInboundPorts are those of the workload that are reached directly. ProbePort
	// and ReadinessPort always are.
	ExcludeInboundPorts Ports `json:"excludeInboundPorts,omitempty"`
	// ExcludeInboundIPs are clients that reach every port directly.
	ExcludeInboundIPs Prefixes `json:"excludeInboundIPs,omitempty"`
	// ExcludeOutboundPorts and ExcludeOutboundIPs are what the workload calls directly.
	ExcludeOutboundPorts Ports    `json:"excludeOutboundPorts,omitempty"`
	ExcludeOutboundIPs   Prefixes `json:"excludeOutboundIPs,omitempty"`
	// ExcludeOutboundPortsForUIDs are ports that some users call directly.
	ExcludeOutboundPortsForUIDs []UIDPorts `json:"excludeOutboundPortsForUIDs,omitempty"`
	// RedirectDNS sends questions to DNSServers to DNSPort of the sidecar.
	RedirectDNS bool `json:"redirectDNS"`
	// DNSServers are those of which questions are redirected; none are those of the
	// resolv.conf of where the rules are installed.
	DNSServers []netip.Addr `json:"dnsServers,omitempty"`
	// IPFamilyMode is which families are redirected.
	IPFamilyMode IPFamilyMode `json:"ipFamilyMode"`
	// DropInvalidPackets drops TCP packets of no connection that the kernel knows, which
	// it would answer with a reset that ends one.
	DropInvalidPackets bool `json:"dropInvalidPackets"`
}

// InterceptionAnnotation of a pod holds its Config as JSON.
const InterceptionAnnotation = "weft.io/interception"

// IPFamilyMode is which families of addresses are redirected.
type IPFamilyMode string

// The modes. DualStack on a host without IPv6 is IPv4 alone.
const (
	DualStack IPFamilyMode = "dualstack"
	IPv4      IPFamilyMode = "ipv4"
	IPv6      IPFamilyMode = "ipv6"
)

func (m IPFamilyMode) has4() bool { return m != IPv6 }
func (m IPFamilyMode) has6() bool { return m != IPv4 }

// Default redirects everything but DNS, to the sidecar's usual ports.
func Default() Config {
	return Config{
		ProxyUID: 5678, InboundPort: 15006, OutboundPort: 15001, DNSPort: 15053,
		RedirectInbound: true, IPFamilyMode: DualStack,
	}
}

// most bounds each list: what comes from annotations becomes rules that every packet passes.
const most = 1000

// InvalidFlag is a mistake in one setting, by the name of its flag without dashes.
type InvalidFlag struct{ Flag, Message string }

func (f *InvalidFlag) Error() string { return "--" + f.Flag + ": " + f.Message }

// Validate reports everything that is wrong, as Faults.
func (c *Config) Validate() error {
	var errs *multierror.Error
	add := func(flag, message string) { errs = multierror.Append(errs, &InvalidFlag{flag, message}) }
	seen := map[uint16]string{}
	for _, p := range []struct {
		flag string
		port uint16
	}{{"inbound-port", c.InboundPort}, {"outbound-port", c.OutboundPort}, {"dns-port", c.DNSPort}} {
		switch other := seen[p.port]; {
		case p.port == 0:
			add(p.flag, "0 is no port; write one from 1 to 65535")
		case p.port == ProbePort || p.port == ReadinessPort:
			add(p.flag, "the sidecar answers probes there; choose another port")
		case other != "":
			add(p.flag, "it is the port of --"+other+" too; choose another one")
		default:
			seen[p.port] = p.flag
		}
	}
	switch c.IPFamilyMode {
	case DualStack, IPv4, IPv6:
	default:
		add("ip-family-mode", "unknown; write dualstack, ipv4 or ipv6")
	}
	if !c.RedirectDNS && len(c.DNSServers) > 0 {
		add("dns-servers", "without effect unless DNS is redirected; add --redirect-dns or leave it out")
	}
	for flag, n := range c.lengths() {
		if n > most {
			add(flag, "more than 1000 entries; use ranges or prefixes")
		}
	}
	for _, u := range c.ExcludeOutboundPortsForUIDs {
		if u.Protocol != "" && u.Protocol != TCP && u.Protocol != UDP {
			add(flagUIDs, "unknown protocol; write tcp or udp")
		}
	}
	if errs != nil {
		sortFaults(errs.Errors)
	}
	return errs.ErrorOrNil()
}

func (c *Config) lengths() map[string]int {
	return map[string]int{
		"exclude-inbound-ports": len(c.ExcludeInboundPorts), "exclude-inbound-ips": len(c.ExcludeInboundIPs),
		"exclude-outbound-ports": len(c.ExcludeOutboundPorts), "exclude-outbound-ips": len(c.ExcludeOutboundIPs),
		flagUIDs: len(c.ExcludeOutboundPortsForUIDs), "dns-servers": len(c.DNSServers),
	}
}

// Args are the flags of `weft install transparent-proxy` that say the same, all written
// out and sorted.
func (c *Config) Args() []string {
	out := []string{
		"--dns-port=" + number(c.DNSPort),
		flag("drop-invalid-packets", c.DropInvalidPackets),
		"--inbound-port=" + number(c.InboundPort),
		"--ip-family-mode=" + string(c.IPFamilyMode),
		"--outbound-port=" + number(c.OutboundPort),
		"--proxy-uid=" + number(c.ProxyUID),
		flag("redirect-dns", c.RedirectDNS),
		flag("redirect-inbound", c.RedirectInbound),
	}
	list := func(name, text string) {
		if text != "" {
			out = append(out, "--"+name+"="+text)
		}
	}
	list("dns-servers", joined(c.DNSServers, ","))
	list("exclude-inbound-ips", joined(c.ExcludeInboundIPs, ","))
	list("exclude-inbound-ports", c.ExcludeInboundPorts.String())
	list("exclude-outbound-ips", joined(c.ExcludeOutboundIPs, ","))
	list("exclude-outbound-ports", c.ExcludeOutboundPorts.String())
	list(flagUIDs, joined(c.ExcludeOutboundPortsForUIDs, ";"))
	slices.Sort(out)
	return out
}

func flag(name string, on bool) string {
	if on {
		return "--" + name + "=true"
	}
	return "--" + name + "=false"
}

func joined[T interface{ String() string }](list []T, sep string) string {
	var all []string
	for _, x := range list {
		all = append(all, x.String())
	}
	return strings.Join(all, sep)
}

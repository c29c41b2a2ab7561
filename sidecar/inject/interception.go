package inject

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
)

// Interception is what is redirected in a pod: the flags of `weft install
// transparent-proxy` (spec/kubernetes.md 5.1). As JSON it is the annotation
// weft.io/interception, for a CNI plugin to apply.
type Interception struct {
	Backend                    string   `json:"-"` // how rules get into the kernel is the host's
	DNSPort                    int      `json:"dnsPort,omitempty"`
	DropInvalidPackets         bool     `json:"dropInvalidPackets"`
	ExcludeInboundIPs          []string `json:"excludeInboundIPs,omitempty"`
	ExcludeInboundPorts        []string `json:"excludeInboundPorts,omitempty"`
	ExcludeOutboundIPs         []string `json:"excludeOutboundIPs,omitempty"`
	ExcludeOutboundPorts       []string `json:"excludeOutboundPorts,omitempty"`
	ExcludeOutboundPortsForUID []string `json:"excludeOutboundPortsForUIDs,omitempty"`
	InboundPort                int      `json:"inboundPort"`
	IPFamilyMode               string   `json:"ipFamilyMode"`
	OutboundPort               int      `json:"outboundPort"`
	ProxyUID                   int      `json:"proxyUID"`
	RedirectDNS                bool     `json:"redirectDNS"`
	RedirectInbound            bool     `json:"redirectInbound"`
}

// interception is what settings redirect.
func (s *settings) interception() Interception {
	kept := []string{strconv.Itoa(ReadinessPort)}
	if s.probePort != 0 {
		kept = append(kept, strconv.Itoa(s.probePort))
	}
	i := Interception{
		Backend: s.backend, DropInvalidPackets: s.dropInvalid,
		ExcludeInboundIPs: sorted(s.excludeInboundIPs, parsePrefixes), ExcludeInboundPorts: sorted(slices.Concat(kept, s.excludeInboundPorts), parsePorts),
		ExcludeOutboundIPs: sorted(s.excludeOutboundIPs, parsePrefixes), ExcludeOutboundPorts: sorted(s.excludeOutboundPorts, parsePorts),
		ExcludeOutboundPortsForUID: s.excludeForUIDs,
		InboundPort:                InboundPort, OutboundPort: OutboundPort, ProxyUID: UID, IPFamilyMode: s.family,
		RedirectDNS: s.dns, RedirectInbound: s.gateway == "",
	}
	if s.dns {
		i.DNSPort = s.dnsPort
	}
	return i
}

// sorted are the entries of lists that were checked, in order and each once.
func sorted(lists []string, parse func(string) ([]string, error)) []string {
	out, err := parse(strings.Join(lists, ","))
	if err != nil { // together they are more than one annotation may list
		return lists
	}
	return out
}

// JSON is the value of the annotation weft.io/interception.
func (i Interception) JSON() string {
	out, err := json.Marshal(i)
	if err != nil {
		panic(err) // numbers and texts always marshal
	}
	return string(out)
}

// Flags are the arguments of `weft install transparent-proxy`, in the order of their names.
func (i Interception) Flags() []string {
	out := []string{
		"--backend=" + i.Backend,
		"--drop-invalid-packets=" + strconv.FormatBool(i.DropInvalidPackets),
		"--inbound-port=" + strconv.Itoa(i.InboundPort),
		"--ip-family-mode=" + i.IPFamilyMode,
		"--outbound-port=" + strconv.Itoa(i.OutboundPort),
		"--proxy-uid=" + strconv.Itoa(i.ProxyUID),
		"--redirect-dns=" + strconv.FormatBool(i.RedirectDNS),
		"--redirect-inbound=" + strconv.FormatBool(i.RedirectInbound),
	}
	list := func(flag, separator string, values []string) {
		if len(values) > 0 {
			out = append(out, flag+"="+strings.Join(values, separator))
		}
	}
	list("--exclude-inbound-ips", ",", i.ExcludeInboundIPs)
	list("--exclude-inbound-ports", ",", i.ExcludeInboundPorts)
	list("--exclude-outbound-ips", ",", i.ExcludeOutboundIPs)
	list("--exclude-outbound-ports", ",", i.ExcludeOutboundPorts)
	list("--exclude-outbound-ports-for-uids", ";", i.ExcludeOutboundPortsForUID)
	if i.DNSPort != 0 {
		out = append(out, "--dns-port="+strconv.Itoa(i.DNSPort))
	}
	slices.Sort(out)
	return out
}

package api

import (
	"iter"
	"net/netip"
	"slices"
	"strings"
)

// Dataplane is one proxy and the workload behind it (spec/kuma.md 1.4). The fields after
// Networking are read so that documents of Kuma are understood, and have no effect.
type Dataplane struct {
	Networking *Networking    `json:"networking,omitempty"`
	Metrics    map[string]any `json:"metrics,omitempty"`
	Probes     map[string]any `json:"probes,omitempty"`
}

// Networking is where a dataplane listens and what it calls.
type Networking struct {
	Address             string               `json:"address,omitempty"`
	AdvertisedAddress   string               `json:"advertisedAddress,omitempty"`
	Gateway             *Gateway             `json:"gateway,omitempty"`
	Inbound             []Inbound            `json:"inbound,omitempty"`
	Outbound            []Outbound           `json:"outbound,omitempty"`
	TransparentProxying *TransparentProxying `json:"transparentProxying,omitempty"`
	Admin               *Admin               `json:"admin,omitempty"`
	Listeners           []ZoneListener       `json:"listeners,omitempty"`
}

// Inbound is one port of the workload.
type Inbound struct {
	Port           uint32            `json:"port,omitempty"`
	ServicePort    uint32            `json:"servicePort,omitempty"`    // default Port
	Address        string            `json:"address,omitempty"`        // default Networking.Address
	ServiceAddress string            `json:"serviceAddress,omitempty"` // default Address
	Name           string            `json:"name,omitempty"`           // default the decimal port
	Protocol       string            `json:"protocol,omitempty"`
	Tags           map[string]string `json:"tags,omitempty"`
	State          string            `json:"state,omitempty"` // Ready, NotReady, Ignored; empty = Ready
	Health         *Health           `json:"health,omitempty"`
	ServiceProbe   *ServiceProbe     `json:"serviceProbe,omitempty"`
}

// MarkerPort is that of the inbound of a pod to which no Service leads: nobody listens there
// and nobody answers (spec/kubernetes.md 2.8). The number is reserved.
const MarkerPort = 49151

// Ready reports whether who calls the service may be sent there.
func (in *Inbound) Ready() bool {
	if in.Health != nil && !in.Health.Ready {
		return false
	}
	return (in.State == "" || in.State == "Ready") && in.Port != MarkerPort
}

// Health is the older form of Inbound.State.
type Health struct {
	Ready bool `json:"ready,omitempty"`
}

// ServiceProbe asks for health checks of the workload.
type ServiceProbe struct {
	Interval           *Duration `json:"interval,omitempty"`
	Timeout            *Duration `json:"timeout,omitempty"`
	UnhealthyThreshold *uint32   `json:"unhealthyThreshold,omitempty"`
	HealthyThreshold   *uint32   `json:"healthyThreshold,omitempty"`
	TCP                *struct{} `json:"tcp,omitempty"`
}

// Outbound is one destination that the workload calls at an address of its own.
type Outbound struct {
	Port       uint32            `json:"port,omitempty"`
	Address    string            `json:"address,omitempty"` // default 127.0.0.1
	BackendRef *OutboundRef      `json:"backendRef,omitempty"`
	Tags       map[string]string `json:"tags,omitempty"`
	// Hosts leads to every host that routes serve at a port: requests are told apart
	// by the host that they ask for. Weft's addition.
	Hosts *HostsRef `json:"hosts,omitempty"`
}

// HostsRef names all hosts at one port.
type HostsRef struct {
	Port uint32 `json:"port,omitempty"`
}

// OutboundRef names a real destination.
type OutboundRef struct {
	Kind      string            `json:"kind,omitempty"`
	Name      string            `json:"name,omitempty"`
	Namespace string            `json:"namespace,omitempty"`
	Port      *uint32           `json:"port,omitempty"`
	Labels    map[string]string `json:"labels,omitempty"`
}

// TransparentProxying says that traffic is redirected to the proxy.
type TransparentProxying struct {
	RedirectPortInbound  uint32             `json:"redirectPortInbound,omitempty"`
	RedirectPortOutbound uint32             `json:"redirectPortOutbound,omitempty"`
	IPFamilyMode         string             `json:"ipFamilyMode,omitempty"`
	DirectAccessServices []string           `json:"directAccessServices,omitempty"`
	ReachableBackends    *ReachableBackends `json:"reachableBackends,omitempty"`
	ReachableServices    []string           `json:"reachableServices,omitempty"`
}

// Families are the families of addresses that are redirected, each by the address that
// stands for all of it. A host without IPv6 could not listen there, so it is not taken
// for granted.
func (t *TransparentProxying) Families() []netip.Addr {
	switch t.IPFamilyMode {
	case "DualStack":
		return []netip.Addr{netip.IPv4Unspecified(), netip.IPv6Unspecified()}
	case "IPv6":
		return []netip.Addr{netip.IPv6Unspecified()}
	}
	return []netip.Addr{netip.IPv4Unspecified()}
}

// Redirects reports whether calls to an address come to the proxy.
func (t *TransparentProxying) Redirects(address string) bool {
	ip, err := netip.ParseAddr(address)
	return err == nil && slices.ContainsFunc(t.Families(), func(all netip.Addr) bool { return all.Is4() == ip.Unmap().Is4() })
}

// ReachableBackends limits what a dataplane reaches; nil is everything.
type ReachableBackends struct {
	Refs []OutboundRef `json:"refs,omitempty"`
}

// Gateway marks a dataplane without inbounds.
type Gateway struct {
	Type        string            `json:"type,omitempty"` // DELEGATED (default), BUILTIN
	Tags        map[string]string `json:"tags,omitempty"`
	Listeners   []EdgeListener    `json:"listeners,omitempty"`
	TrustedHops uint32            `json:"trustedHops,omitempty"`
}

// Edge reports whether the dataplane serves the hosts of routes to clients from
// outside the mesh.
func (n *Networking) Edge() bool { return n.Gateway != nil && n.Gateway.Type == "BUILTIN" }

// Edges are the edge dataplanes of a namespace that carry a label; the zero value names
// none of them.
type Edges struct{ Namespace, Label, Value string }

// Addresses yields the addresses of the dataplane itself, each once; what is a name is
// none.
func (n *Networking) Addresses() iter.Seq[netip.Addr] {
	return func(yield func(netip.Addr) bool) {
		var seen []netip.Addr
		add := func(text string) bool {
			ip, err := netip.ParseAddr(text)
			if ip = ip.Unmap(); err != nil || slices.Contains(seen, ip) {
				return true
			}
			seen = append(seen, ip)
			return yield(ip)
		}
		if !add(n.Address) {
			return
		}
		for i := range n.Inbound {
			if !add(n.Inbound[i].Address) {
				return
			}
		}
	}
}

// EdgeListener is one port of an edge dataplane, where it serves the hosts that
// Hostname covers.
type EdgeListener struct {
	Port     uint32 `json:"port,omitempty"`
	Protocol string `json:"protocol,omitempty"` // http, which is the default, or https
	Hostname string `json:"hostname,omitempty"` // a name, or *. and one for all below it; empty covers all
	// TLS is what a listener for https shows. Without it only hosts that bring a
	// certificate of their own are served there.
	TLS *EdgeTLS `json:"tls,omitempty"`
}

// EdgeTLS is how a listener of an edge dataplane speaks TLS to its clients.
type EdgeTLS struct {
	Secret string `json:"secret,omitempty"` // in the namespace of the Dataplane
	Mode   string `json:"mode,omitempty"`   // Terminate, which is the default
}

// AnyHost is the name that covers every host.
const AnyHost = "*"

// HostCovers reports whether host is the name, or below it where that begins with *.
func HostCovers(name, host string) bool {
	below, wild := strings.CutPrefix(name, "*")
	return name == host || wild && len(host) > len(below) && strings.HasSuffix(host, below)
}

// HostsAbove are the names that stand for all hosts below one of which the host is one, the
// nearest first.
func HostsAbove(host string) []string {
	if host == AnyHost {
		return nil
	}
	var out []string
	for _, rest, more := strings.Cut(strings.TrimPrefix(host, "*."), "."); more; _, rest, more = strings.Cut(rest, ".") {
		out = append(out, "*."+rest)
	}
	return append(out, AnyHost)
}

// Admin is Envoy's administration port.
type Admin struct {
	Port uint32 `json:"port,omitempty"`
}

// ZoneListener is one port of a zone proxy.
type ZoneListener struct {
	Type    string `json:"type,omitempty"`
	Address string `json:"address,omitempty"`
	Port    uint32 `json:"port,omitempty"`
	Name    string `json:"name,omitempty"`
	State   string `json:"state,omitempty"`
}

package effective

import (
	"cmp"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/matcher"
	"github.com/weftmesh/weft/route"
)

// Destination is something that can be called: one port of a service.
type Destination struct {
	ID        string // spec/xds.md 2: <name>[.<namespace>]:<port>, classic <name>
	Kind      string // MeshService, MeshExternalService, MeshMultiZoneService; of no object api.KindHost or api.KindAddress
	Name      string
	Namespace string
	Port      uint32 // 0 for a classic kuma.io/service
	PortName  string
	Protocol  api.Protocol
	Guessed   bool // nobody wrote the protocol down: a dialect of routes may know better
	// Listed marks a kuma.io/service for which nobody answers, and which is a destination because
	// a Dataplane lists it among its outbounds: its routes hold, and no ref finds it.
	Listed bool
	// Outside marks a Service that is not in the mesh: it is called as it is, but by
	// those to whom a route says something about it.
	Outside bool
	// Above is the headless Service of which it is one pod, nil for all others: what is said
	// about that is said about its pods.
	Above     *matcher.Service
	Labels    api.Labels
	Hostnames []string // all names by which a URL may call it
	VIPs      []string
	Ref       api.Ref // of the object behind it; zero for a classic service
	// External is set for a MeshExternalService, and for addresses as the one that they
	// would be.
	External *api.MeshExternalService
	// TLS is set for a host that only clients who speak TLS get, at edge dataplanes. It has
	// Secrets where the host brings a certificate of its own.
	TLS *route.ServerTLS
}

// RequestProtocol is the protocol that policies assume for requests to it: HTTP where its
// port declares none and rules send requests there.
func (d *Destination) RequestProtocol() api.Protocol {
	if d.Guessed {
		return api.HTTP
	}
	return d.Protocol
}

// ClusterDomain ends the whole name of a service in the DNS of its cluster.
const ClusterDomain = ".svc.cluster.local"

// classicNameOf is the kuma.io/service of a port of a Service.
func classicNameOf(name, namespace string, port uint32) string {
	return name + "_" + namespace + "_svc_" + strconv.FormatUint(uint64(port), 10)
}

// OfClusters reports whether the DNS of a cluster answers for a name, and nobody else.
func OfClusters(name string) bool {
	return strings.HasSuffix(strings.ToLower(name), ClusterDomain)
}

// HostOf is the host that an endpoint outside the mesh calls itself, by which a proxy may
// call it in place of what the client said: empty where it has none.
func (d *Destination) HostOf(address string, port uint32) string {
	_, err := netip.ParseAddr(address)
	switch {
	case d.External == nil:
		return ""
	case d.Kind == api.KindAddress:
		return route.Address{Host: address, Port: port}.Authority(d.External.TLS != nil)
	case err == nil || strings.HasPrefix(address, "unix://"):
		return ""
	}
	return address
}

// ClusterNames are those that the DNS of a cluster has for a service wherever in it somebody asks,
// the shortest first: pods have svc.cluster.local and cluster.local among their search domains. By
// its name alone it is found in its own namespace. None without a namespace.
func (d *Destination) ClusterNames() []string {
	if d.Namespace == "" {
		return nil
	}
	full := d.Name + "." + d.Namespace
	return []string{full, full + ".svc", full + ClusterDomain}
}

// VirtualPort is that at which d is called at its virtual addresses. A classic service has no port
// of its own, and the one that Kuma gives it.
func (d *Destination) VirtualPort() uint32 { return cmp.Or(d.Port, 80) }

// LinkNames are those by which refs may mean d: its names, and the classic name
// of a Kubernetes service, which one port has (spec/kuma.md 4.1).
func (d *Destination) LinkNames() []string {
	if d.Kind != api.KindMeshService || d.Namespace == "" || d.Ref.Name == "" {
		return d.names()
	}
	names := append(d.names(), classicNameOf(d.Name, d.Namespace, d.Port))
	if a := d.Above; a != nil {
		names = append(names, a.Name, classicNameOf(a.Name, a.Namespace, a.Port))
	}
	return names
}

// names are those under which callers of d are linked.
func (d *Destination) names() []string {
	return slices.Compact([]string{d.Name, cmp.Or(d.Ref.Name, d.Name)})
}

// OfCluster reports whether the name is a short one, or one that the DNS of a cluster
// answers.
func (d *Destination) OfCluster(name string) bool {
	return name == "" || name == strings.ToLower(d.Name) || d.Kind == api.KindHost || OfClusters(name) ||
		d.Namespace != "" && !strings.HasSuffix(name, ".mesh") && name == strings.ToLower(d.Name+"."+d.Namespace)
}

// AtEdgesAlone reports whether no sidecar calls the host: it is for clients that speak TLS,
// or for whole connections, which name no host.
func (d *Destination) AtEdgesAlone() bool { return d.TLS != nil || d.Protocol == api.TCP }

// HostsAbove are the hosts that stand for all hosts below a name, of which d is one, the
// nearest first.
func (d *Destination) HostsAbove() []string {
	if d.Kind != api.KindHost {
		return nil
	}
	return api.HostsAbove(d.Name)
}

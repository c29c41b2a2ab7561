package envoy

import (
	"net/netip"
	"slices"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/resolve/effective"
)

// MetricsTeller is a conf of a dataplane as a whole which says what its sidecar tells of what is counted.
type MetricsTeller interface {
	Metrics() SidecarMetrics
}

// SidecarMetrics is what a sidecar tells of what its Envoy and the applications beside it count.
type SidecarMetrics struct {
	Profile          MetricsProfile
	IncludeUnused    bool
	Exclude, Include []MetricsMatch
	Applications     []MetricsApplication
	Ports            []MetricsPort
	Pushes           []MetricsPush
}

// MetricsProfile is a set of figures; each has those of the one before.
type MetricsProfile int

// The profiles.
const (
	MetricsNone MetricsProfile = iota
	MetricsBasic
	MetricsAll
)

// MetricsMatch matches names of figures.
type MetricsMatch struct {
	Type  string // Prefix, Regex, Exact, Contains
	Match string
}

// MetricsApplication is a program beside the proxy.
type MetricsApplication struct {
	Name    string
	Address string // empty: an own one
	Port    uint32
	Path    string
}

// MetricsPort is where figures are fetched.
type MetricsPort struct {
	Port uint32
	Path string
	TLS  bool // with the certificate that the sidecar was given
	// Leaf and Field are the leaf of the conf that says so, and the place below it.
	Leaf  string
	Field api.Path
}

// MetricsPush is where figures are sent.
type MetricsPush struct {
	Host  string
	Port  uint32
	Every time.Duration
}

// MetricsOf is what the sidecar of r tells; nil for nothing.
func MetricsOf(r *effective.Resolved) *SidecarMetrics {
	for _, e := range r.OfWhole() {
		if t, ok := e.Conf.(MetricsTeller); ok {
			m := t.Metrics()
			return &m
		}
	}
	return nil
}

// Closed reports whether nobody gets anything of m.
func (m *SidecarMetrics) Closed() bool { return m == nil || len(m.Ports)+len(m.Pushes) == 0 }

// isLoopback reports whether an address is found on its own host alone.
func isLoopback(address string) bool {
	ip, err := netip.ParseAddr(address)
	return address == "localhost" || err == nil && ip.IsLoopback()
}

// OwnAddress reports whether an application of the dataplane may be looked for at an address: at one of its
// own, or a loopback one. Else a policy could have every sidecar ask whatever it names.
func OwnAddress(r *effective.Resolved, address string) bool {
	dp, ok := r.Dataplane.Spec.(*api.Dataplane)
	if !ok || dp.Networking == nil {
		return false
	}
	if isLoopback(address) || address == dp.Networking.Address {
		return true
	}
	return slices.ContainsFunc(dp.Networking.Inbound, func(in api.Inbound) bool { return in.Address == address || in.ServiceAddress == address })
}

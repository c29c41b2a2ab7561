package connections

import (
	"cmp"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/sidecar/attach"
	"github.com/weftmesh/weft/xds"
	"github.com/weftmesh/weft/xds/envoy"
	"github.com/weftmesh/weft/xds/listeners"
)

// MetricsFor is what the agent of a dataplane is to tell of what is counted; nil for nothing. Equal confs make
// equal messages.
func MetricsFor(r *effective.Resolved) *attach.Metrics {
	m := envoy.MetricsOf(r)
	if m.Closed() {
		return nil
	}
	out := &attach.Metrics{
		Mesh: r.Ref.Mesh, Dataplane: r.Ref.FullName(), Service: listeners.OwnerOf(r).Service, Workload: r.Dataplane.Labels[api.LabelWorkload],
		Profile: map[envoy.MetricsProfile]attach.Metrics_Profile{
			envoy.MetricsAll: attach.Metrics_ALL, envoy.MetricsBasic: attach.Metrics_BASIC, envoy.MetricsNone: attach.Metrics_NONE,
		}[m.Profile],
		IncludeUnused: m.IncludeUnused, Exclude: matchers(m.Exclude), Include: matchers(m.Include),
	}
	for _, a := range m.Applications {
		address := cmp.Or(a.Address, usualAddress(r))
		if address == "localhost" {
			address = loopback
		}
		if envoy.OwnAddress(r, address) { // of others there is a note
			out.Applications = append(out.Applications, &attach.Metrics_Application{Name: a.Name, Address: address, Port: a.Port, Path: a.Path})
		}
	}
	for _, p := range xds.MetricsPorts(r) {
		out.Ports = append(out.Ports, &attach.Metrics_Port{Port: p.Port, Tls: p.TLS})
	}
	for _, p := range m.Pushes {
		out.Pushes = append(out.Pushes, &attach.Metrics_Push{Host: p.Host, Port: p.Port, EveryMilliseconds: uint32(min(p.Every/time.Millisecond, longestPause))})
	}
	return out
}

const (
	loopback     = "127.0.0.1"
	longestPause = 1<<32 - 1 // in milliseconds
)

// usualAddress is where an application listens that says nothing else: beside redirection at the dataplane's own
// address, which a workload without a sidecar would have too, else at the one that only its host reaches.
func usualAddress(r *effective.Resolved) string {
	dp, ok := r.Dataplane.Spec.(*api.Dataplane)
	if !ok || dp.Networking == nil || dp.Networking.TransparentProxying == nil {
		return loopback
	}
	return dp.Networking.Address
}

func matchers(list []envoy.MetricsMatch) (out []*attach.Metrics_Matcher) {
	for _, m := range list {
		out = append(out, &attach.Metrics_Matcher{Type: m.Type, Match: m.Match})
	}
	return out
}

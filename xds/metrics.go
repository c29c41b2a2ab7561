package xds

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/xds/envoy"
	"github.com/weftmesh/weft/xds/listeners"
)

// metering is what agents of sidecars do for who fetches metrics.
type metering uint8

const (
	unmetered  metering = iota // nothing: their bootstraps lack the cluster
	metersOpen                 // they serve them, and have no certificate
	metersTLS                  // they have one
)

// The ports that the sidecar of a pod has beside those to which traffic is redirected, as package inject
// gives them: of what answers for the workload's probes, of Envoy's administration, of its own.
var podPorts = []uint32{9001, 9901, 9902}

// metrics adds where metrics are fetched.
func (s *rendering) metrics(x *Renderer, r *effective.Resolved) {
	for _, l := range meteredAt(r) {
		if l.why != "" || x.metering == unmetered || l.TLS && x.metering != metersTLS {
			continue // Notes says why, and the agent of a sidecar without a certificate
		}
		listener, notes := listeners.Metrics(l.MetricsPort, l.address, l.by)
		s.listen(r, listener, envoy.HostPort{Host: l.address, Port: l.Port}, notes)
	}
}

// metered is one port at which metrics are to be fetched.
type metered struct {
	envoy.MetricsPort
	address string
	by      []*api.Origin // whose word it is
	note    *api.Origin   // the item that says so
	field   api.Path      // its field
	why     string        // something else has the port; empty where it is free
}

// meteredAt are the ports of a dataplane at which metrics are to be fetched.
func meteredAt(r *effective.Resolved) (out []metered) {
	dp, ok := r.Dataplane.Spec.(*api.Dataplane)
	if !ok || dp.Networking == nil {
		return nil
	}
	for _, e := range r.OfWhole() {
		t, ok := e.Conf.(envoy.MetricsTeller)
		if !ok {
			continue
		}
		m := t.Metrics()
		for _, p := range m.Ports {
			x := metered{MetricsPort: p, address: dp.Networking.Address, why: occupied(r, dp.Networking, p.Port)}
			if f, ok := e.Get(p.Leaf); ok {
				w := f.Winner()
				x.note, x.field, x.by = w.Origin, policies.PartOf(w.Origin.Field, policies.PartName(w.Override)).Field(string(p.Field)), []*api.Origin{w.Origin}
			}
			out = append(out, x)
		}
	}
	return out
}

// MetricsPorts are the ports of a dataplane at which metrics are fetched: those that are free.
func MetricsPorts(r *effective.Resolved) (out []envoy.MetricsPort) {
	for _, l := range meteredAt(r) {
		if l.why == "" {
			out = append(out, l.MetricsPort)
		}
	}
	return out
}

// occupied says what has a port of a dataplane; empty where it is free. Envoy would refuse a second listener
// there, and could not listen where another program does.
func occupied(r *effective.Resolved, net *api.Networking, port uint32) string {
	here := func(address string) bool {
		ip, err := netip.ParseAddr(address)
		return address == net.Address || err == nil && ip.IsUnspecified()
	}
	for _, in := range r.Inbounds {
		switch {
		case in.Port == port && here(in.Address):
			return fmt.Sprintf("the inbound %s", in.Name)
		case in.ServicePort == port && here(in.ServiceAddress):
			return fmt.Sprintf("the workload behind the inbound %s", in.Name)
		}
	}
	for _, e := range r.Edges {
		if e.Port == port && here(e.Address) {
			return "a listener for clients from outside"
		}
	}
	for _, o := range r.Outbounds {
		if o.Port == port && here(o.Address) {
			return "an outbound, to " + o.Destination.ID
		}
	}
	if a := net.Admin; a != nil && a.Port == port {
		return "the administration of its Envoy"
	}
	if t := net.TransparentProxying; t != nil {
		switch {
		case port == cmp.Or(t.RedirectPortInbound, redirectInbound), port == cmp.Or(t.RedirectPortOutbound, redirectOutbound), port == redirectDNS:
			return "its redirection"
		case slices.Contains(podPorts, port):
			return "its agent"
		}
	}
	return ""
}

// WholeNotes is what rendering what holds of a dataplane as a whole has to say.
func (x *Renderer) WholeNotes(r *effective.Resolved) (out []api.Note) {
	for _, l := range meteredAt(r) {
		switch {
		case l.why != "":
			out = append(out, api.Notef(l.note, api.Error, api.CodeConflicted, l.field,
				"at %s port %d belongs to %s, so nobody serves metrics there; choose another port", r.Ref, l.Port, l.why))
		case !envoy.IsIP(l.address):
			_, notes := listeners.Metrics(l.MetricsPort, l.address, l.by)
			out = append(out, notes...)
		}
	}
	for _, e := range r.OfWhole() {
		if t, ok := e.Conf.(envoy.MetricsTeller); ok {
			out = append(out, foreignApplications(r, e, t.Metrics())...)
		}
	}
	return out
}

// foreignApplications say of applications that are looked for nowhere, since they are at addresses of others.
func foreignApplications(r *effective.Resolved, e *policies.Effective, m envoy.SidecarMetrics) (out []api.Note) {
	f, ok := e.Get("applications")
	if !ok {
		return nil
	}
	w := f.Winner()
	for i, a := range m.Applications {
		if a.Address != "" && !envoy.OwnAddress(r, a.Address) {
			at := policies.PartOf(w.Origin.Field, policies.PartName(w.Override)).Field("applications").Index(i).Field("address")
			out = append(out, api.Notef(w.Origin, api.Warning, "NoEffect", at,
				"%s is neither a loopback address nor one of %s, so its sidecar asks nobody there; leave the address out", a.Address, r.Ref))
		}
	}
	return out
}

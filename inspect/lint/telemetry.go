package lint

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/sim"
	"github.com/weftmesh/weft/xds/envoy"
)

// ofTelemetry are codes about what is observed of requests, and where it goes.
var ofTelemetry = []CodeInfo{
	told(policies.CodeLogsSecret, "Telemetry holds what proves who somebody is", "Whoever reads the spans or logs has the token or cookie of a caller, and can use it.", "Leave the header out, or name another one."),
	{"MetricsOpen", api.Info, "Metrics of a Strict dataplane are served in plain text",
		"Inbounds of the dataplane take callers of the mesh alone, and the port of a MeshMetric takes everybody: Prometheus has no identity of the mesh. Whoever reaches the port reads names of services, rates and errors.",
		"Let a network policy keep all but Prometheus from the port, or write `tls: {mode: ProvidedTLS}`, so that nobody on the way reads it.", metricsOpen},
	{"OtelPlain", api.Warning, "Telemetry leaves the cluster in plain text",
		"Envoy sends to a MeshOpenTelemetryBackend without TLS, and its address looks like one outside the cluster: whoever is on the way reads the spans.",
		"Name a collector inside the cluster, which sends on by TLS.", otelPlain},
	{"TraceAll", api.Info, "Every request of the mesh is traced",
		"A MeshTrace for the whole mesh without a sampling below 100 sends a span of each request from each sidecar: some 30 µs and 500 bytes a request at both sides.",
		"Set `sampling.random`, as to 1, and attach a MeshTrace with more to the routes that are looked into.", traceAll},
	{"TraceBreaksTraces", api.Warning, "A tracer that samples nothing changes what workloads trace",
		"With a tracer at 0 % a sidecar marks the trace of a caller as not sampled (`traceparent` that ends with `-00`), and begins one where there was none: workloads that trace by themselves lose their spans.",
		"Write `backends: []` to switch tracing off, or sample more.", traceNothing},
}

// tracing yields the policies for a whole mesh by which spans are sent, with their share of requests.
func (v *view) tracing(yield func(ref api.Ref, share float64) bool) {
	for _, ref := range v.refs() {
		s, ok := v.mine[ref].Spec.(*policies.Spec)
		if !ok || s.Whole() == nil || v.mine[ref].Shadow() {
			continue
		}
		if top := s.Top(); top.Kind != api.KindMesh || len(top.ProxyTypes) > 0 {
			continue
		}
		for _, c := range []policies.Conf{s.Default, s.Override} {
			o, ok := c.(sim.Observer)
			if !ok {
				continue
			}
			for _, x := range o.Observed() {
				if x.Traces && !yield(ref, x.Share) {
					return
				}
			}
		}
	}
}

// traceAll: a policy for the whole mesh that traces each request.
func traceAll(v *view) (found []*api.Violation) {
	for ref, share := range v.tracing {
		if share == 1 {
			v.gather(&found, v.on(ref, policies.Whole, "TraceAll", "every request of the mesh is traced; set sampling.random, as to 1"))
		}
	}
	return found
}

// traceNothing: a policy for the whole mesh with a tracer that gets nothing.
func traceNothing(v *view) (found []*api.Violation) {
	for ref, share := range v.tracing {
		if share == 0 {
			v.gather(&found, v.on(ref, policies.Whole, "TraceBreaksTraces", "a tracer that samples nothing marks the traces of callers as not sampled; write backends: [] to switch tracing off"))
		}
	}
	return found
}

// otelPlain: a collector that looks as if it were outside the cluster.
func otelPlain(v *view) (found []*api.Violation) {
	for _, ref := range v.refs() {
		spec, ok := v.mine[ref].Spec.(*api.MeshOpenTelemetryBackend)
		if !ok {
			continue
		}
		if address, _ := spec.Address(); outsideCluster(address) {
			v.gather(&found, v.on(ref, "spec.endpoint.address", "OtelPlain", "%s looks like an address outside the cluster, and telemetry goes there in plain text; name a collector inside, which sends on by TLS", address))
		}
	}
	return found
}

// outsideCluster reports whether an address is one that a cluster hardly has inside.
func outsideCluster(address string) bool {
	if ip, err := netip.ParseAddr(address); err == nil {
		return !ip.IsPrivate() && !ip.IsLoopback() && !ip.IsLinkLocalUnicast()
	}
	name := strings.TrimSuffix(strings.ToLower(address), ".")
	labels := strings.Split(name, ".")
	if len(labels) < 3 || labels[2] == "svc" { // name, name.namespace, name.namespace.svc…
		return false
	}
	last := labels[len(labels)-1]
	return last != "local" && last != "internal" && last != "mesh"
}

// metricsOpen: a port for who fetches metrics, beside inbounds that are closed to all outside the mesh.
func metricsOpen(v *view) (found []*api.Violation) {
	for r := range v.model.Dataplanes("") {
		if !slices.ContainsFunc(r.Inbounds, func(in effective.InboundUse) bool {
			return in.AsDocumented().TLS != nil && in.AsDocumented().TLS.Mode == effective.Strict
		}) {
			continue
		}
		for _, e := range r.OfWhole() {
			t, ok := e.Conf.(envoy.MetricsTeller)
			if !ok {
				continue
			}
			for _, p := range t.Metrics().Ports {
				f, said := e.Get(p.Leaf)
				if !said || p.TLS || v.mine[f.Winner().Origin.Ref] == nil {
					continue
				}
				at := policies.PartOf(f.Winner().Origin.Field, policies.PartName(f.Winner().Override)).Field(string(p.Field))
				v.gather(&found, v.on(f.Winner().Origin.Ref, at, "MetricsOpen", "port %d is open to everybody beside inbounds that are Strict; let only Prometheus reach it, or write tls.mode ProvidedTLS", p.Port))
			}
		}
	}
	return found
}

package metric

import (
	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/policies"
)

// Conf says which metrics of a dataplane there are, and who gets them.
type Conf struct {
	// Sidecar is what is told of the proxy.
	Sidecar *Sidecar `json:"sidecar,omitempty"`
	// Applications are those beside the proxy whose metrics are told too. A list stands in the place of one
	// from a weaker policy as a whole.
	Applications []Application `json:"applications,omitzero" weft:"listener,metrics" schema:"most=64"`
	// Backends are those who get the metrics, each of them; none gets any where the list is empty. A list
	// stands in the place of one from a weaker policy as a whole.
	Backends []Backend `json:"backends,omitzero" weft:"listener,metrics" schema:"most=16"`
}

// Sidecar is what is told of the proxy.
type Sidecar struct {
	// IncludeUnused tells figures too of which nothing was counted yet.
	IncludeUnused *bool `json:"includeUnused,omitempty" weft:"listener,metrics"`
	// Profiles choose among the figures of the proxy, by the names that Prometheus sees.
	Profiles *Profiles `json:"profiles,omitempty"`
}

// Profiles choose among the figures of the proxy.
type Profiles struct {
	// AppendProfiles are sets of figures, of which the widest counts: All, Basic (rates, errors, durations,
	// bytes, health), None. What several policies say adds up.
	AppendProfiles []Profile `json:"appendProfiles,omitzero" weft:"listener,metrics"`
	// Exclude leaves figures out of the profile.
	Exclude []Selector `json:"exclude,omitzero" weft:"listener,metrics" schema:"most=128"`
	// Include adds figures to the profile, those too that exclude leaves out.
	Include []Selector `json:"include,omitzero" weft:"listener,metrics" schema:"most=128"`
}

// Profile names a set of figures.
type Profile struct {
	// Name is All, Basic or None.
	Name string `json:"name" schema:"required,enum=All|Basic|None"`
}

// Selector matches names of figures, as envoy_cluster_upstream_rq_total.
type Selector struct {
	// Type says how match is compared with a name. A regular expression is found anywhere in it.
	Type string `json:"type" schema:"required,enum=Prefix|Regex|Exact|Contains"`
	// Match is a name, a part of one, or an expression in the syntax of RE2.
	Match string `json:"match" schema:"required"`
}

// Application is a program beside the proxy that serves metrics in the text form of Prometheus.
type Application struct {
	// Name is that by which its figures are told apart: their label application. Without one it is the port.
	Name string `json:"name,omitempty"`
	// Path is where it serves them; /metrics where it is left out.
	Path string `json:"path,omitempty"`
	// Address is where it listens: one of the dataplane's own, or a loopback one. Without one it is the
	// dataplane's where its traffic is redirected, else 127.0.0.1.
	Address string `json:"address,omitempty"`
	// Port is that at which it listens.
	Port uint32 `json:"port" schema:"required"`
}

// Backend is somebody who gets the metrics.
type Backend struct {
	// Type says which block it has: Prometheus or OpenTelemetry.
	Type string `json:"type" schema:"required,enum=Prometheus|OpenTelemetry"`
	// Prometheus fetches them from a port of the sidecar.
	Prometheus *Prometheus `json:"prometheus,omitempty"`
	// OpenTelemetry is sent them by OTLP over gRPC.
	OpenTelemetry *OpenTelemetry `json:"openTelemetry,omitempty"`
}

// Prometheus fetches metrics.
type Prometheus struct {
	// ClientID names a client of Kuma's discovery, which weft does not have; it has no effect.
	ClientID string `json:"clientId,omitempty"`
	// Port of the dataplane's address at which they are served; 5670 where it is left out.
	Port *uint32 `json:"port,omitempty"`
	// Path at which they are served; /metrics where it is left out.
	Path string `json:"path,omitempty"`
	// TLS says whether they are served by TLS.
	TLS *TLS `json:"tls,omitempty"`
}

// TLS says whether metrics are served by TLS.
type TLS struct {
	// Mode is Disabled, or ProvidedTLS: with the certificate whose paths the sidecar is told by
	// KUMA_DATAPLANE_RUNTIME_METRICS_CERT_PATH and KUMA_DATAPLANE_RUNTIME_METRICS_KEY_PATH. The port of a
	// sidecar without one stays closed.
	Mode string `json:"mode" schema:"required,enum=Disabled|ProvidedTLS|ActiveMTLSBackend"`
}

// OpenTelemetry is a collector.
type OpenTelemetry struct {
	// Endpoint is where it listens, as otel-collector.monitoring:4317: an older form of backendRef.
	Endpoint string `json:"endpoint,omitempty"`
	// BackendRef names a MeshOpenTelemetryBackend.
	BackendRef *policies.CollectorRef `json:"backendRef,omitempty"`
	// RefreshInterval is how often it is sent them; 60s where it is left out.
	RefreshInterval *api.Duration `json:"refreshInterval,omitempty"`
}

// The words of a document.
const (
	all, basic, none = "All", "Basic", "None"

	prefixed, regex, exact, contained = "Prefix", "Regex", "Exact", "Contains"

	prometheusType, openTelemetryType = "Prometheus", "OpenTelemetry"

	plainText, providedTLS, meshTLS = "Disabled", "ProvidedTLS", "ActiveMTLSBackend"
)

// What holds where a document is silent.
const (
	usualPort = 5670
	usualPath = "/metrics"
)

// CollectorRefs yields the refs to collectors.
func (c *Conf) CollectorRefs(yield func(at api.Path, ref *policies.CollectorRef) bool) {
	policies.CollectorRefsOf(c.Backends, (*Backend).collectorRef, yield)
}

// CopyCollectorRefs is the conf with refs of its own.
func (c *Conf) CopyCollectorRefs() policies.Conf {
	out := *c
	out.Backends = policies.CopyCollectorRefsOf(c.Backends, (*Backend).collectorRef, func(b *Backend, ref *policies.CollectorRef) {
		own := *b.OpenTelemetry
		own.BackendRef, b.OpenTelemetry = ref, &own
	})
	return &out
}

// collectorRef is the ref of a backend to a collector; nil where it has none.
func (b *Backend) collectorRef() *policies.CollectorRef {
	if b.OpenTelemetry == nil {
		return nil
	}
	return b.OpenTelemetry.BackendRef
}

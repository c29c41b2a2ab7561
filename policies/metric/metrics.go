package metric

import (
	"cmp"
	"strconv"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/xds/envoy"
)

// usualInterval is how often a collector is sent metrics.
const usualInterval = time.Minute

// Metrics is what the sidecar tells, and to whom.
func (c *Conf) Metrics() envoy.SidecarMetrics {
	out := envoy.SidecarMetrics{Profile: c.profile()}
	if s := c.Sidecar; s != nil {
		out.IncludeUnused = s.IncludeUnused != nil && *s.IncludeUnused
		if s.Profiles != nil {
			out.Exclude, out.Include = matches(s.Profiles.Exclude), matches(s.Profiles.Include)
		}
	}
	for i := range c.Applications {
		a := &c.Applications[i]
		out.Applications = append(out.Applications, envoy.MetricsApplication{Name: a.label(), Address: a.Address, Port: a.Port, Path: cmp.Or(a.Path, usualPath)})
	}
	for i := range c.Backends {
		at := api.Path("backends").Index(i)
		switch b := &c.Backends[i]; {
		case b.Prometheus != nil:
			p := b.Prometheus
			out.Ports = append(out.Ports, envoy.MetricsPort{Port: p.port(), Path: cmp.Or(p.Path, usualPath), TLS: p.TLS != nil && p.TLS.Mode != plainText,
				Leaf: "backends", Field: at.Field("prometheus").Field("port")})
		case b.OpenTelemetry != nil:
			if host, port := b.OpenTelemetry.collector(); host != "" {
				every := usualInterval
				if d := b.OpenTelemetry.RefreshInterval; d != nil {
					every = time.Duration(*d)
				}
				out.Pushes = append(out.Pushes, envoy.MetricsPush{Host: host, Port: port, Every: every})
			}
		}
	}
	return out
}

// profile is the widest of those that are named.
func (c *Conf) profile() envoy.MetricsProfile {
	if c.Sidecar == nil || c.Sidecar.Profiles == nil || len(c.Sidecar.Profiles.AppendProfiles) == 0 {
		return envoy.MetricsBasic
	}
	widest := envoy.MetricsNone
	for _, p := range c.Sidecar.Profiles.AppendProfiles {
		widest = max(widest, map[string]envoy.MetricsProfile{all: envoy.MetricsAll, basic: envoy.MetricsBasic}[p.Name])
	}
	return widest
}

func matches(list []Selector) (out []envoy.MetricsMatch) {
	for _, s := range list {
		out = append(out, envoy.MetricsMatch{Type: s.Type, Match: s.Match})
	}
	return out
}

// label is what tells the figures of an application apart.
func (a *Application) label() string {
	return cmp.Or(a.Name, strconv.FormatUint(uint64(a.Port), 10))
}

func (p *Prometheus) port() uint32 {
	if p.Port == nil {
		return usualPort
	}
	return *p.Port
}

// collector is where figures are sent; no host where that is not known.
func (o *OpenTelemetry) collector() (host string, port uint32) {
	host, port, _ = policies.Collector(o.endpoint(), o.BackendRef)
	return host, port
}

// endpoint is that of a collector; nil for none.
func (o *OpenTelemetry) endpoint() *string {
	if o.Endpoint == "" {
		return nil
	}
	return &o.Endpoint
}

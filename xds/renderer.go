package xds

import (
	"cmp"
	"slices"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/xds/bootstrap"
	"github.com/weftmesh/weft/xds/clusters"
	"github.com/weftmesh/weft/xds/endpoints"
	"github.com/weftmesh/weft/xds/envoy"
	"github.com/weftmesh/weft/xds/filters"
	"github.com/weftmesh/weft/xds/listeners"
	"github.com/weftmesh/weft/xds/naming"
	"github.com/weftmesh/weft/xds/proxyless"
	"github.com/weftmesh/weft/xds/resource"
	"github.com/weftmesh/weft/xds/routes"
	"github.com/weftmesh/weft/xds/secrets"
)

// Renderer renders for one set of policy kinds. It is immutable, and any number
// of goroutines may use it.
type Renderer struct {
	listeners     *listeners.Builder
	authorization *resource.Resource // the cluster of the authorization service; nil where there is none
	metering      metering
	// quiet is for sidecars whose agents take nothing of requests; nil where that is the renderer itself.
	quiet *Renderer
}

// NewRenderer renders with the HTTP filters that kinds ask for.
func NewRenderer(kinds []*policies.Kind) *Renderer {
	return &Renderer{listeners: listeners.NewBuilder(kinds)}
}

// Asking is x for a control plane that has an authorization service; nil: it has none.
func (x *Renderer) Asking(a *filters.ExtAuthz) *Renderer {
	out := &Renderer{listeners: x.listeners, metering: x.metering}
	if a != nil {
		out.authorization = clusters.Authorization(a)
	}
	return out
}

// Reporting is x with listeners that write to the agent of a sidecar what becomes of requests, all in the
// same way, so that those who have them alike share them (docs/traffic.md).
func (x *Renderer) Reporting() *Renderer {
	quiet := x.Quiet()
	return &Renderer{listeners: quiet.listeners.Reporting(), authorization: x.authorization, metering: x.metering, quiet: quiet}
}

// Unmetered is x for sidecars whose agents serve no metrics.
func (x *Renderer) Unmetered() *Renderer {
	out := *x
	if out.metering = unmetered; x.quiet != nil {
		out.quiet = x.quiet.Unmetered()
	}
	return &out
}

// Metering is x for sidecars whose agents serve metrics; secure says that they have a certificate for that,
// without which ports that want one stay closed.
func (x *Renderer) Metering(secure bool) *Renderer {
	out := *x
	if out.metering = metersOpen; secure {
		out.metering = metersTLS
	}
	if x.quiet != nil {
		out.quiet = x.quiet.Metering(secure)
	}
	return &out
}

// For is x for an Envoy whose agent has these features.
func (x *Renderer) For(f bootstrap.AgentFeatures) *Renderer {
	switch {
	case f.MetricsTLS:
		x = x.Metering(true)
	case f.Metrics:
		x = x.Metering(false)
	default:
		x = x.Unmetered()
	}
	if !f.Requests {
		x = x.Quiet()
	}
	return x
}

// Quiet is x for sidecars whose Envoys may not know their agent, or whose agents take nothing of requests.
func (x *Renderer) Quiet() *Renderer { return cmp.Or(x.quiet, x) }

// Render is everything that an Envoy gets for r. It never fails: what Envoy
// would refuse becomes an honest 500 or is left out, with a note that names
// whose document it was.
func (x *Renderer) Render(r *effective.Resolved) *resource.State {
	if r.Quiet {
		x = x.Quiet()
	}
	s := newRendering(r)
	for i := 0; i < len(r.Outbounds); i++ {
		o := r.Outbounds[i]
		if o.Edge {
			continue
		}
		var hosts []*effective.Outbound
		if o.ToHost() {
			hosts = routes.HostsAt(r, i)
		}
		listener, notes := x.listeners.Outbound(r, o, hosts...)
		s.listen(r, listener, envoy.HostPort{Host: o.Address, Port: o.Port}, notes)
		switch {
		case o.ToHost():
			s.Add(&s.Routes, routes.RenderHosts(naming.OutboundHosts(o), hosts, routes.Misdirected{}), nil)
			if o.Passthrough {
				s.Add(&s.Clusters, clusters.Passthrough, nil)
			}
			i += len(hosts) - 1
		case o.Table != nil:
			s.Add(&s.Routes, routes.RenderTable(o.Table, o.Cache), nil)
		}
	}
	s.edges(x, r)
	for _, i := range r.Inbounds {
		own := x.inbound(r, i)
		s.listen(r, own.listener, envoy.HostPort{Host: i.Address, Port: i.Port}, own.notes)
		s.Add(&s.Routes, own.routes, nil)
		s.Add(&s.Clusters, own.cluster, nil)
	}
	s.metrics(x, r)
	for i := range r.Clusters {
		c := &r.Clusters[i]
		cluster, notes := clusters.RenderFor(r, c.Cluster, c.ClusterCache)
		s.Add(&s.Clusters, cluster, notes)
		if cluster != nil && cluster.EDS {
			s.Add(&s.Endpoints, endpoints.Render(r, c), nil)
		}
	}
	for _, u := range r.Trust {
		s.Add(&s.Secrets, secrets.RenderTrust(u), nil)
	}
	for _, u := range r.Secrets {
		s.Add(&s.Secrets, secrets.RenderCertificate(u), nil)
	}
	if x.authorization != nil && slices.ContainsFunc(s.Routes, func(r *resource.Resource) bool { return slices.Contains(r.Clusters, naming.Authorization) }) {
		s.Add(&s.Clusters, x.authorization, nil)
	}
	s.passthrough(r)
	s.besides()
	s.Sort()
	return s.State
}

// besides adds the clusters that listeners need beside those of destinations, as those of collectors: of
// each name one, with everybody who asks for it.
func (s *rendering) besides() {
	found := map[string]resource.Beside{}
	for _, l := range s.Listeners {
		for _, x := range l.Beside {
			name := x.Name()
			found[name] = resource.Beside{OwnCluster: x.OwnCluster, By: append(found[name].By, x.By...)}
		}
	}
	for _, name := range envoy.SortedKeys(found) {
		cluster, notes := clusters.Own(found[name].OwnCluster, found[name].By)
		s.Add(&s.Clusters, cluster, notes)
	}
}

// RenderGRPC is what gRPC's own xDS client gets for r.
func (x *Renderer) RenderGRPC(r *effective.Resolved) *resource.State { return proxyless.Render(r) }

// rendering is a state while it is made.
type rendering struct {
	*resource.State
	taken map[envoy.HostPort]bool // where there is a listener
}

// newRendering has room for what most dataplanes get.
func newRendering(r *effective.Resolved) *rendering {
	const more = 2 // clusters or listeners of all traffic that is redirected
	out, in, to := len(r.Outbounds), len(r.Inbounds), len(r.Clusters)
	return &rendering{taken: make(map[envoy.HostPort]bool, out+in), State: &resource.State{
		Listeners: make([]*resource.Resource, 0, out+in+more), Routes: make([]*resource.Resource, 0, out+in),
		Clusters: make([]*resource.Resource, 0, to+in+more), Endpoints: make([]*resource.Resource, 0, to),
	}}
}

// listen adds a listener, unless another one has its address: Envoy refuses the second.
func (s *rendering) listen(r *effective.Resolved, listener *resource.Resource, at envoy.HostPort, notes []api.Note) {
	if listener != nil && s.taken[at] {
		s.Notes = append(s.Notes, conflict(r, listener.Name, naming.Address(at.Host, at.Port)))
		return
	}
	s.taken[at] = true
	s.Add(&s.Listeners, listener, notes)
}

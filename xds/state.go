package xds

import (
	"slices"
	"strings"

	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/resolve/effective"
)

// State is all that one sidecar holds, each list sorted by name. Route tables,
// clusters and endpoints are shared: two sidecars to which the same applies
// hold the same pointers, and so do two renderings of an unchanged value.
type State struct {
	Listeners, Routes, Clusters, Endpoints, Secrets []*Resource
	// Notes are what could not be rendered as its writer meant.
	Notes []api.Note

	taken map[listening]bool // while it is rendered: where there is a listener
}

// listening is where a listener listens.
type listening struct {
	ip   string
	port uint32
}

// Renderer renders for one set of policy kinds. It is immutable, and any number
// of goroutines may use it.
type Renderer struct {
	http          []*hcmv3.HttpFilter // of every connection manager
	guards        []guard             // of inbounds where callers prove who they are
	authorization *Resource           // the cluster of the authorization service; nil where there is none
}

// NewRenderer renders with the HTTP filters that kinds ask for.
func NewRenderer(kinds []*policies.Kind) *Renderer {
	return &Renderer{http: wantedFilters(kinds), guards: guardsOf(kinds)}
}

// Asking is x for a control plane that has an authorization service; nil: it has none.
func (x *Renderer) Asking(a *Authorizer) *Renderer {
	out := &Renderer{http: x.http, guards: x.guards}
	if a != nil {
		out.authorization = newResource(AuthorizationCluster, a.Cluster())
	}
	return out
}

// Render is everything that an Envoy gets for r. It never fails: what Envoy
// would refuse becomes an honest 500 or is left out, with a note that names
// whose document it was.
func (x *Renderer) Render(r *effective.Resolved) *State {
	s := newState(r)
	for i := 0; i < len(r.Outbounds); i++ {
		o := r.Outbounds[i]
		if o.Edge {
			continue
		}
		listener, notes := x.outbound(r, o)
		s.listen(r, listener, listening{o.Address, o.Port}, notes)
		switch {
		case o.ToHost():
			hosts := hostsOf(r, i)
			s.add(&s.Routes, renderHosts(hostsName(o), hosts, beside{}), nil)
			if o.Passthrough {
				s.add(&s.Clusters, passthroughCluster, nil)
			}
			i += len(hosts) - 1
		case o.Table != nil:
			s.add(&s.Routes, RenderTable(o.Table, o.Kept), nil)
		}
	}
	s.edges(x, r)
	for _, i := range r.Inbounds {
		own := x.inbound(r, i)
		s.listen(r, own.listener, listening{i.Address, i.Port}, own.notes)
		s.add(&s.Routes, own.routes, nil)
		s.add(&s.Clusters, own.cluster, nil)
	}
	for _, c := range r.Clusters {
		cluster, notes := clusterFor(r, c.Cluster, c.ClusterKept)
		s.add(&s.Clusters, cluster, notes)
		if cluster != nil && cluster.EDS {
			s.add(&s.Endpoints, RenderEndpoints(c.Endpoints, c.EndpointsKept), nil)
		}
	}
	for _, u := range r.Trust {
		s.add(&s.Secrets, renderTrust(u), nil)
	}
	for _, u := range r.Secrets {
		s.add(&s.Secrets, renderSecret(u), nil)
	}
	if x.authorization != nil && slices.ContainsFunc(s.Routes, func(r *Resource) bool { return slices.Contains(r.Clusters, AuthorizationCluster) }) {
		s.add(&s.Clusters, x.authorization, nil)
	}
	s.passthrough(r)
	s.sort()
	return s
}

// newState has room for what most dataplanes get.
func newState(r *effective.Resolved) *State {
	const more = 2 // clusters or listeners of all traffic that is redirected
	out, in, to := len(r.Outbounds), len(r.Inbounds), len(r.Clusters)
	return &State{
		Listeners: make([]*Resource, 0, out+in+more), Routes: make([]*Resource, 0, out+in),
		Clusters: make([]*Resource, 0, to+in+more), Endpoints: make([]*Resource, 0, to), taken: make(map[listening]bool, out+in),
	}
}

// listen adds a listener, unless another one has its address: Envoy refuses the second.
func (s *State) listen(r *effective.Resolved, listener *Resource, at listening, notes []api.Note) {
	if listener != nil && s.taken[at] {
		s.Notes = append(s.Notes, conflict(r, listener.Name, joined(at.ip, at.port)))
		return
	}
	s.taken[at] = true
	s.add(&s.Listeners, listener, notes)
}

// add appends r, unless it could not be rendered, and what there is to say.
func (s *State) add(list *[]*Resource, r *Resource, notes []api.Note) {
	s.Notes = append(s.Notes, notes...)
	if r != nil {
		*list = append(*list, r)
	}
}

// Over is s with what before had and s has not: where a bug keeps from being known
// all that applies, nothing is known to be gone.
func (s *State) Over(before *State) *State {
	out := &State{Notes: s.Notes}
	now, was := s.lists(), before.lists()
	for i, list := range out.lists() {
		*list = byName(append(slices.Clone(*now[i]), *was[i]...))
	}
	return out
}

func (s *State) lists() []*[]*Resource {
	return []*[]*Resource{&s.Listeners, &s.Routes, &s.Clusters, &s.Endpoints, &s.Secrets}
}

// byName sorts a list, and keeps the first of each name.
func byName(list []*Resource) []*Resource {
	slices.SortStableFunc(list, func(a, b *Resource) int { return strings.Compare(a.Name, b.Name) })
	return slices.CompactFunc(list, func(a, b *Resource) bool { return a.Name == b.Name })
}

// sort brings each list into its order, and keeps one of each name.
func (s *State) sort() {
	s.taken = nil
	for _, list := range s.lists() {
		*list = byName(*list)
		for _, r := range *list {
			s.Notes = append(s.Notes, r.Notes...)
		}
	}
}

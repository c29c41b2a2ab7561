package xds

import (
	"slices"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/xds/clusters"
	"github.com/weftmesh/weft/xds/envoy"
)

// own adds the clusters that policies ask for and no route names, as those of collectors: of each name
// one, with everybody who asks for it. What no listener names is left out.
func (s *rendering) own(r *effective.Resolved) {
	found := map[string]*ownCluster{}
	seen := map[*policies.Effective]bool{}
	add := func(ps effective.Policies, at envoy.Place) {
		for _, e := range ps {
			if w, ok := e.Conf.(envoy.ResourceWriter); ok && !seen[e] {
				seen[e] = true
				for _, c := range w.Clusters(at) {
					asked(found, e, c)
				}
			}
		}
	}
	for _, o := range r.Outbounds {
		add(o.Policies, envoy.Place{Protocol: o.Protocol(), Edge: o.Edge})
	}
	for _, i := range r.Inbounds {
		add(i.Policies, envoy.Place{Protocol: i.Protocol, Inbound: true})
	}
	for _, name := range envoy.SortedKeys(found) {
		if c := found[name]; s.names(name) {
			cluster, notes := clusters.Own(c.OwnCluster, c.by)
			s.Add(&s.Clusters, cluster, notes)
		}
	}
}

// ownCluster is such a cluster, and who asks for it.
type ownCluster struct {
	envoy.OwnCluster
	by []*api.Origin
}

// asked adds who asks for c by e.
func asked(found map[string]*ownCluster, e *policies.Effective, c envoy.OwnCluster) {
	x := found[c.Name()]
	if x == nil {
		x = &ownCluster{OwnCluster: c}
		found[c.Name()] = x
	}
	if f, ok := e.Get(c.Field); ok {
		if by := f.Winner().Origin; !slices.ContainsFunc(x.by, by.Same) {
			x.by = append(x.by, by)
		}
	}
}

// names reports whether one of the listeners names a cluster.
func (s *rendering) names(cluster string) bool {
	for _, l := range s.Listeners {
		if _, ok := slices.BinarySearch(l.Clusters, cluster); ok {
			return true
		}
	}
	return false
}

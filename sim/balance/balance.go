// Package balance is how routes and policies say which endpoint of a service gets a request.
package balance

import (
	"strings"

	"github.com/weftmesh/weft/merge"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/route"
)

// Balancer is a conf that says which endpoint gets a request, where a route does not say it of its cluster.
type Balancer interface {
	// Balance is that in words; empty for round robin. Hashes says that a hash decides.
	Balance() (words string, hashes bool)
	// BalanceField is the leaf that says so.
	BalanceField() string
	// HashOf is of what of a request the hash is taken, and the leaf that says so; not ok where the conf does not
	// say it.
	HashOf() (keys []route.HashKey, field string, ok bool)
}

// byPolicies is how policies say that the endpoints of a cluster share requests.
func byPolicies(ps effective.Policies) (words string, hashes bool) {
	for _, e := range ps {
		if x, ok := e.Conf.(Balancer); ok {
			return x.Balance()
		}
	}
	return "", false
}

// Text is how an endpoint of a cluster is chosen for r, by what a route says itself or else by policies; empty for
// round robin among all.
func Text(r *effective.Resolved, use *effective.ClusterUse, own string) string {
	if own == "" {
		own, _ = byPolicies(use.Policies)
	}
	if use.Endpoints != nil {
		if near := r.Nearness(use.Cluster).Text(use.List); near != "" {
			return strings.TrimPrefix(own+", "+near, ", ")
		}
	}
	return own
}

// Hashes reports whether a hash decides which endpoint of a backend gets a request of r, which may be nil.
func Hashes(r *effective.Resolved, b *effective.Backend) bool {
	if b.Balance != (route.Balance{}) {
		return b.Balance.Algorithm == route.RingHash
	}
	if r == nil || b.Cluster == "" {
		return false
	}
	use := r.ClusterNamed(b.Cluster)
	return use.Cluster != nil && ByHash(use.Cluster)
}

// ByHash reports whether a hash decides which endpoint of a cluster gets a request.
func ByHash(c *effective.Cluster) bool {
	if c.Balance != (route.Balance{}) {
		return c.Balance.Algorithm == route.RingHash
	}
	_, hashes := byPolicies(c.Policies)
	return hashes
}

// Hash is of what of a request of rt a hash is taken: what a policy says of the route or by an override, else what
// the route says by itself, else what policies say; nil of nothing.
func Hash(rt *effective.Route) []route.HashKey {
	for _, e := range rt.Policies {
		x, ok := e.Conf.(Balancer)
		if !ok {
			continue
		}
		keys, path, ok := x.HashOf()
		if f, there := e.Get(path); ok && there && (len(rt.Hash) == 0 || f.Winner().Layer > merge.Inline || f.Winner().Override) {
			return keys
		}
	}
	return rt.Hash
}

package lookup

import (
	"testing"

	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/sim/wire"
)

// TestPortsOfAClassicService: a kuma.io/service has no port of its own, so it is meant by no port, by 80 and by those
// of its inbounds, as far as anybody answers; at a virtual address by the port of that alone.
func TestPortsOfAClassicService(t *testing.T) {
	t.Parallel()
	to := &effective.Destination{ID: "old", Name: "old", VIPs: []string{"240.0.0.1"}}
	nobody := &effective.Resolved{}
	answered := &effective.Resolved{Clusters: []effective.ClusterUse{{Cluster: &effective.Cluster{Name: "old", Destination: to},
		Endpoints: &effective.Endpoints{Name: "old", List: []effective.Endpoint{{Address: "127.0.0.2", Port: 8080}, {Address: "127.0.0.3", Port: 9090}}}}}}
	for _, c := range []struct {
		world   *effective.Resolved
		address string
		url     wire.URL
		means   bool
	}{
		{nobody, "127.0.0.1", wire.URL{Port: 80}, true},
		{nobody, "127.0.0.1", wire.URL{Port: 80, Explicit: true}, true},
		{nobody, "127.0.0.1", wire.URL{Port: 8080, Explicit: true}, false},
		{answered, "127.0.0.1", wire.URL{Port: 8080, Explicit: true}, true},
		{answered, "127.0.0.1", wire.URL{Port: 9090, Explicit: true}, true},
		{answered, "127.0.0.1", wire.URL{Port: 9999, Explicit: true}, false},
		{answered, "240.0.0.1", wire.URL{Port: 8080, Explicit: true}, false},
		{answered, "240.0.0.1", wire.URL{Port: 80, Explicit: true}, true},
	} {
		if got := classicPort(c.world, &effective.Outbound{Address: c.address, Destination: to}, &c.url); got != c.means {
			t.Errorf("%+v at %s: %v", c.url, c.address, got)
		}
	}
}

// TestRequestsAtTheWrongChain: a request comes to the wrong chain where another one has a nearer name for its host,
// whether or not this one has routes for it; a chain of its own takes what it has routes for.
func TestRequestsAtTheWrongChain(t *testing.T) {
	t.Parallel()
	routesOf := func(name string) *effective.Outbound {
		return &effective.Outbound{Destination: &effective.Destination{Name: name}}
	}
	wide := &effective.FilterChain{Name: "*.shop.example", Others: []string{"*.example", "pay.shop.example", "*.eu.shop.example"}}
	own := &effective.FilterChain{Name: "pay.shop.example", Own: true, Others: []string{"*.shop.example"}}
	for _, c := range []struct {
		chain *effective.FilterChain
		host  string
		has   *effective.Outbound
		wrong bool
	}{
		{wide, "cart.shop.example", nil, false},
		{wide, "cart.shop.example", routesOf("*.shop.example"), false},
		{wide, "cart.shop.example", routesOf("cart.shop.example"), false},
		{wide, "pay.shop.example", nil, true},
		{wide, "pay.shop.example", routesOf("*.shop.example"), true},
		{wide, "a.eu.shop.example", nil, true},
		{wide, "a.eu.shop.example", routesOf("a.eu.shop.example"), false},
		{wide, "other.example", nil, true},
		{wide, "other.test", nil, false},
		{own, "pay.shop.example", routesOf("pay.shop.example"), false},
		{own, "cart.shop.example", nil, true},
	} {
		if got := misdirected(c.chain, c.host, c.has); got != c.wrong {
			t.Errorf("%s at the chain for %s: %v", c.host, c.chain.Name, got)
		}
	}
}

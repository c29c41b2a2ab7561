package trafficpermission

import (
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/xds/envoy"
)

// GuardRequests are the filters that routes configure: a listener never changes because of
// who may call, and without a word of the routes nobody gets in who has proved a name.
func (c *Conf) GuardRequests(at envoy.Place) []*hcmv3.HttpFilter {
	if at.Chain == envoy.MTLS {
		return proving()
	}
	return unproved()
}

// GuardConnections are the filters where nobody reads requests, which have no routes to be
// configured by.
func (c *Conf) GuardConnections(conf policies.Conf, at envoy.Place) []*listenerv3.Filter {
	var p *Permissions
	if e, ok := conf.(*Effective); ok {
		p = e.Permissions
	}
	return p.connections(at.Chain == envoy.MTLS, at.Domains)
}

// Callers are the names of a union; a connection about which no document says a word is for
// nobody.
func (c *Conf) Callers(conf policies.Conf) ([]*matcherv3.StringMatcher, bool) {
	e, ok := conf.(*Effective)
	if !ok {
		return nil, true
	}
	return e.callers()
}

// Revoked are the names that the document of revocations of the mesh denies, sorted.
func (c *Conf) Revoked(conf policies.Conf) []string {
	e, ok := conf.(*Effective)
	if !ok || e.Permissions == nil {
		return nil
	}
	return e.revoked()
}

// WriteInbound is what holds for all requests of an inbound, or for those of one route.
func (e *Effective) WriteInbound(filters *map[string]*anypb.Any, at envoy.Place) {
	if at.Chain != envoy.Unguarded {
		e.Permissions.configure(filters, at.Domains)
	}
}

// WriteManager takes care that a path which entries name has no second spelling (F12): what
// only the workload equates, as upper and lower case, stays (spec/identity.md 4.4).
func (e *Effective) WriteManager(m *hcmv3.HttpConnectionManager, at envoy.Place) {
	if e.Paths && at.Chain != envoy.Unguarded {
		envoy.OneSpelling(m)
	}
}

package routes

import (
	"slices"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/xds/naming"
)

// Misdirected is what clients who speak TLS may ask a chain for, and no route of it says.
type Misdirected struct {
	misdirected []string // hosts of other chains
	unrouted    string   // the chain's own name, though a wider chain has it too
}

// MisdirectedOf is that of a chain.
func MisdirectedOf(c *effective.FilterChain) Misdirected {
	var out Misdirected
	switch {
	case !c.Own:
		out.misdirected = c.Others
	case !serves(c, api.AnyHost):
		out.misdirected = []string{api.AnyHost}
	}
	if len(c.Others) > 0 && c.Name != "" && !serves(c, c.Name) {
		out.unrouted = c.Name
	}
	return out
}

func (b Misdirected) equal(o Misdirected) bool {
	return b.unrouted == o.unrouted && slices.Equal(b.misdirected, o.misdirected)
}

// hosts answer 421 to who is misdirected, and 404 for the rest.
func (b Misdirected) hosts() []*routev3.VirtualHost {
	var out []*routev3.VirtualHost
	if len(b.misdirected) > 0 {
		out = append(out, misdirected(b.misdirected))
	}
	if b.unrouted != "" {
		out = append(out, &routev3.VirtualHost{Name: b.unrouted, Domains: []string{b.unrouted}})
	}
	return out
}

// serves reports whether routes of a chain are for a host by that name.
func serves(c *effective.FilterChain, name string) bool {
	return slices.ContainsFunc(c.Hosts, func(o *effective.Outbound) bool { return o.Destination.Name == name })
}

// misdirected answers requests for hosts whose certificate the client has not seen: it is
// to make another connection (RFC 9110, 15.5.20).
func misdirected(domains []string) *routev3.VirtualHost {
	return &routev3.VirtualHost{Name: "misdirected", Domains: domains, Routes: []*routev3.Route{{
		Name:   "misdirected",
		Match:  &routev3.RouteMatch{PathSpecifier: &routev3.RouteMatch_Prefix{Prefix: "/"}},
		Action: &routev3.Route_DirectResponse{DirectResponse: &routev3.DirectResponseAction{Status: 421}},
	}}}
}

// passthroughHost is the virtual host of all hosts that no route serves.
func passthroughHost() *routev3.VirtualHost {
	pass := func(m *routev3.RouteMatch, upgrades ...*routev3.RouteAction_UpgradeConfig) *routev3.Route {
		return &routev3.Route{Name: naming.Passthrough, Match: m, Action: &routev3.Route_Route{Route: &routev3.RouteAction{
			ClusterSpecifier: &routev3.RouteAction_Cluster{Cluster: naming.Passthrough},
			Timeout:          durationpb.New(0), IdleTimeout: durationpb.New(0), UpgradeConfigs: upgrades,
		}}}
	}
	return &routev3.VirtualHost{Name: naming.Passthrough, Domains: []string{"*"}, Routes: []*routev3.Route{
		pass(&routev3.RouteMatch{PathSpecifier: &routev3.RouteMatch_ConnectMatcher_{ConnectMatcher: &routev3.RouteMatch_ConnectMatcher{}}},
			&routev3.RouteAction_UpgradeConfig{UpgradeType: "CONNECT"}),
		pass(&routev3.RouteMatch{PathSpecifier: &routev3.RouteMatch_Prefix{}}),
	}}
}

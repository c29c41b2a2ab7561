// Package clusters renders how destinations are called, and the workload behind an inbound. A cluster
// is made once for each way of calling it, for as long as somebody has it.
package clusters

import (
	"slices"
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	upstreamhttpv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/upstreams/http/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/route"
	"github.com/weftmesh/weft/xds/envoy"
	"github.com/weftmesh/weft/xds/naming"
	"github.com/weftmesh/weft/xds/origin"
	"github.com/weftmesh/weft/xds/resource"
)

// The built-in values of a cluster, where no policy says otherwise.
const (
	connectTimeout = 5 * time.Second
	// EndpointWait is how long a cluster waits for its endpoints before it goes
	// on without: a net below the server, which sends them again with it.
	EndpointWait = time.Second
)

// Render is the cluster c as proxies without an identity call it, made once for what
// stands beside it. It is nil, with the notes on c's documents, where Envoy would refuse it;
// a route that names it then answers 503.
func Render(c *effective.Cluster, beside *effective.Derived) (*resource.Resource, []api.Note) {
	return formsOf(beside).get(plain, func() (*resource.Resource, []api.Note) {
		return renderForm(c, func(*clusterv3.Cluster) {})
	})
}

// RenderFor is the cluster c as the proxy of r calls it.
func RenderFor(r *effective.Resolved, c *effective.Cluster, beside *effective.Derived) (*resource.Resource, []api.Note) {
	if !r.TLS || c.TLS == nil {
		return Render(c, beside)
	}
	f := secure
	if r.OverADS {
		f = overStream
	}
	return formsOf(beside).get(f, func() (*resource.Resource, []api.Note) {
		return renderForm(c, func(out *clusterv3.Cluster) { secureCluster(out, c.TLS, r.OverADS) })
	})
}

func renderForm(c *effective.Cluster, change func(*clusterv3.Cluster)) (*resource.Resource, []api.Note) {
	cluster, origins, err := Build(c)
	if err == nil {
		change(cluster)
		err = cluster.ValidateAll()
	}
	if err != nil {
		return nil, origin.Refused(origins, "nobody can call it", err)
	}
	r := resource.New(c.Name, cluster)
	r.EDS, r.Checks = cluster.GetType() == clusterv3.Cluster_EDS, firstChecks(cluster)
	if skipsNames(c.Destination.External) {
		r.Notes = []api.Note{{
			Origin: &api.Origin{Ref: c.Destination.Ref}, Severity: api.Warning, Code: "UnsupportedValue", Field: "spec.tls.verification.mode",
			Message: "Envoy checks no name without an authority, so SkipCA checks nothing, as SkipAll; give a caCert and use Secured",
		}}
	}
	return r, nil
}

// longestChecks is how long routes wait at most for the first checks of a cluster.
const longestChecks = 15 * time.Second

// firstChecks is how long Envoy may take for the first check of each endpoint, before which it does not use a
// cluster that is new (spec/kinds.md F14).
func firstChecks(c *clusterv3.Cluster) (longest time.Duration) {
	for _, h := range c.HealthChecks {
		longest = max(longest, min(h.GetTimeout().AsDuration()+h.GetInitialJitter().AsDuration(), longestChecks))
	}
	return longest
}

// Build is c as proxies without an identity call it, before it is checked, with those whose values stand in it.
func Build(c *effective.Cluster) (*clusterv3.Cluster, []*api.Origin, error) {
	out := &clusterv3.Cluster{
		Name:            c.Name,
		AltStatName:     statName(c.Name),
		ConnectTimeout:  durationpb.New(connectTimeout),
		CircuitBreakers: envoy.Thresholds(),
	}
	external := c.Destination.External
	var err error
	if external == nil {
		out.ClusterDiscoveryType = &clusterv3.Cluster_Type{Type: clusterv3.Cluster_EDS}
		out.EdsClusterConfig = &clusterv3.Cluster_EdsClusterConfig{EdsConfig: envoy.OverADS(EndpointWait)}
	} else {
		err = reachOutside(out, c.Destination)
	}
	balance(out, c.Balance)
	place := envoy.Place{Protocol: c.Destination.RequestProtocol(), Host: hostOf(c.Destination), Balanced: c.Balance != (route.Balance{}), Localities: external == nil}
	options := upstreamProtocol(place.Protocol, c.HTTP2)
	origins := finishCluster(out, options, c.Policies, place)
	if external != nil && c.Destination.Ref.Name != "" {
		origins = append(origins, &api.Origin{Ref: c.Destination.Ref})
	}
	out.Metadata = origin.Metadata(origins)
	return out, origins, err
}

// hostOf is by what name the endpoints of a destination are asked: the first of those that an external service
// names, else its own.
func hostOf(d *effective.Destination) string {
	if d.External != nil {
		for _, e := range d.External.Endpoints {
			if h := (envoy.HostPort{Host: e.Address, Port: e.Port}); !envoy.IsIP(e.Address) {
				if _, unix := h.Unix(); !unix {
					return e.Address
				}
			}
		}
	}
	return d.Name
}

// statName is what Envoy's statistics are to call a cluster, so that who has it from the statistics finds the
// cluster in the configuration, as Kuma's GUI does; empty where that is its name.
func statName(name string) string {
	if stat := naming.Stat(name); stat != name {
		return stat
	}
	return ""
}

// upstreamProtocol is how requests go on: HTTP/2 by prior knowledge where all
// who answer are known to speak it, else as the port says. It is nil where
// there are no requests to tell apart.
func upstreamProtocol(p api.Protocol, http2 bool) *upstreamhttpv3.HttpProtocolOptions {
	switch {
	case !p.HTTPLike():
		return nil
	case http2 || p == api.HTTP2 || p == api.GRPC:
		return &upstreamhttpv3.HttpProtocolOptions{UpstreamProtocolOptions: envoy.HTTP2Upstream(nil)}
	}
	return &upstreamhttpv3.HttpProtocolOptions{UpstreamProtocolOptions: envoy.HTTP1Upstream()}
}

// finishCluster lets policies write, packs the options, and tells whose values stand.
func finishCluster(out *clusterv3.Cluster, options *upstreamhttpv3.HttpProtocolOptions, ps effective.Policies, place envoy.Place) []*api.Origin {
	var origins []*api.Origin
	for _, e := range ps {
		w, ok := e.Conf.(envoy.ClusterWriter)
		if !ok {
			continue
		}
		origins = append(origins, origin.SetBy(e, func(c policies.Conf) proto.Message { return blankCluster(c, options != nil, place) })...)
		w.WriteCluster(out, options, place)
	}
	envoy.LbOf(ps, place).Write(out)
	if options != nil {
		out.TypedExtensionProtocolOptions = envoy.ProtocolOptions(options)
	}
	return origins
}

// blankCluster is a cluster with what is built in, and what a conf writes: who says what holds anyway sets nothing.
func blankCluster(c policies.Conf, http bool, place envoy.Place) proto.Message {
	out := &clusterv3.Cluster{CircuitBreakers: envoy.Thresholds()}
	var options *upstreamhttpv3.HttpProtocolOptions
	if http {
		options = &upstreamhttpv3.HttpProtocolOptions{}
	}
	c.(envoy.ClusterWriter).WriteCluster(out, options, place)
	envoy.Lb{}.With(c, place).Write(out)
	if http {
		out.TypedExtensionProtocolOptions = envoy.ProtocolOptions(options)
	}
	return out
}

// inOrder are the groups of hosts by rising priority, without gaps: Envoy and
// gRPC both count priorities from zero.
func inOrder(priorities map[uint32][]envoy.HostPort) [][]envoy.HostPort {
	var out [][]envoy.HostPort
	for _, p := range envoy.SortedKeys(priorities) {
		out = append(out, priorities[p])
	}
	return out
}

// Notes is what rendering a cluster has to say.
func Notes(u *effective.ClusterUse) []api.Note {
	found := envoy.LbNotes(u.Policies, envoy.Place{Protocol: u.Destination.RequestProtocol()})
	if u.Destination.External == nil {
		return found
	}
	r, notes := Render(u.Cluster, u.ClusterCache)
	notes = slices.Concat(found, notes)
	if r != nil {
		notes = slices.Concat(notes, r.Notes)
	}
	return notes
}

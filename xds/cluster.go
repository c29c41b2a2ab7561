package xds

import (
	"strings"
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	upstreamhttpv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/upstreams/http/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/resolve/effective"
)

// The built-in values of a cluster, where no policy says otherwise.
const (
	connectTimeout = 5 * time.Second
	maxPending     = 1024 // connections, pending requests and requests, each
	maxRetries     = 3    // at one time
	// endpointWait is how long a cluster waits for its endpoints before it goes
	// on without: a net below the server, which sends them again with it.
	endpointWait = time.Second
)

// RenderCluster is the cluster c as proxies without an identity call it, made once for what
// stands beside it. It is nil, with the notes on c's documents, where Envoy would refuse it;
// a route that names it then answers 503.
func RenderCluster(c *effective.Cluster, beside *effective.Memo) (*Resource, []api.Note) {
	return clusterFormsOf(beside).get(plainForm, func() (*Resource, []api.Note) {
		return renderForm(c, func(*clusterv3.Cluster) {})
	})
}

// clusterFor is the cluster c as the proxy of r calls it.
func clusterFor(r *effective.Resolved, c *effective.Cluster, beside *effective.Memo) (*Resource, []api.Note) {
	if !r.TLS || c.TLS == nil {
		return RenderCluster(c, beside)
	}
	f := secureForm
	if r.OverADS {
		f = overADSForm
	}
	return clusterFormsOf(beside).get(f, func() (*Resource, []api.Note) {
		return renderForm(c, func(out *clusterv3.Cluster) { secureCluster(out, c.TLS, r.OverADS) })
	})
}

func renderForm(c *effective.Cluster, change func(*clusterv3.Cluster)) (*Resource, []api.Note) {
	cluster, origins, err := renderCluster(c)
	if err == nil {
		change(cluster)
		err = cluster.ValidateAll()
	}
	if err != nil {
		return nil, refused(origins, "nobody can call it", err)
	}
	r := newResource(c.Name, cluster)
	r.EDS = cluster.GetType() == clusterv3.Cluster_EDS
	if skipsNames(c.Destination.External) {
		r.Notes = []api.Note{{
			Origin: &api.Origin{Ref: c.Destination.Ref}, Severity: api.Warning, Code: "UnsupportedValue", Field: "spec.tls.verification.mode",
			Message: "Envoy checks no name without an authority, so SkipCA checks nothing, as SkipAll; give a caCert and use Secured",
		}}
	}
	return r, nil
}

func renderCluster(c *effective.Cluster) (*clusterv3.Cluster, []*api.Origin, error) {
	out := &clusterv3.Cluster{
		Name:            c.Name,
		AltStatName:     statName(c.Name),
		ConnectTimeout:  durationpb.New(connectTimeout),
		CircuitBreakers: thresholds(),
	}
	external := c.Destination.External
	var err error
	if external == nil {
		out.ClusterDiscoveryType = &clusterv3.Cluster_Type{Type: clusterv3.Cluster_EDS}
		out.EdsClusterConfig = &clusterv3.Cluster_EdsClusterConfig{EdsConfig: overADS(endpointWait)}
	} else {
		err = reachOutside(out, c.Destination)
	}
	balance(out, c.Balance)
	place := Place{Protocol: c.Destination.RequestProtocol()}
	options := upstreamProtocol(place.Protocol, c.HTTP2)
	origins := finishCluster(out, options, c.Policies, place)
	if external != nil && c.Destination.Ref.Name != "" {
		origins = append(origins, &api.Origin{Ref: c.Destination.Ref})
	}
	out.Metadata = named(origins)
	return out, origins, err
}

// statName is what Envoy's statistics call a cluster of that name in any case. It is said, where it is not
// the name, so that who has it from the statistics finds the cluster in the configuration, as Kuma's GUI does.
func statName(name string) string {
	if said := strings.ReplaceAll(name, ":", "_"); said != name {
		return said
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
		return &upstreamhttpv3.HttpProtocolOptions{UpstreamProtocolOptions: http2Upstream(nil)}
	}
	return &upstreamhttpv3.HttpProtocolOptions{UpstreamProtocolOptions: http1Upstream()}
}

// finishCluster lets policies write, packs the options, and tells whose values stand.
func finishCluster(out *clusterv3.Cluster, options *upstreamhttpv3.HttpProtocolOptions, ps effective.Policies, place Place) []*api.Origin {
	var origins []*api.Origin
	for _, e := range ps {
		w, ok := e.Conf.(ClusterWriter)
		if !ok {
			continue
		}
		origins = append(origins, setBy(e, func(c policies.Conf) proto.Message { return blankCluster(c, options != nil, place) })...)
		w.WriteCluster(out, options, place)
	}
	if options != nil {
		out.TypedExtensionProtocolOptions = protocolOptions(options)
	}
	return origins
}

func blankCluster(c policies.Conf, http bool, place Place) proto.Message {
	out := &clusterv3.Cluster{}
	var options *upstreamhttpv3.HttpProtocolOptions
	if http {
		options = &upstreamhttpv3.HttpProtocolOptions{}
	}
	c.(ClusterWriter).WriteCluster(out, options, place)
	if http {
		out.TypedExtensionProtocolOptions = protocolOptions(options)
	}
	return out
}

func thresholds() *clusterv3.CircuitBreakers {
	return &clusterv3.CircuitBreakers{Thresholds: []*clusterv3.CircuitBreakers_Thresholds{{
		MaxConnections:     wrapperspb.UInt32(maxPending),
		MaxPendingRequests: wrapperspb.UInt32(maxPending),
		MaxRequests:        wrapperspb.UInt32(maxPending),
		MaxRetries:         wrapperspb.UInt32(maxRetries),
	}}}
}

// inOrder are the groups of hosts by rising priority, without gaps: Envoy and
// gRPC both count priorities from zero.
func inOrder(priorities map[uint32][]hostPort) [][]hostPort {
	var out [][]hostPort
	for _, p := range sortedKeys(priorities) {
		out = append(out, priorities[p])
	}
	return out
}

func tagMetadata(tags map[string]string) *corev3.Metadata {
	fields := make(map[string]string, len(tags))
	for k, v := range tags {
		if k != api.TagService {
			fields[k] = v
		}
	}
	return textMetadata("envoy.lb", fields)
}

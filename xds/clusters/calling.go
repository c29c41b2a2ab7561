package clusters

import (
	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	rawbufferv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/raw_buffer/v3"
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/resolve/identity"
	"github.com/weftmesh/weft/xds/endpoints"
	"github.com/weftmesh/weft/xds/envoy"
	"github.com/weftmesh/weft/xds/secrets"
)

// calling is how a destination is called by TLS: by exactly the names of those who answer for
// it, of which only the authorities of their own domains may speak (spec/identity.md 3.1).
func calling(t *effective.ClusterTLS, overControlPlane bool) *corev3.TransportSocket {
	expected := &tlsv3.CertificateValidationContext{}
	for _, name := range t.Names {
		expected.MatchTypedSubjectAltNames = append(expected.MatchTypedSubjectAltNames, &tlsv3.SubjectAltNameMatcher{SanType: tlsv3.SubjectAltNameMatcher_URI, Matcher: envoy.Exactly(name)})
	}
	return envoy.TLSSocket(&tlsv3.UpstreamTlsContext{
		Sni: t.SNI, MaxSessionKeys: wrapperspb.UInt32(0),
		CommonTlsContext: &tlsv3.CommonTlsContext{
			TlsParams: secrets.Parameters(t.TLSParameters, true), AlpnProtocols: []string{envoy.ALPNMesh}, TlsCertificateSdsSecretConfigs: secrets.Proves(t.Mesh, overControlPlane),
			ValidationContextType: &tlsv3.CommonTlsContext_CombinedValidationContext{CombinedValidationContext: &tlsv3.CommonTlsContext_CombinedCertificateValidationContext{
				DefaultValidationContext: expected, ValidationContextSdsSecretConfig: secrets.Trusting(identity.TrustName(t.Mesh, t.Domains...)),
			}},
		},
	})
}

// secureCluster lets each endpoint say how it is called: a switch to TLS, or back, is one of
// endpoints, and no cluster changes (spec/identity.md 3.3).
func secureCluster(out *clusterv3.Cluster, t *effective.ClusterTLS, overControlPlane bool) {
	out.TransportSocketMatches = []*clusterv3.Cluster_TransportSocketMatch{
		{Name: "plain", Match: envoy.TextStruct(map[string]string{endpoints.SocketTLS: endpoints.PlainSocket}), TransportSocket: &corev3.TransportSocket{
			Name: "envoy.transport_sockets.raw_buffer", ConfigType: &corev3.TransportSocket_TypedConfig{TypedConfig: envoy.Pack(&rawbufferv3.RawBuffer{})}}},
		{Name: "tls", Match: envoy.TextStruct(nil), TransportSocket: calling(t, overControlPlane)},
	}
}

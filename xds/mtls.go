package xds

import (
	"encoding/pem"
	"hash/fnv"
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	rawbufferv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/raw_buffer/v3"
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/resolve/identity"
	"github.com/weftmesh/weft/xds/bootstrap"
)

// SidecarCluster is the cluster of a bootstrap that leads to the sidecar's own server of
// secrets, from which Envoy gets the certificate of its workload (spec/identity.md 2.3).
const SidecarCluster = "sidecar_secrets"

// alpnMesh is the protocol that proxies of the mesh name in TLS. Servers name none: with it
// configured there HTTP/2 would be read as HTTP/1.1 (spec/identity.md 0, F11).
const alpnMesh = "weft"

// socketTLS is the key by which endpoints say how they are called, none that it is in plain
// text. An endpoint that says nothing is called by TLS.
const (
	socketTLS   = "weft.io/tls"
	plainSocket = "none"
)

// IdentitySecret is the name of the certificate of a workload of a mesh.
func IdentitySecret(mesh string) string { return "identity_cert:secret:" + mesh }

// identitySource is where that certificate comes from.
func identitySource(overControlPlane bool) *corev3.ConfigSource {
	if overControlPlane {
		return overADS(secretWait)
	}
	return &corev3.ConfigSource{
		ResourceApiVersion: corev3.ApiVersion_V3, InitialFetchTimeout: durationpb.New(secretWait),
		ConfigSourceSpecifier: &corev3.ConfigSource_ApiConfigSource{ApiConfigSource: &corev3.ApiConfigSource{
			ApiType: corev3.ApiConfigSource_GRPC, TransportApiVersion: corev3.ApiVersion_V3, SetNodeOnFirstMessageOnly: true,
			GrpcServices: []*corev3.GrpcService{{TargetSpecifier: &corev3.GrpcService_EnvoyGrpc_{EnvoyGrpc: &corev3.GrpcService_EnvoyGrpc{ClusterName: SidecarCluster}}}},
		}},
	}
}

// parameters are the versions and ciphers of TLS. Clients stop at 1.2 unless a policy says
// otherwise: there a server that refuses their certificate says so in the handshake, before
// the request is out (spec/identity.md 0, F5).
func parameters(p effective.TLSParameters, client bool) *tlsv3.TlsParameters {
	out := &tlsv3.TlsParameters{TlsMinimumProtocolVersion: tlsv3.TlsParameters_TLSv1_2, TlsMaximumProtocolVersion: tlsv3.TlsParameters_TLSv1_3, CipherSuites: p.Ciphers}
	if p.Minimum == "1.3" {
		out.TlsMinimumProtocolVersion = tlsv3.TlsParameters_TLSv1_3
	}
	if p.Maximum == "1.2" || client && p.Maximum == "" && p.Minimum != "1.3" {
		out.TlsMaximumProtocolVersion = tlsv3.TlsParameters_TLSv1_2
	}
	return out
}

// RenderIdentity is the certificate of a workload of a mesh with its key, for the one sidecar
// whose it is. Its version tells nothing of the key.
func RenderIdentity(mesh string, chain, key []byte) *Resource {
	r := newResource(IdentitySecret(mesh), bootstrap.WorkloadSecret(IdentitySecret(mesh), chain, key))
	r.Version = versionOf(chain)
	return r
}

func proves(mesh string, overControlPlane bool) []*tlsv3.SdsSecretConfig {
	return []*tlsv3.SdsSecretConfig{{Name: IdentitySecret(mesh), SdsConfig: identitySource(overControlPlane)}}
}

func trusting(name string) *tlsv3.SdsSecretConfig {
	return &tlsv3.SdsSecretConfig{Name: name, SdsConfig: overADS(secretWait)}
}

// accepting is how an inbound takes mutual TLS (spec/identity.md 3.1). No session is resumed:
// one would be after the certificate of the client has expired (F4).
func (x *Renderer) accepting(mesh string, t *effective.InboundTLS, c *chain) *corev3.TransportSocket {
	context := &tlsv3.CommonTlsContext{
		TlsParams: parameters(t.TLSParameters, false), TlsCertificateSdsSecretConfigs: proves(mesh, t.OverADS),
		ValidationContextType: &tlsv3.CommonTlsContext_ValidationContextSdsSecretConfig{ValidationContextSdsSecretConfig: trusting(identity.TrustName(mesh))},
	}
	x.knows(c, context)
	return &corev3.TransportSocket{Name: tlsSocketName, ConfigType: &corev3.TransportSocket_TypedConfig{TypedConfig: Pack(&tlsv3.DownstreamTlsContext{
		RequireClientCertificate: wrapperspb.Bool(true),
		SessionTicketKeysType:    &tlsv3.DownstreamTlsContext_DisableStatelessSessionResumption{DisableStatelessSessionResumption: true},

		DisableStatefulSessionResumption: true,
		CommonTlsContext:                 context,
	})}}
}

// calling is how a destination is called by TLS: by exactly the names of those who answer for
// it, of which only the authorities of their own domains may speak (spec/identity.md 3.1).
func calling(t *effective.ClusterTLS, overControlPlane bool) *corev3.TransportSocket {
	expected := &tlsv3.CertificateValidationContext{}
	for _, name := range t.Names {
		expected.MatchTypedSubjectAltNames = append(expected.MatchTypedSubjectAltNames, &tlsv3.SubjectAltNameMatcher{SanType: tlsv3.SubjectAltNameMatcher_URI, Matcher: exactly(name)})
	}
	return tlsSocket(&tlsv3.UpstreamTlsContext{
		Sni: t.SNI, MaxSessionKeys: wrapperspb.UInt32(0),
		CommonTlsContext: &tlsv3.CommonTlsContext{
			TlsParams: parameters(t.TLSParameters, true), AlpnProtocols: []string{alpnMesh}, TlsCertificateSdsSecretConfigs: proves(t.Mesh, overControlPlane),
			ValidationContextType: &tlsv3.CommonTlsContext_CombinedValidationContext{CombinedValidationContext: &tlsv3.CommonTlsContext_CombinedCertificateValidationContext{
				DefaultValidationContext: expected, ValidationContextSdsSecretConfig: trusting(identity.TrustName(t.Mesh, t.Domains...)),
			}},
		},
	})
}

// secureCluster lets each endpoint say how it is called: a switch to TLS, or back, is one of
// endpoints, and no cluster changes (spec/identity.md 3.3).
func secureCluster(out *clusterv3.Cluster, t *effective.ClusterTLS, overControlPlane bool) {
	out.TransportSocketMatches = []*clusterv3.Cluster_TransportSocketMatch{
		{Name: "plain", Match: textStruct(map[string]string{socketTLS: plainSocket}), TransportSocket: &corev3.TransportSocket{
			Name: "envoy.transport_sockets.raw_buffer", ConfigType: &corev3.TransportSocket_TypedConfig{TypedConfig: Pack(&rawbufferv3.RawBuffer{})}}},
		{Name: "tls", Match: textStruct(nil), TransportSocket: calling(t, overControlPlane)},
	}
}

// plainEndpoint is said of an endpoint that is called in plain text.
func plainEndpoint(m *corev3.Metadata) *corev3.Metadata {
	mark := textMetadata(socketMatch, map[string]string{socketTLS: plainSocket})
	if m != nil {
		m.FilterMetadata[socketMatch] = mark.FilterMetadata[socketMatch]
		return m
	}
	return mark
}

// renderTrust is whom proxies believe: in each trust domain its own authorities alone (F1).
// Where nobody speaks for one nobody is believed.
func renderTrust(u effective.TrustUse) *Resource {
	return u.Kept.Do(func() any {
		validator := &tlsv3.SPIFFECertValidatorConfig{}
		for _, d := range u.Domains {
			bundle := []byte(nobody)
			if len(d.Roots) > 0 {
				bundle = nil
			}
			for _, root := range d.Roots {
				bundle = append(bundle, certificatePEM(root)...)
			}
			validator.TrustDomains = append(validator.TrustDomains, &tlsv3.SPIFFECertValidatorConfig_TrustDomain{Name: d.Name, TrustBundle: bootstrap.Inline(bundle)})
		}
		return newResource(u.Name, &tlsv3.Secret{Name: u.Name, Type: &tlsv3.Secret_ValidationContext{ValidationContext: &tlsv3.CertificateValidationContext{
			CustomValidatorConfig: &corev3.TypedExtensionConfig{Name: "envoy.tls.cert_validator.spiffe", TypedConfig: Pack(validator)},
		}}})
	}).(*Resource)
}

// spread is d, up to a tenth more or less as a name decides, so that what many do once in a
// while they do not all do at one time.
func spread(d time.Duration, name string) time.Duration {
	h := fnv.New32a()
	_, _ = h.Write([]byte(name)) // it cannot fail
	return d - d/10 + time.Duration(h.Sum32()%2001)*(d/10)/1000
}

// certificatePEM is a certificate as a bundle holds it.
func certificatePEM(der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

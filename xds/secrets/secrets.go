// Package secrets renders certificates and whom proxies believe, and how TLS refers to them.
package secrets

import (
	_ "embed"
	"encoding/pem"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/xds/bootstrap"
	"github.com/weftmesh/weft/xds/envoy"
	"github.com/weftmesh/weft/xds/naming"
	"github.com/weftmesh/weft/xds/resource"
)

// Nobody is a certificate whose key is gone: an authority that never signed anything.
//
//go:embed placeholder-ca.pem
var Nobody string

// Wait is how long a listener waits for a certificate before it serves the others:
// it is asked for when the listener is there, so that all of them wait for it.
const Wait = 5 * time.Second

// identitySource is where that certificate comes from.
func identitySource(overControlPlane bool) *corev3.ConfigSource {
	if overControlPlane {
		return envoy.OverADS(Wait)
	}
	return &corev3.ConfigSource{
		ResourceApiVersion: corev3.ApiVersion_V3, InitialFetchTimeout: durationpb.New(Wait),
		ConfigSourceSpecifier: &corev3.ConfigSource_ApiConfigSource{ApiConfigSource: &corev3.ApiConfigSource{
			ApiType: corev3.ApiConfigSource_GRPC, TransportApiVersion: corev3.ApiVersion_V3, SetNodeOnFirstMessageOnly: true,
			GrpcServices: []*corev3.GrpcService{envoy.ByGRPC(naming.SidecarCluster)},
		}},
	}
}

// Parameters are the versions and ciphers of TLS. Clients stop at 1.2 unless a policy says
// otherwise: there a server that refuses their certificate says so in the handshake, before
// the request is out (spec/identity.md 0, F5).
func Parameters(p policies.TLSParameters, client bool) *tlsv3.TlsParameters {
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
func RenderIdentity(mesh string, chain, key []byte) *resource.Resource {
	r := resource.New(naming.IdentitySecret(mesh), bootstrap.WorkloadSecret(naming.IdentitySecret(mesh), chain, key))
	r.Version = resource.VersionOf(chain)
	return r
}

// Proves is the certificate by which a workload of the mesh says who it is.
func Proves(mesh string, overControlPlane bool) []*tlsv3.SdsSecretConfig {
	return []*tlsv3.SdsSecretConfig{{Name: naming.IdentitySecret(mesh), SdsConfig: identitySource(overControlPlane)}}
}

// Trusting is whom to believe, by the name of RenderTrust.
func Trusting(name string) *tlsv3.SdsSecretConfig {
	return &tlsv3.SdsSecretConfig{Name: name, SdsConfig: envoy.OverADS(Wait)}
}

// RenderCertificate renders a certificate, once for as long as it lasts.
func RenderCertificate(u effective.SecretUse) *resource.Resource {
	return u.Cache.Do(func() any {
		return resource.New(u.Name, &tlsv3.Secret{Name: u.Name, Type: &tlsv3.Secret_TlsCertificate{
			TlsCertificate: &tlsv3.TlsCertificate{CertificateChain: bootstrap.Inline(u.Chain), PrivateKey: bootstrap.Inline(u.Key)},
		}})
	}).(*resource.Resource)
}

// RenderTrust is whom proxies believe: in each trust domain its own authorities alone (F1).
// Where nobody speaks for one nobody is believed.
func RenderTrust(u effective.TrustUse) *resource.Resource {
	return u.Cache.Do(func() any {
		validator := &tlsv3.SPIFFECertValidatorConfig{}
		for _, d := range u.Domains {
			bundle := []byte(Nobody)
			if len(d.Roots) > 0 {
				bundle = nil
			}
			for _, root := range d.Roots {
				bundle = append(bundle, certificatePEM(root)...)
			}
			validator.TrustDomains = append(validator.TrustDomains, &tlsv3.SPIFFECertValidatorConfig_TrustDomain{Name: d.Name, TrustBundle: bootstrap.Inline(bundle)})
		}
		return resource.New(u.Name, &tlsv3.Secret{Name: u.Name, Type: &tlsv3.Secret_ValidationContext{ValidationContext: &tlsv3.CertificateValidationContext{
			CustomValidatorConfig: &corev3.TypedExtensionConfig{Name: "envoy.tls.cert_validator.spiffe", TypedConfig: envoy.Pack(validator)},
		}}})
	}).(*resource.Resource)
}

// certificatePEM is a certificate as a bundle holds it.
func certificatePEM(der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

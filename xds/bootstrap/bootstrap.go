// Package bootstrap is what the bootstrap of an Envoy, which package xds renders, and the agent
// that starts this Envoy agree on: a runtime key, and the secrets that the agent writes or serves.
// It knows nothing of policies or routes, so that the agent does without them.
package bootstrap

import (
	"encoding/json"
	"fmt"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
)

// RegexBudgetKey is the runtime key without which Envoy refuses ordinary
// regular expressions; the agent refuses a bootstrap that lacks it.
const RegexBudgetKey = "re2.max_program_size.error_level"

const (
	// DataplaneToken is the secret by which a sidecar says who it is.
	DataplaneToken = "dataplane_token"
	// ControlPlaneCA is the secret by which a sidecar knows its control plane.
	ControlPlaneCA = "control_plane_ca"
)

// TokenFile is the content of the file of BootstrapConfig.TokenPath: the token
// as a secret that Envoy reads again whenever another file takes its place.
func TokenFile(token string) ([]byte, error) {
	return secretFile(&tlsv3.Secret{Name: DataplaneToken, Type: &tlsv3.Secret_GenericSecret{GenericSecret: &tlsv3.GenericSecret{Secret: InlineText("Bearer " + token)}}})
}

// CAFile is the content of the file of BootstrapConfig.CAPath: authorities in PEM, which
// Envoy reads again likewise.
func CAFile(pem string) ([]byte, error) {
	return secretFile(&tlsv3.Secret{Name: ControlPlaneCA, Type: &tlsv3.Secret_ValidationContext{ValidationContext: &tlsv3.CertificateValidationContext{TrustedCa: InlineText(pem)}}})
}

// WorkloadSecret is the certificate of a workload, in PEM the leaf first, with its key.
func WorkloadSecret(name string, chain, key []byte) *tlsv3.Secret {
	return &tlsv3.Secret{Name: name, Type: &tlsv3.Secret_TlsCertificate{TlsCertificate: &tlsv3.TlsCertificate{CertificateChain: Inline(chain), PrivateKey: Inline(key)}}}
}

// Inline is bytes as a source of data.
func Inline(b []byte) *corev3.DataSource {
	return &corev3.DataSource{Specifier: &corev3.DataSource_InlineBytes{InlineBytes: b}}
}

// InlineText is a text as a source of data.
func InlineText(text string) *corev3.DataSource {
	return &corev3.DataSource{Specifier: &corev3.DataSource_InlineString{InlineString: text}}
}

// secretFile is a file of one secret.
func secretFile(secret *tlsv3.Secret) ([]byte, error) {
	packed := new(anypb.Any)
	if err := anypb.MarshalFrom(packed, secret, proto.MarshalOptions{Deterministic: true}); err != nil {
		return nil, fmt.Errorf("encode %s: %w", secret.Name, err)
	}
	resource, err := protojson.MarshalOptions{UseProtoNames: true}.Marshal(packed)
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", secret.Name, err)
	}
	return json.Marshal(map[string]any{"resources": []json.RawMessage{resource}})
}

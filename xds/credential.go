package xds

import (
	"encoding/json"
	"fmt"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	injectorv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/credential_injector/v3"
	codecv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/upstream_codec/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	genericv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/http/injected_credentials/generic/v3"
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	"google.golang.org/protobuf/encoding/protojson"
)

// dataplaneToken is the secret by which a sidecar says who it is.
const dataplaneToken = "dataplane_token"

// controlPlaneCA is the secret by which a sidecar knows its control plane.
const controlPlaneCA = "control_plane_ca"

// TokenFile is the content of the file of BootstrapConfig.TokenPath: the token
// as a secret that Envoy reads again whenever another file takes its place.
func TokenFile(token string) ([]byte, error) {
	return secretFile(&tlsv3.Secret{Name: dataplaneToken, Type: &tlsv3.Secret_GenericSecret{GenericSecret: &tlsv3.GenericSecret{Secret: inlineText("Bearer " + token)}}})
}

// CAFile is the content of the file of BootstrapConfig.CAPath: authorities in PEM, which
// Envoy reads again likewise.
func CAFile(pem string) ([]byte, error) {
	return secretFile(&tlsv3.Secret{Name: controlPlaneCA, Type: &tlsv3.Secret_ValidationContext{ValidationContext: &tlsv3.CertificateValidationContext{TrustedCa: inlineText(pem)}}})
}

// secretFile is a file of one secret.
func secretFile(secret *tlsv3.Secret) ([]byte, error) {
	resource, err := protojson.MarshalOptions{UseProtoNames: true}.Marshal(Pack(secret))
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", secret.Name, err)
	}
	return json.Marshal(map[string]any{"resources": []json.RawMessage{resource}})
}

// fromFile is a secret of a file, read again whenever another file takes its place.
func fromFile(name, path string) *tlsv3.SdsSecretConfig {
	return &tlsv3.SdsSecretConfig{Name: name, SdsConfig: &corev3.ConfigSource{
		ResourceApiVersion: corev3.ApiVersion_V3,
		ConfigSourceSpecifier: &corev3.ConfigSource_PathConfigSource{
			PathConfigSource: &corev3.PathConfigSource{Path: path},
		},
	}}
}

func inlineText(text string) *corev3.DataSource {
	return &corev3.DataSource{Specifier: &corev3.DataSource_InlineString{InlineString: text}}
}

// injectToken adds the token of the file to each new stream, so that a stream
// that ends with its token comes back with the next one; initial metadata would
// hold the first token for as long as Envoy lives.
func injectToken(path string) []*hcmv3.HttpFilter {
	generic := &genericv3.Generic{Header: "authorization", Credential: fromFile(dataplaneToken, path)}
	injector := &injectorv3.CredentialInjector{Overwrite: true, Credential: &corev3.TypedExtensionConfig{
		Name: "envoy.http.injected_credentials.generic", TypedConfig: Pack(generic),
	}}
	return []*hcmv3.HttpFilter{
		{Name: "envoy.filters.http.credential_injector", ConfigType: &hcmv3.HttpFilter_TypedConfig{TypedConfig: Pack(injector)}},
		{Name: "envoy.filters.http.upstream_codec", ConfigType: &hcmv3.HttpFilter_TypedConfig{TypedConfig: Pack(&codecv3.UpstreamCodec{})}},
	}
}

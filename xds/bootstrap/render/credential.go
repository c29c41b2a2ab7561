package render

import (
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	injectorv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/credential_injector/v3"
	codecv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/upstream_codec/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	genericv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/http/injected_credentials/generic/v3"
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"

	"github.com/weftmesh/weft/xds/bootstrap"
	"github.com/weftmesh/weft/xds/envoy"
)

// fromFile is a secret of a file, read again whenever another file takes its place.
func fromFile(name, path string) *tlsv3.SdsSecretConfig {
	return &tlsv3.SdsSecretConfig{Name: name, SdsConfig: &corev3.ConfigSource{
		ResourceApiVersion: corev3.ApiVersion_V3,
		ConfigSourceSpecifier: &corev3.ConfigSource_PathConfigSource{
			PathConfigSource: &corev3.PathConfigSource{Path: path},
		},
	}}
}

// injectToken adds the token of the file to each new stream, so that a stream
// that ends with its token comes back with the next one; initial metadata would
// hold the first token for as long as Envoy lives.
func injectToken(path string) []*hcmv3.HttpFilter {
	generic := &genericv3.Generic{Header: "authorization", Credential: fromFile(bootstrap.DataplaneToken, path)}
	injector := &injectorv3.CredentialInjector{Overwrite: true, Credential: &corev3.TypedExtensionConfig{
		Name: "envoy.http.injected_credentials.generic", TypedConfig: envoy.Pack(generic),
	}}
	return []*hcmv3.HttpFilter{
		{Name: "envoy.filters.http.credential_injector", ConfigType: &hcmv3.HttpFilter_TypedConfig{TypedConfig: envoy.Pack(injector)}},
		{Name: "envoy.filters.http.upstream_codec", ConfigType: &hcmv3.HttpFilter_TypedConfig{TypedConfig: envoy.Pack(&codecv3.UpstreamCodec{})}},
	}
}

// Package render makes the file that an Envoy of weft starts with.
package render

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"time"

	bootstrapv3 "github.com/envoyproxy/go-control-plane/envoy/config/bootstrap/v3"
	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	caresv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/network/dns_resolver/cares/v3"
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	upstreamhttpv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/upstreams/http/v3"
	"github.com/hashicorp/go-multierror"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/weftmesh/weft/route/match"
	"github.com/weftmesh/weft/xds/bootstrap"
	"github.com/weftmesh/weft/xds/envoy"
	"github.com/weftmesh/weft/xds/naming"
	"github.com/weftmesh/weft/xds/secrets"
)

const (
	// RegexBudget is the size of an RE2 program that a sidecar of weft accepts.
	RegexBudget = match.RegexBudget

	adsCluster = "ads_cluster"
)

// Config is what an Envoy must know before it asks for anything.
type Config struct {
	Mesh, Name string // of the Dataplane
	Service    string // node cluster; default Name
	// XDSHost and XDSPort are where ADS is served.
	XDSHost string
	XDSPort uint32
	// XDSAddress is where Envoy finds XDSHost, for one that cannot resolve the name. It is
	// still known by its name. It needs a CA.
	XDSAddress string
	// CA is the authority of the control plane, in PEM; empty is plaintext.
	CA string
	// CAPath is the file, as bootstrap.CAFile makes it, that holds the authorities instead; those of
	// what takes its place are trusted from the next connection on.
	CAPath string
	// Token is sent with the stream; empty sends none.
	Token string
	// TokenPath is the file, as bootstrap.TokenFile makes it, that holds the token
	// instead; what takes its place is sent with the next stream.
	TokenPath string
	// StateOfTheWorld asks for the older protocol form instead of delta.
	StateOfTheWorld bool
	// AdminSocket is the path of a unix socket for Envoy's administration
	// interface. Where it is empty, AdminPort (0 is any) on loopback holds.
	AdminSocket string
	AdminPort   uint32
	// AgentSocket is the path of the unix socket at which the sidecar's agent serves the
	// certificate of the workload; empty where it has none.
	AgentSocket string
	// MetricsSocket is the path of the unix socket at which the agent serves metrics; empty where it serves
	// none.
	MetricsSocket string
	// MetricsCertificate and MetricsKey are the files of the certificate by which Envoy serves them; empty
	// where there is none.
	MetricsCertificate, MetricsKey string
	// SystemCA is the file of the authorities that the sidecar's host trusts.
	// Without it, external services that name no authority are not reachable by TLS.
	SystemCA string
	// Metadata is added to the node.
	Metadata map[string]any
}

// Validate reports everything that no Envoy could start with.
func (c Config) Validate() error {
	var errs *multierror.Error
	if c.Mesh == "" || c.Name == "" {
		errs = multierror.Append(errs, errors.New("bootstrap: mesh and name of the dataplane are required; give both"))
	}
	if c.XDSHost == "" || c.XDSPort == 0 || c.XDSPort > 65535 {
		errs = multierror.Append(errs, fmt.Errorf("bootstrap: %q:%d is not the address of a control plane; give a host and a port", c.XDSHost, c.XDSPort))
	}
	if c.XDSAddress != "" && (c.CA == "" || !envoy.IsIP(c.XDSAddress)) {
		errs = multierror.Append(errs, fmt.Errorf("bootstrap: %q does not stand for the control plane; give an IP address, and an authority by which it is known", c.XDSAddress))
	}
	if c.CA == "" && c.Token+c.TokenPath != "" && !loopback(c.XDSHost) {
		errs = multierror.Append(errs, errors.New("bootstrap: a token over plaintext would leave this host; give the control plane's authority"))
	}
	return errs.ErrorOrNil()
}

func loopback(host string) bool {
	a, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && a.IsLoopback()
}

// Bootstrap is the file that an Envoy of weft starts with, as JSON.
func Bootstrap(c Config) ([]byte, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	metadata, err := structpb.NewStruct(c.Metadata)
	if err != nil {
		return nil, fmt.Errorf("bootstrap: metadata: %w", err)
	}
	service := c.Service
	if service == "" {
		service = c.Name
	}
	b := &bootstrapv3.Bootstrap{
		Node:  &corev3.Node{Id: c.Mesh + "." + c.Name, Cluster: service, Metadata: metadata},
		Admin: c.admin(),
		StaticResources: &bootstrapv3.Bootstrap_StaticResources{
			Clusters: c.clusters(),
			Secrets:  c.secrets(),
		},
		DynamicResources: &bootstrapv3.Bootstrap_DynamicResources{
			AdsConfig: c.adsConfig(), CdsConfig: envoy.OverADS(0), LdsConfig: envoy.OverADS(0),
		},
		LayeredRuntime: &bootstrapv3.LayeredRuntime{Layers: []*bootstrapv3.RuntimeLayer{{
			Name: "weft",
			LayerSpecifier: &bootstrapv3.RuntimeLayer_StaticLayer{StaticLayer: &structpb.Struct{Fields: map[string]*structpb.Value{
				bootstrap.RegexBudgetKey: structpb.NewNumberValue(RegexBudget),
			}}},
		}, {
			Name:           "admin",
			LayerSpecifier: &bootstrapv3.RuntimeLayer_AdminLayer_{AdminLayer: &bootstrapv3.RuntimeLayer_AdminLayer{}},
		}}},
	}
	if b.TypedDnsResolverConfig, err = resolverOfNames(); err != nil {
		return nil, fmt.Errorf("bootstrap: %w", err)
	}
	if err := b.ValidateAll(); err != nil {
		return nil, fmt.Errorf("bootstrap: %w", err)
	}
	raw, err := protojson.MarshalOptions{UseProtoNames: true}.Marshal(b)
	if err != nil {
		return nil, fmt.Errorf("bootstrap: %w", err)
	}
	var out bytes.Buffer // protojson varies its spaces on purpose
	if err := json.Indent(&out, raw, "", "  "); err != nil {
		return nil, fmt.Errorf("bootstrap: %w", err)
	}
	out.WriteByte('\n')
	return out.Bytes(), nil
}

// resolverOfNames bounds how long Envoy asks for the addresses of an external service. It starts
// to serve only when each name was answered once or given up, which by its own bounds (5 s for
// the first of 4 tries) is some two minutes after its start where a nameserver is silent; by
// these it is under ten seconds. A name that was given up is asked for again at every refresh.
//
// Not waiting at all (wait_for_warm_on_init: false) would take a changed cluster into use before
// its name is resolved anew.
func resolverOfNames() (*corev3.TypedExtensionConfig, error) {
	config, err := anypb.New(&caresv3.CaresDnsResolverConfig{QueryTimeoutSeconds: wrapperspb.UInt64(2), QueryTries: wrapperspb.UInt32(2)})
	if err != nil {
		return nil, fmt.Errorf("encode the resolver of names: %w", err)
	}
	return &corev3.TypedExtensionConfig{Name: "envoy.network.dns_resolver.cares", TypedConfig: config}, nil
}

// clusters are those that an Envoy must know before it asks for others.
func (c Config) clusters() []*clusterv3.Cluster {
	out := []*clusterv3.Cluster{c.adsCluster()}
	if c.AgentSocket != "" {
		out = append(out, agentAt(c.AgentSocket))
	}
	if c.MetricsSocket != "" {
		out = append(out, metricsAt(c.MetricsSocket))
	}
	return out
}

func (c Config) admin() *bootstrapv3.Admin {
	if c.AdminSocket != "" {
		return &bootstrapv3.Admin{Address: &corev3.Address{Address: &corev3.Address_Pipe{Pipe: &corev3.Pipe{Path: c.AdminSocket}}}}
	}
	return &bootstrapv3.Admin{Address: envoy.Socket("127.0.0.1", c.AdminPort)}
}

func (c Config) adsConfig() *corev3.ApiConfigSource {
	service := &corev3.GrpcService{TargetSpecifier: &corev3.GrpcService_EnvoyGrpc_{EnvoyGrpc: &corev3.GrpcService_EnvoyGrpc{
		ClusterName: adsCluster,
		RetryPolicy: &corev3.RetryPolicy{RetryBackOff: &corev3.BackoffStrategy{
			BaseInterval: durationpb.New(250 * time.Millisecond), MaxInterval: durationpb.New(5 * time.Second),
		}},
	}}}
	if c.Token != "" && c.TokenPath == "" {
		service.InitialMetadata = []*corev3.HeaderValue{{Key: "authorization", Value: "Bearer " + c.Token}}
	}
	form := corev3.ApiConfigSource_DELTA_GRPC
	if c.StateOfTheWorld {
		form = corev3.ApiConfigSource_GRPC
	}
	return &corev3.ApiConfigSource{
		ApiType: form, TransportApiVersion: corev3.ApiVersion_V3,
		SetNodeOnFirstMessageOnly: true, GrpcServices: []*corev3.GrpcService{service},
	}
}

// adsCluster is the control plane. Pings find a half-open connection within 40
// seconds; the server must allow them at that rate.
func (c Config) adsCluster() *clusterv3.Cluster {
	options := &upstreamhttpv3.HttpProtocolOptions{UpstreamProtocolOptions: envoy.HTTP2Upstream(&corev3.KeepaliveSettings{
		Interval: durationpb.New(30 * time.Second), Timeout: durationpb.New(10 * time.Second),
	})}
	if c.TokenPath != "" {
		options.HttpFilters = injectToken(c.TokenPath)
	}
	cluster := &clusterv3.Cluster{
		Name:                          adsCluster,
		ConnectTimeout:                durationpb.New(2 * time.Second),
		ClusterDiscoveryType:          &clusterv3.Cluster_Type{Type: clusterv3.Cluster_STRICT_DNS},
		DnsLookupFamily:               clusterv3.Cluster_V4_PREFERRED,
		LoadAssignment:                envoy.Assignment(adsCluster, envoy.OneHost(cmp.Or(c.XDSAddress, c.XDSHost), c.XDSPort)),
		TypedExtensionProtocolOptions: envoy.ProtocolOptions(options),
		UpstreamConnectionOptions: &clusterv3.UpstreamConnectionOptions{TcpKeepalive: &corev3.TcpKeepalive{
			KeepaliveTime: wrapperspb.UInt32(10), KeepaliveInterval: wrapperspb.UInt32(5), KeepaliveProbes: wrapperspb.UInt32(2),
		}},
	}
	if envoy.IsIP(cmp.Or(c.XDSAddress, c.XDSHost)) {
		cluster.ClusterDiscoveryType = &clusterv3.Cluster_Type{Type: clusterv3.Cluster_STATIC}
	}
	if c.CA == "" {
		return cluster
	}
	name := c.XDSHost
	tls := &tlsv3.UpstreamTlsContext{CommonTlsContext: &tlsv3.CommonTlsContext{
		TlsParams:     &tlsv3.TlsParameters{TlsMinimumProtocolVersion: tlsv3.TlsParameters_TLSv1_2},
		AlpnProtocols: []string{"h2"},
	}}
	known := &tlsv3.CertificateValidationContext{MatchTypedSubjectAltNames: []*tlsv3.SubjectAltNameMatcher{envoy.SANMatcher(name, envoy.Exactly(name))}}
	if c.CAPath == "" {
		known.TrustedCa = bootstrap.InlineText(c.CA)
		tls.CommonTlsContext.ValidationContextType = &tlsv3.CommonTlsContext_ValidationContext{ValidationContext: known}
	} else {
		tls.CommonTlsContext.ValidationContextType = &tlsv3.CommonTlsContext_CombinedValidationContext{
			CombinedValidationContext: &tlsv3.CommonTlsContext_CombinedCertificateValidationContext{
				DefaultValidationContext: known, ValidationContextSdsSecretConfig: fromFile(bootstrap.ControlPlaneCA, c.CAPath),
			}}
	}
	if !envoy.IsIP(name) {
		tls.Sni = name
	}
	cluster.TransportSocket = envoy.TLSSocket(tls)
	return cluster
}

// secrets are those that listeners and clusters may name.
func (c Config) secrets() []*tlsv3.Secret {
	out := []*tlsv3.Secret{c.systemCA()}
	if c.MetricsCertificate != "" && c.MetricsKey != "" {
		out = append(out, &tlsv3.Secret{Name: naming.MetricsCertificate, Type: &tlsv3.Secret_TlsCertificate{
			TlsCertificate: &tlsv3.TlsCertificate{CertificateChain: file(c.MetricsCertificate), PrivateKey: file(c.MetricsKey)},
		}})
	}
	return out
}

func file(path string) *corev3.DataSource {
	return &corev3.DataSource{Specifier: &corev3.DataSource_Filename{Filename: path}}
}

func (c Config) systemCA() *tlsv3.Secret {
	source := file(c.SystemCA)
	if c.SystemCA == "" {
		source = &corev3.DataSource{Specifier: &corev3.DataSource_InlineString{InlineString: secrets.Nobody}}
	}
	return &tlsv3.Secret{Name: naming.SystemCA, Type: &tlsv3.Secret_ValidationContext{
		ValidationContext: &tlsv3.CertificateValidationContext{TrustedCa: source},
	}}
}

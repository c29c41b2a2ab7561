package xds

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	authzv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/ext_authz/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	upstreamhttpv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/upstreams/http/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/route"
)

// AuthorizationCluster is the name of the cluster of the authorization service, which
// no destination can have.
const AuthorizationCluster = "weft/authorization"

const (
	authorizationFilter = "weft.authorization"
	// authorizationTimeout is how long the service has to answer.
	authorizationTimeout = 2 * time.Second
	// authorizationFailed is what a request is answered where the service does not
	// answer: another status than that of what it refuses.
	authorizationFailed = typev3.StatusCode_ServiceUnavailable
)

// Authorizer is where sidecars find the authorization service: one that speaks Envoy's
// envoy.service.auth.v3 over gRPC without TLS.
type Authorizer struct {
	Host string
	Port uint32
}

// ParseAuthorizer reads grpc://HOST:PORT; nil of an empty text: there is no service.
func ParseAuthorizer(text string) (*Authorizer, error) {
	if text == "" {
		return nil, nil
	}
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "grpc" || u.Host == "" || "grpc://"+u.Host != text {
		return nil, fmt.Errorf("%q is no address of an authorization service; write grpc://HOST:PORT", api.Clip(text))
	}
	host, port, err := net.SplitHostPort(u.Host)
	n, bad := strconv.ParseUint(port, 10, 16)
	switch {
	case err != nil || bad != nil || n == 0:
		return nil, fmt.Errorf("%q has no port; write grpc://HOST:PORT", api.Clip(text))
	case !isIP(host) && api.ValidateHostname("", host) != nil:
		return nil, fmt.Errorf("%q has no host that sidecars can find; write an IP address or a name in lower case", api.Clip(text))
	}
	return &Authorizer{host, uint32(n)}, nil
}

// Cluster is the service as sidecars call it. Its circuit breaker is as wide as that
// of a destination: what it sheds is answered as if the service were down.
func (a *Authorizer) Cluster() *clusterv3.Cluster {
	out := &clusterv3.Cluster{
		Name:                          AuthorizationCluster,
		ConnectTimeout:                durationpb.New(authorizationTimeout),
		CircuitBreakers:               thresholds(),
		ClusterDiscoveryType:          &clusterv3.Cluster_Type{Type: clusterv3.Cluster_STATIC},
		LoadAssignment:                assignment(AuthorizationCluster, [][]hostPort{{{a.Host, a.Port}}}),
		TypedExtensionProtocolOptions: protocolOptions(&upstreamhttpv3.HttpProtocolOptions{UpstreamProtocolOptions: http2Upstream(nil)}),
	}
	if !isIP(a.Host) {
		out.ClusterDiscoveryType = &clusterv3.Cluster_Type{Type: clusterv3.Cluster_STRICT_DNS}
		out.DnsLookupFamily = clusterv3.Cluster_V4_PREFERRED
	}
	return out
}

// authorizer is in the connection managers of all hosts, also where there is no
// service: it acts only where a virtual host says so, so that the first route that asks
// changes no listener, and a route that asks is never open for want of the filter.
func authorizer() *hcmv3.HttpFilter {
	return &hcmv3.HttpFilter{Name: authorizationFilter, Disabled: true, ConfigType: &hcmv3.HttpFilter_TypedConfig{TypedConfig: Pack(&authzv3.ExtAuthz{
		Services: &authzv3.ExtAuthz_GrpcService{GrpcService: &corev3.GrpcService{
			TargetSpecifier: &corev3.GrpcService_EnvoyGrpc_{EnvoyGrpc: &corev3.GrpcService_EnvoyGrpc{ClusterName: AuthorizationCluster}},
			Timeout:         durationpb.New(authorizationTimeout),
		}},
		TransportApiVersion: corev3.ApiVersion_V3,
		StatusOnError:       &typev3.HttpStatus{Code: authorizationFailed},
	})}}
}

// authorize has out ask the service what the filters of its rule want.
func authorize(out *routev3.Route, filters []route.Filter) {
	list := route.Authorizations(filters)
	if len(list) == 0 {
		return
	}
	Configure(&out.TypedPerFilterConfig, authorizationFilter, &authzv3.ExtAuthzPerRoute{Override: &authzv3.ExtAuthzPerRoute_CheckSettings{
		CheckSettings: &authzv3.CheckSettings{ContextExtensions: questions(list)}}})
}

// questions are what the service is asked: of one check filter is its name, args the
// JSON array of its arguments. Of several the names are joined by arrows, and args is
// the array of their arrays: a service that knows single names alone knows none of these,
// and lets nothing pass for having read the first.
func questions(list []*route.Authorization) map[string]string {
	names, args := make([]string, len(list)), make([][]string, len(list))
	for i, a := range list {
		names[i], args[i] = a.Name, append([]string{}, a.Args...)
	}
	var all any = args
	if len(list) == 1 {
		all = args[0]
	}
	text, err := json.Marshal(all)
	if err != nil {
		panic(err) // of texts there is none
	}
	return map[string]string{"filter": strings.Join(names, " -> "), "args": string(text)}
}

// withAuthorization lets the routes of the host ask, if one does. Envoy decides which
// filters a request meets by the route that it has before its claims are known: so the
// filter is on for all routes of the host, and asks nothing where no route says what.
func withAuthorization(host *routev3.VirtualHost) {
	for _, r := range host.Routes {
		if r.TypedPerFilterConfig[authorizationFilter] == nil {
			continue
		}
		Configure(&host.TypedPerFilterConfig, authorizationFilter, &authzv3.ExtAuthzPerRoute{Override: &authzv3.ExtAuthzPerRoute_Disabled{Disabled: true}})
		return
	}
}

// errNobodyAsks refuses a route that must ask and is not on a host: the listeners of
// services have no filter that would.
var errNobodyAsks = errors.New("only routes on hosts ask the authorization service")

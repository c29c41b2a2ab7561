package envoytest

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"

	bootstrapv3 "github.com/envoyproxy/go-control-plane/envoy/config/bootstrap/v3"
	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/xds"
)

const (
	worldHeader   = "x-oracle-world"   // chooses the table
	routeHeader   = "x-oracle-route"   // in the answer: the route's name
	clusterHeader = "x-oracle-cluster" // in the answer: the cluster that the route chose
)

// Oracle is one real Envoy that holds many route tables, so that thousands of
// requests in hundreds of worlds cost one start. Every cluster is one echo
// backend, every mirror another; the answer names the route and the cluster
// that Envoy chose.
type Oracle struct {
	*Envoy
	Echo, Mirror *Backend
	t            testing.TB
	client       *http.Client
	asked        atomic.Uint64
}

// Question is one request.
type Question struct {
	Method  string
	Host    string
	Path    string // with the query, as it goes over the wire
	Headers http.Header
	// Script is what the backend does at each attempt: see ScriptHeader.
	Script string
}

// Answer is what Envoy did.
type Answer struct {
	Status  int
	Route   string // name of the route; empty where none matched
	Cluster string // that the route chose; empty where it chose none
	Headers http.Header
	Trailer http.Header
	// Attempts are the request as the backend got it, each time. The mirror has
	// its copies under ID, perhaps a moment later.
	Attempts []Seen
	ID       string
}

// NewOracle starts an Envoy with tables; the connection manager is the one that
// weft gives a sidecar for kinds. Table i is world i.
func NewOracle(t testing.TB, kinds []*policies.Kind, tables []*resolve.Table) *Oracle {
	t.Helper()
	o := &Oracle{t: t, Echo: StartBackend(t, "echo"), Mirror: StartBackend(t, "mirror")}
	listen, admin := Socket(t), Socket(t)
	static := &bootstrapv3.Bootstrap_StaticResources{
		Clusters:  []*clusterv3.Cluster{EchoCluster("echo", o.Echo), EchoCluster("mirror", o.Mirror)},
		Listeners: []*listenerv3.Listener{worlds(t, kinds, tables, listen)},
	}
	o.Envoy = Start(t, admin, JSON(t, Bootstrap(admin, static))).Ready()
	o.client = &http.Client{
		Timeout:       patience,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			DisableCompression: true, MaxIdleConnsPerHost: 16,
			DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
				return new(net.Dialer).DialContext(ctx, "unix", listen)
			},
		},
	}
	t.Cleanup(o.client.CloseIdleConnections)
	return o
}

// worlds is a listener of a sidecar whose routes are chosen by worldHeader.
func worlds(t testing.TB, kinds []*policies.Kind, tables []*resolve.Table, path string) *listenerv3.Listener {
	t.Helper()
	sidecar := &resolve.Resolved{
		Dataplane: &api.Object{Spec: &api.Dataplane{}},
		Outbounds: []*resolve.Outbound{{Address: "127.0.0.1", Port: 1, Destination: tables[0].Destination, Table: tables[0]}},
	}
	l := Listener(t, xds.NewRenderer(kinds).Render(sidecar).Listeners[0])
	l.Address = &corev3.Address{Address: &corev3.Address_Pipe{Pipe: &corev3.Pipe{Path: path}}}
	filter := l.FilterChains[0].Filters[len(l.FilterChains[0].Filters)-1]
	manager := &hcmv3.HttpConnectionManager{}
	if err := filter.GetTypedConfig().UnmarshalTo(manager); err != nil {
		t.Fatal(err)
	}
	list := &hcmv3.ScopedRouteConfigurationsList{}
	for i, table := range tables {
		config, _, _ := xds.RouteConfiguration(table)
		config.Name = "world " + strconv.Itoa(i)
		reveal(config)
		list.ScopedRouteConfigurations = append(list.ScopedRouteConfigurations, &routev3.ScopedRouteConfiguration{
			Name: config.Name, RouteConfiguration: config, Key: scopeKey(strconv.Itoa(i)),
		})
	}
	manager.RouteSpecifier = &hcmv3.HttpConnectionManager_ScopedRoutes{ScopedRoutes: &hcmv3.ScopedRoutes{
		Name:            "worlds",
		ScopeKeyBuilder: byHeader(worldHeader),
		ConfigSpecifier: &hcmv3.ScopedRoutes_ScopedRouteConfigurationsList{ScopedRouteConfigurationsList: list},
	}}
	packed, err := anypb.New(manager)
	if err != nil {
		t.Fatal(err)
	}
	filter.ConfigType = &listenerv3.Filter_TypedConfig{TypedConfig: packed}
	return l
}

func scopeKey(text string) *routev3.ScopedRouteConfiguration_Key {
	return &routev3.ScopedRouteConfiguration_Key{Fragments: []*routev3.ScopedRouteConfiguration_Key_Fragment{{
		Type: &routev3.ScopedRouteConfiguration_Key_Fragment_StringKey{StringKey: text},
	}}}
}

func byHeader(name string) *hcmv3.ScopedRoutes_ScopeKeyBuilder {
	return &hcmv3.ScopedRoutes_ScopeKeyBuilder{Fragments: []*hcmv3.ScopedRoutes_ScopeKeyBuilder_FragmentBuilder{{
		Type: &hcmv3.ScopedRoutes_ScopeKeyBuilder_FragmentBuilder_HeaderValueExtractor_{
			HeaderValueExtractor: &hcmv3.ScopedRoutes_ScopeKeyBuilder_FragmentBuilder_HeaderValueExtractor{
				Name:        name,
				ExtractType: &hcmv3.ScopedRoutes_ScopeKeyBuilder_FragmentBuilder_HeaderValueExtractor_Index{Index: 0},
			},
		},
	}}}
}

// reveal makes every route say what it chose, and every cluster the echo.
func reveal(config *routev3.RouteConfiguration) {
	for _, host := range config.VirtualHosts {
		for _, r := range host.Routes {
			r.ResponseHeadersToAdd = append(r.ResponseHeadersToAdd, says(routeHeader, r.Name))
			action := r.GetRoute()
			for _, m := range action.GetRequestMirrorPolicies() {
				m.Cluster = "mirror"
			}
			if name := action.GetCluster(); name != "" && name != xds.Unresolved {
				r.ResponseHeadersToAdd = append(r.ResponseHeadersToAdd, says(clusterHeader, name))
				action.ClusterSpecifier = &routev3.RouteAction_Cluster{Cluster: "echo"}
			}
			for _, c := range action.GetWeightedClusters().GetClusters() {
				if c.Name != xds.Unresolved {
					c.ResponseHeadersToAdd = append(c.ResponseHeadersToAdd, says(clusterHeader, c.Name))
					c.Name = "echo"
				}
			}
		}
	}
}

func says(name, value string) *corev3.HeaderValueOption {
	return &corev3.HeaderValueOption{
		Header:       &corev3.HeaderValue{Key: name, Value: value},
		AppendAction: corev3.HeaderValueOption_OVERWRITE_IF_EXISTS_OR_ADD,
	}
}

// Ask sends q into a world. Any number of goroutines may ask.
func (o *Oracle) Ask(world int, q Question) (*Answer, error) {
	id := strconv.FormatUint(o.asked.Add(1), 10)
	r, err := http.NewRequest(q.Method, "http://oracle", nil)
	if err != nil {
		return nil, err
	}
	r.URL = &url.URL{Scheme: "http", Host: "oracle", Opaque: q.Path}
	r.Host = q.Host
	r.Header = http.Header{"User-Agent": {""}} // Go adds its own to none
	for name, values := range q.Headers {
		for _, v := range values {
			r.Header.Add(name, v)
		}
	}
	r.Header.Set(worldHeader, strconv.Itoa(world))
	r.Header.Set(IDHeader, id)
	if q.Script != "" {
		r.Header.Set(ScriptHeader, q.Script)
	}
	resp, err := o.client.Do(r)
	if err != nil {
		return nil, fmt.Errorf("ask world %d %s %s: %w", world, q.Method, q.Path, err)
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		return nil, fmt.Errorf("ask world %d %s %s: %w", world, q.Method, q.Path, err)
	}
	a := &Answer{
		Status: resp.StatusCode, Route: resp.Header.Get(routeHeader), Cluster: resp.Header.Get(clusterHeader),
		Headers: resp.Header, Trailer: resp.Trailer, ID: id,
	}
	for _, name := range oracleHeaders {
		a.Headers.Del(name)
	}
	a.Attempts = clean(o.Echo.Seen(id))
	return a, nil
}

var oracleHeaders = []string{worldHeader, routeHeader, clusterHeader, IDHeader, ScriptHeader, NameHeader, "X-Echo-Attempt"}

// clean takes away what the oracle put into a request.
func clean(list []Seen) []Seen {
	return slices.Collect(func(yield func(Seen) bool) {
		for _, s := range list {
			for _, name := range oracleHeaders {
				s.Headers.Del(name)
			}
			if !yield(s) {
				return
			}
		}
	})
}

// Copies are what the mirror has got of the request with that id.
func (o *Oracle) Copies(id string) []Seen { return clean(o.Mirror.Seen(id)) }

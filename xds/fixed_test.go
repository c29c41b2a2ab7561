package xds_test

import (
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"strconv"
	"testing"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	"google.golang.org/protobuf/proto"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/internal/envoytest"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/route"
	"github.com/weftmesh/weft/route/match"
	"github.com/weftmesh/weft/xds/check"
	"github.com/weftmesh/weft/xds/envoy"
	"github.com/weftmesh/weft/xds/resource"
)

// fixedValues are values that the headers really have; of the others x is one.
var fixedValues = map[string]string{
	"connection": "close", "keep-alive": "timeout=5", "upgrade": "websocket", "transfer-encoding": "chunked", "te": "gzip", "content-length": "5",
}

// fixedCase is one header that weft does not let change, in a route of its own.
type fixedCase struct {
	name   string
	answer bool
}

// fixedCases are all of route.FixedHeaders.
func fixedCases() []fixedCase {
	var out []fixedCase
	for _, name := range slices.Sorted(maps.Keys(route.FixedHeaders)) {
		if route.FixedHeaders[name].Request != "" {
			out = append(out, fixedCase{name, false})
		}
		if route.FixedHeaders[name].Answer != "" {
			out = append(out, fixedCase{name, true})
		}
	}
	return out
}

func (c fixedCase) value() string {
	if v, ok := fixedValues[c.name]; ok {
		return v
	}
	return "x"
}

// change puts the change into r, past the checks that would keep it out. A date
// can be set, but not taken away.
func (c fixedCase) change(r *routev3.Route) {
	add := []*corev3.HeaderValueOption{envoy.HeaderOption(route.Header{Name: c.name, Value: c.value()}, corev3.HeaderValueOption_OVERWRITE_IF_EXISTS_OR_ADD)}
	switch {
	case c.name == "date":
		r.ResponseHeadersToRemove = []string{c.name}
	case c.answer:
		r.ResponseHeadersToAdd = add
	default:
		r.RequestHeadersToAdd = add
	}
}

// TestFixedHeadersInEnvoy: each header that weft does not let change is one that
// Envoy cannot change on the way from sidecar to sidecar.
func TestFixedHeadersInEnvoy(t *testing.T) {
	t.Parallel()
	app := envoytest.StartBackend(t, "app")
	in := &effective.Inbound{Address: "127.0.0.1", Port: envoytest.Port(t), ServiceAddress: app.Host, ServicePort: app.Port, Protocol: api.HTTP}
	hop := use("web:8080", web(), effective.Endpoint{Address: in.Address, Port: in.Port})
	hop.Cluster.HTTP2 = true
	var routes []*effective.Route
	for i := range fixedCases() {
		r := rule(strconv.Itoa(i), path(match.Equal, fmt.Sprintf("/%d", i)))
		r.Backends = []effective.Backend{to("web:8080", 1)}
		routes = append(routes, r)
	}
	r := sidecar(nil, []effective.ClusterUse{hop}, in)
	out := outbound(t, table(routes...), nil)
	r.Outbounds = []*effective.Outbound{out}
	state := renderer().Render(r)
	edit(t, state, "outbound:web:8080", func(host *routev3.VirtualHost) {
		for i, c := range fixedCases() {
			c.change(host.Routes[i])
			if err := check.Route(host.Routes[i]); err == nil {
				t.Errorf("%s: weft would send the change", c.name)
			}
		}
	})
	edit(t, state, "inbound:"+net.JoinHostPort(in.Address, fmt.Sprint(in.Port)), func(host *routev3.VirtualHost) {
		for i, c := range fixedCases() {
			if c.answer { // the caller's sidecar reads it by HTTP/2
				own := proto.CloneOf(host.Routes[len(host.Routes)-1])
				own.Match.PathSpecifier = &routev3.RouteMatch_Path{Path: fmt.Sprintf("/%d", i)}
				c.change(own)
				host.Routes = append([]*routev3.Route{own}, host.Routes...)
			}
		}
	})
	envoytest.Drive(t, state)
	client := &http.Client{Transport: &http.Transport{Protocols: new(http.Protocols)}}
	client.Transport.(*http.Transport).Protocols.SetUnencryptedHTTP2(true)
	for i, c := range fixedCases() {
		q, err := http.NewRequest("GET", fmt.Sprintf("http://127.0.0.1:%d/%d", out.Port, i), nil)
		if err != nil {
			t.Fatal(err)
		}
		q.Header.Set(envoytest.IDHeader, strconv.Itoa(i))
		resp, err := client.Do(q)
		if err == nil {
			_, err = io.Copy(io.Discard, resp.Body)
			_ = resp.Body.Close()
		}
		if c.happened(resp, err, app.Seen(strconv.Itoa(i))) {
			t.Errorf("%+v: Envoy changes it, so it need not be refused", c)
		}
		if refused := route.FixedHeaders[c.name].Request == route.FixedHeaders["connection"].Request; refused && !c.answer && resp.StatusCode != http.StatusBadGateway {
			t.Errorf("%+v: status %d, want 502", c, resp.StatusCode)
		}
	}
}

// edit changes the virtual host of a route configuration that was rendered.
func edit(t *testing.T, s *resource.State, name string, change func(*routev3.VirtualHost)) {
	t.Helper()
	rendered := find(t, s.Routes, name)
	config := envoytest.Open(t, rendered, &routev3.RouteConfiguration{})
	change(config.VirtualHosts[0])
	s.Routes[slices.IndexFunc(s.Routes, func(r *resource.Resource) bool { return r.Name == name })] = rendered.With(packed(t, config))
}

// happened reports whether the change was made, and did no harm.
func (c fixedCase) happened(resp *http.Response, err error, seen []envoytest.Seen) bool {
	switch {
	case err != nil || resp.StatusCode != 200 || len(seen) != 1:
		return false
	case c.name == "date":
		return len(resp.Header.Values(c.name)) == 0
	case c.answer:
		return resp.Header.Get(c.name) == c.value()
	}
	return seen[0].Headers.Get(c.name) == c.value()
}

package xds_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"

	bootstrapv3 "github.com/envoyproxy/go-control-plane/envoy/config/bootstrap/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	luav3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/lua/v3"
	routerv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/router/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"

	"github.com/weftmesh/weft/internal/envoytest"
	"github.com/weftmesh/weft/sim/wire"
	"github.com/weftmesh/weft/xds/envoy"
	"github.com/weftmesh/weft/xds/filters"
	"github.com/weftmesh/weft/xds/matchers"
)

// payloads are what tokens hold: what is a claim, what is none, and what is no JSON.
var payloads = []string{
	`{"iss":"https://accounts.google.com","n":1,"t":true,"o":{"iss":"inner"},"l":["iss"],"z":null}`,
	`{}`, ` {"a" : "b" } `, "\n\t{\"a\":\r\"b\"}\n", `{"a":"b"}x`, `{"a":"b"`, `{"a":"b",}`, `{,}`, `{"a"}`, `{a:"b"}`, `["a"]`, `"a"`, `null`, ``, `{"a":"b"}{}`,
	`{"a":"1","a":"2"}`, `{"a":"1","a":2}`, `{"":"x"}`, `{"a":""}`, `{"a":"\"\\\/\b\f\n\r\t"}`, `{"a":"\x"}`, `{"a":"\u00e9\u20AC\ud83d\ude00"}`,
	`{"a":"\ud83d"}`, `{"a":"\ude00\ud83d"}`, `{"a":"\ud83dx"}`, `{"a":"\ud83d\u0041"}`, `{"a":"\u12"}`, `{"a":"\u0000"}`, `{"a\u0000":"b","c":"d"}`,
	`{"é€😀":"é€😀"}`, "{\"a\":\"\x01\"}", "{\"a\":\"\xff\"}", "{\"a\":\"\xc0\x80\"}", "{\"a\":\"\xed\xa0\x80\"}", "{\"a\":\"\xf4\x90\x80\x80\"}", "{\"a\":\"\xe2\x82\"}",
	`{"n":01}`, `{"n":-0}`, `{"n":-}`, `{"n":1.}`, `{"n":.5}`, `{"n":1e}`, `{"n":1E+999,"a":"b"}`, `{"n":+1}`, `{"n":1.5e-3,"a":"b"}`, `{"t":tru}`, `{"t":trueish}`, `{"f":false,"a":"b"}`,
	`{"a":` + strings.Repeat("[", 31) + strings.Repeat("]", 31) + `,"b":"c"}`, `{"a":` + strings.Repeat("[", 32) + strings.Repeat("]", 32) + `,"b":"c"}`,
	`{"a":` + strings.Repeat("[", 30) + "1" + strings.Repeat("]", 30) + `,"b":"c"}`, `{"a":` + strings.Repeat("[", 31) + "1" + strings.Repeat("]", 31) + `,"b":"c"}`,
	`{"a":"` + strings.Repeat("x", 5000) + `"}`, `{"a":"` + strings.Repeat("x", 7000) + `"}`,
}

// authorizations are headers, most of them with a token.
func authorizations(n int) []string {
	token := func(payload string) string {
		return "Bearer e30." + base64.RawURLEncoding.EncodeToString([]byte(payload)) + ".x"
	}
	good := token(payloads[0])
	out := []string{
		"", "Bearer", "Bearer x", "Basic " + good[7:], "bearer " + good[7:], good + ".y", strings.TrimSuffix(good, ".x"), "Bearer  " + good[7:], good + ",",
		"Bearer ." + good[11:], strings.Replace(good, ".x", "=.x", 1), strings.Replace(good, ".x", "A.x", 1), "Bearer a.++++.b", "Bearer a.-_-_.b", "Bearer a..b",
	}
	for _, p := range payloads {
		out = append(out, token(p))
	}
	const spoilers = "{}[]\",:\\u0e1 \x00\xc3"
	d := rand.New(rand.NewPCG(1, 2))
	for range n { // one of them, spoiled
		p := []byte(payloads[d.IntN(len(payloads)-2)])
		for range d.IntN(3) {
			at := d.IntN(len(p) + 1)
			switch c := spoilers[d.IntN(len(spoilers))]; {
			case at == len(p):
				p = append(p, c)
			case d.IntN(2) == 0:
				p[at] = c
			default:
				p = append(p[:at:at], p[min(at+1+d.IntN(3), len(p)):]...)
			}
		}
		out = append(out, token(string(p)))
	}
	return out
}

// TestEnvoyReadsClaimsAsTheSimulator: a real Envoy with the script sets as dynamic
// metadata what sim reads of the same header, and nothing that a client says besides.
func TestEnvoyReadsClaimsAsTheSimulator(t *testing.T) {
	t.Parallel()
	filter := func(name string, m proto.Message) *hcmv3.HttpFilter {
		return &hcmv3.HttpFilter{Name: name, ConfigType: &hcmv3.HttpFilter_TypedConfig{TypedConfig: envoy.Pack(m)}}
	}
	answer := direct(200, matchers.Route(nil))
	answer.ResponseHeadersToAdd = []*corev3.HeaderValueOption{{Header: &corev3.HeaderValue{Key: "x-claims", Value: "%DYNAMIC_METADATA(" + matchers.ClaimsNamespace + ")%"}}}
	manager := &hcmv3.HttpConnectionManager{StatPrefix: "claims",
		HttpFilters: []*hcmv3.HttpFilter{
			filter("lua", &luav3.Lua{DefaultSourceCode: &corev3.DataSource{Specifier: &corev3.DataSource_InlineString{InlineString: filters.ReadClaims}}}),
			filter("router", &routerv3.Router{}),
		},
		RouteSpecifier: &hcmv3.HttpConnectionManager_RouteConfig{RouteConfig: &routev3.RouteConfiguration{
			VirtualHosts: []*routev3.VirtualHost{{Name: "all", Domains: []string{"*"}, Routes: []*routev3.Route{answer}}}}}}
	port, admin := envoytest.Port(t), envoytest.Socket(t)
	envoytest.Start(t, admin, envoytest.JSON(t, envoytest.Bootstrap(admin, &bootstrapv3.Bootstrap_StaticResources{Listeners: []*listenerv3.Listener{{
		Name: "claims",
		Address: &corev3.Address{Address: &corev3.Address_SocketAddress{SocketAddress: &corev3.SocketAddress{
			Address: "127.0.0.1", PortSpecifier: &corev3.SocketAddress_PortValue{PortValue: port}}}},
		FilterChains: []*listenerv3.FilterChain{{Filters: []*listenerv3.Filter{{
			Name: "http", ConfigType: &listenerv3.Filter_TypedConfig{TypedConfig: envoy.Pack(manager)}}}}},
	}}}))).Ready()
	found := 0
	for _, header := range authorizations(600) {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, fmt.Sprintf("http://127.0.0.1:%d/", port), nil)
		if err != nil {
			t.Fatal(err)
		}
		if header != "" {
			req.Header.Set("Authorization", header)
		}
		req.Header.Set("X-Claims", `{"forged":"yes"}`)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		want, got := wire.TokenClaims(header), map[string]string{}
		if text := resp.Header.Get("x-claims"); text != "" && text != "-" {
			if err := json.Unmarshal([]byte(text), &got); err != nil {
				t.Fatalf("%q: %v", text, err)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: sim (-) and Envoy (+):\n%s", header, diff)
		}
		if len(want) > 0 {
			found++
		}
	}
	if found < 50 {
		t.Errorf("only %d of the tokens have claims", found)
	}
}

package control_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/weftmesh/weft/internal/envoytest"
	"github.com/weftmesh/weft/sidecar/agent"
	signing "github.com/weftmesh/weft/xds/server/authority/workload"
)

// Requests of one round, so many a second, and how many rounds each of both has.
const (
	addedRate   = 500
	addedEach   = 1000
	addedRounds = 16
)

// BenchmarkMTLSLatency compares requests through two sidecars of a strict mesh with those through
// two Envoys whose configuration is written by hand: HTTP/1.1, mutual TLS of the same authority with
// the same versions, and nothing else. Rounds of both take turns, so that whatever else the machine
// does strikes both. Added is the p99 of weft, the middle one of its rounds, above that of the other
// (spec/identity.md 6: 5 % at most).
func BenchmarkMTLSLatency(b *testing.B) {
	app := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, "ok") }))
	b.Cleanup(app.Close)
	p := secure(b, discard())
	ways := map[string]uint32{"weft": p.strictPair(b, app)}
	ways["by_hand"], ways["by_hand_http1"] = p.byHand(b, app, "http2_protocol_options"), p.byHand(b, app, "http_protocol_options")
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}, Timeout: 10 * time.Second}
	for _, port := range ways {
		loaded(b, client, port) // connections are made
	}
	rounds := map[string][][]time.Duration{}
	for n := range addedRounds {
		turn := []string{"weft", "by_hand", "by_hand_http1"}
		if n%2 == 1 {
			slices.Reverse(turn)
		}
		for _, way := range turn {
			rounds[way] = append(rounds[way], loaded(b, client, ways[way]))
		}
	}
	at := func(way string, of float64) time.Duration {
		var all []time.Duration
		for _, r := range rounds[way] {
			all = append(all, r[int(float64(len(r)-1)*of)])
		}
		return middle(all)
	}
	for way := range ways {
		b.ReportMetric(milliseconds(at(way, 0.5)), "ms/p50_"+way)
		b.ReportMetric(milliseconds(at(way, 0.99)), "ms/p99_"+way)
	}
	b.ReportMetric(float64(at("weft", 0.5))/float64(at("by_hand", 0.5)), "ratio/p50")
	b.ReportMetric(float64(at("weft", 0.99))/float64(at("by_hand", 0.99)), "ratio/p99")
	b.ReportMetric(0, "ns/op")
}

// loaded sends the requests of a round at a constant rate, and says how long each took, the
// shortest first: from when it was due.
func loaded(b *testing.B, client *http.Client, port uint32) []time.Duration {
	b.Helper()
	url := fmt.Sprintf("http://127.0.0.1:%d/", port)
	took := make([]time.Duration, addedEach)
	var running sync.WaitGroup
	began := time.Now()
	for n := range addedEach {
		due := began.Add(time.Duration(n) * time.Second / addedRate)
		time.Sleep(time.Until(due))
		running.Go(func() {
			resp, err := client.Get(url)
			if err != nil {
				b.Error(err)
				return
			}
			defer resp.Body.Close()
			if text, _ := io.ReadAll(resp.Body); resp.StatusCode != http.StatusOK || string(text) != "ok" {
				b.Errorf("%d %s", resp.StatusCode, text)
			}
			took[n] = time.Since(due)
		})
	}
	running.Wait()
	slices.Sort(took)
	return took
}

// strictPair starts two sidecars of a strict mesh, of which one calls an app beside the other by
// the port that it returns.
func (p *plane) strictPair(b *testing.B, app *httptest.Server) (outbound uint32) {
	b.Helper()
	inbound, outbound := envoytest.Port(b), envoytest.Port(b)
	pair := fmt.Sprintf(`type: Dataplane
mesh: default
name: pay-1
networking: {address: 127.0.0.1, inbound: [{port: %d, servicePort: %d, tags: {kuma.io/service: payments, kuma.io/protocol: http}}]}
---
type: Dataplane
mesh: default
name: web-1
networking: {address: 127.0.0.1, inbound: [{port: %d, servicePort: 1, tags: {kuma.io/service: web, kuma.io/protocol: http}}], outbound: [{port: %d, tags: {kuma.io/service: payments}}]}
---
`, inbound, app.Listener.Addr().(*net.TCPAddr).Port, envoytest.Port(b), outbound)
	p.want(http.StatusOK, http.MethodPost, "/_apply", allowed+pair+fmt.Sprintf(mutual, "ca-1", `{name: ca-1, type: builtin}`))
	for _, name := range []string{"pay-1", "web-1"} {
		sidecarOf(b, p.XDS(), p.dir, name, p.dataplaneToken(name, ""), discard(), func(c *agent.Config) { c.Concurrency = 1 })
	}
	eventually(b, "both have certificates, and know it of each other", func() bool {
		return p.Reported("web-1") && p.Reported("pay-1") && p.InSync("web-1") && p.InSync("pay-1")
	})
	eventually(b, "they call each other by TLS", func() bool { return requested(b.Context(), outbound) == "ok" })
	return outbound
}

// byHand starts two Envoys with nothing but mutual TLS, by certificates of the authority of the
// mesh.
func (p *plane) byHand(b *testing.B, app *httptest.Server, protocol string) (outbound uint32) {
	b.Helper()
	inbound, outbound := envoytest.Port(b), envoytest.Port(b)
	root := p.trusted("mtls-default")[0]
	context := func(name, expects string) string {
		chain, key := p.certificateOf(b, name)
		return fmt.Sprintf(`tls_params: {tls_minimum_protocol_version: TLSv1_2, tls_maximum_protocol_version: TLSv1_2}, tls_certificates: [{certificate_chain: {inline_string: %q}, private_key: {inline_string: %q}}], validation_context: {trusted_ca: {inline_string: %q}, match_typed_subject_alt_names: [{san_type: URI, matcher: {exact: %q}}]}`,
			chain, key, root, expects)
	}
	front := byHandConfig(outbound, inbound, "127.0.0.1", "", fmt.Sprintf(`transport_socket: {name: tls, typed_config: {"@type": type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext, sni: payments, common_tls_context: {%s}}}`, context("web-1", "spiffe://default/payments")), protocol)
	back := byHandConfig(inbound, uint32(app.Listener.Addr().(*net.TCPAddr).Port), "127.0.0.1", fmt.Sprintf(`transport_socket: {name: tls, typed_config: {"@type": type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.DownstreamTlsContext, require_client_certificate: true, common_tls_context: {%s}}}`, context("pay-1", "spiffe://default/web")), "", "http_protocol_options")
	for _, conf := range []string{back, front} {
		admin := envoytest.Socket(b)
		text, err := yaml.YAMLToJSON([]byte(strings.ReplaceAll(conf, "ADMIN", admin)))
		if err != nil {
			b.Fatal(err)
		}
		envoytest.Start(b, admin, text).Ready()
	}
	eventually(b, "they call each other by TLS", func() bool { return requested(b.Context(), outbound) == "ok" })
	return outbound
}

// byHandConfig is the bootstrap of a proxy from one port to another.
func byHandConfig(from, to uint32, host, accepts, calls, protocol string) string {
	details := "forward_client_cert_details: SANITIZE_SET, set_current_client_cert_details: {uri: true},"
	if accepts == "" {
		details = ""
	}
	join := func(first, second string) string {
		if second == "" {
			return first
		}
		return first + ", " + second
	}
	listens := join(`filters: [{name: envoy.filters.network.http_connection_manager, typed_config: {"@type": type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager, stat_prefix: in, `+details+
		` route_config: {virtual_hosts: [{name: all, domains: ["*"], routes: [{match: {prefix: /}, route: {cluster: to, timeout: 0s}}]}]}, http_filters: [{name: envoy.filters.http.router, typed_config: {"@type": type.googleapis.com/envoy.extensions.filters.http.router.v3.Router}}]}}]`, accepts)
	cluster := join(fmt.Sprintf(`name: to, type: STATIC, connect_timeout: 5s, load_assignment: {cluster_name: to, endpoints: [{lb_endpoints: [{endpoint: {address: {socket_address: {address: %s, port_value: %d}}}}]}]}, typed_extension_protocol_options: {envoy.extensions.upstreams.http.v3.HttpProtocolOptions: {"@type": type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions, explicit_http_config: {%s: {}}}}`, host, to, protocol), calls)
	return fmt.Sprintf(`{node: {id: by-hand, cluster: by-hand}, admin: {address: {pipe: {path: "ADMIN"}}}, static_resources: {listeners: [{name: in, address: {socket_address: {address: 127.0.0.1, port_value: %d}}, filter_chains: [{%s}]}], clusters: [{%s}]}}`, from, listens, cluster)
}

// certificateOf has a key certified for a dataplane, as its agent would.
func (p *plane) certificateOf(b *testing.B, name string) (chain, key string) {
	b.Helper()
	private, err := signing.NewKey()
	if err != nil {
		b.Fatal(err)
	}
	request, err := signing.NewRequest(private)
	if err != nil {
		b.Fatal(err)
	}
	code, text := p.posted(p.dataplaneToken(name, ""), map[string]any{"mesh": "default", "name": name, "request": request})
	var answer struct{ Chain string }
	if err := json.Unmarshal([]byte(text), &answer); err != nil || code != http.StatusOK {
		b.Fatal(code, text)
	}
	pem, err := signing.KeyPEM(private)
	if err != nil {
		b.Fatal(err)
	}
	return answer.Chain, string(pem)
}

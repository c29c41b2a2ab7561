package metrics_test

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	dto "github.com/prometheus/client_model/go"
)

// serve is an application that tells its metrics, and its port.
func serve(t *testing.T, h http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	u, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	return u.Port()
}

func text(s string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, s) }
}

// about are the series of a family that are about a cluster.
func about(all map[string]*dto.MetricFamily, family, cluster string) (out []string) {
	for _, x := range series(all[family]) {
		if strings.Contains(x, "envoy_cluster_name="+cluster+",") || strings.Contains(x, "envoy_cluster_name="+cluster+" ") {
			out = append(out, x)
		}
	}
	return out
}

// TestProfiles: which of Envoy's figures there are follows the conf, and changes without another listener.
func TestProfiles(t *testing.T) {
	t.Parallel()
	const backends = `backends: [{type: Prometheus, prometheus: {port: PORT}}]`
	s := start(t, "{"+backends+"}")
	version := s.state.Listeners[len(s.state.Listeners)-1].Version
	const healthy, live = "envoy_cluster_membership_healthy", "envoy_server_live"
	basic := s.fetch()
	if got := about(basic, healthy, "live"); len(got) != 1 || !strings.HasPrefix(got[0], "mesh=default,dataplane=web-1,service=web,") {
		t.Errorf("the cluster of a service: %q", got)
	}
	if got := about(basic, healthy, "ads_cluster"); got != nil || basic[live] != nil {
		t.Errorf("what is no part of Basic: %q, %v", got, basic[live])
	}
	if basic["envoy_cluster_upstream_rq_time"] != nil {
		t.Error("a duration of requests that nobody sent")
	}
	for _, c := range []struct {
		conf      string
		has, lack []string
	}{
		{"{sidecar: {profiles: {appendProfiles: [{name: All}]}}, " + backends + "}", []string{live, healthy, "envoy_http_downstream_rq_xx"}, nil},
		{"{sidecar: {profiles: {appendProfiles: [{name: All}], exclude: [{type: Prefix, match: envoy_cluster}]}}, " + backends + "}", []string{live}, []string{healthy}},
		{"{sidecar: {profiles: {exclude: [{type: Regex, match: 'membership_.*y$'}], include: [{type: Exact, match: " + healthy + "}, {type: Contains, match: server_li}]}}, " + backends + "}", []string{live, healthy}, nil},
		{"{sidecar: {profiles: {appendProfiles: [{name: None}], include: [{type: Exact, match: " + live + "}]}}, " + backends + "}", []string{live}, []string{healthy, "envoy_http_downstream_rq_xx"}},
		{"{sidecar: {profiles: {appendProfiles: [{name: None}]}}, " + backends + "}", nil, []string{live, healthy}},
		{"{sidecar: {includeUnused: true}, " + backends + "}", []string{"envoy_cluster_upstream_rq_pending_overflow"}, []string{live}},
	} {
		s.tell(c.conf)
		if now := s.state.Listeners[len(s.state.Listeners)-1]; now.Version != version {
			t.Errorf("%s renews %s", c.conf, now.Name)
		}
		got := s.fetch()
		for _, name := range c.has {
			if got[name] == nil {
				t.Errorf("%s lacks %s", c.conf, name)
			}
		}
		for _, name := range c.lack {
			if got[name] != nil {
				t.Errorf("%s has %s", c.conf, name)
			}
		}
	}
}

// TestApplications: those that answer are told with labels that are theirs alone, and who does not spoils nothing.
func TestApplications(t *testing.T) {
	t.Parallel()
	one := serve(t, text("# HELP go_goroutines How many.\n# TYPE go_goroutines gauge\ngo_goroutines 7\n"+
		"# TYPE lies counter\nlies{mesh=\"other\",dataplane=\"bank-1\",service=\"bank\",application=\"bank\",exported_mesh=\"x\"} 1\n"+
		"weft_scrape_up{application=\"bank\"} 1\n# TYPE envoy_server_live counter\nenvoy_server_live 99\n"))
	two := serve(t, text("# TYPE go_goroutines gauge\ngo_goroutines 8\n# TYPE envoy_server_live gauge\nenvoy_server_live 3\n# TYPE h histogram\nh_bucket{le=\"1\"} 2\nh_bucket{le=\"+Inf\"} 3\nh_sum 4\nh_count 3\n"))
	broken := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "go_goroutines 5", http.StatusInternalServerError)
	})
	garbage := serve(t, text("{\"json\": true}"))
	away := serve(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://127.0.0.1:"+one+"/metrics", http.StatusFound)
	})
	huge := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		for i := range 1 << 20 {
			if _, err := fmt.Fprintf(w, "x%d 1\n", i); err != nil {
				return
			}
		}
	})
	conf := "{sidecar: {profiles: {appendProfiles: [{name: All}]}}, backends: [{type: Prometheus, prometheus: {port: PORT}}], applications: ["
	for _, x := range [][2]string{{"one", one}, {"two", two}, {"broken", broken}, {"garbage", garbage}, {"away", away}, {"huge", huge}} {
		conf += fmt.Sprintf("{name: %s, port: %s},", x[0], x[1])
	}
	s := start(t, conf+"{name: closed, port: 1}, {name: elsewhere, port: 80, address: 192.0.2.1}]}")
	got := s.fetch()
	const own = "mesh=default,dataplane=web-1,service=web,"
	goroutines := series(got["go_goroutines"])
	slices.Sort(goroutines)
	if want := []string{own + "application=one 7", own + "application=two 8"}; !slices.Equal(goroutines, want) {
		t.Errorf("%q, want %q", goroutines, want)
	}
	if want := []string{own + "application=one,exported_mesh=x,exported_exported_mesh=other,exported_dataplane=bank-1,exported_service=bank,exported_application=bank 1"}; !slices.Equal(series(got["lies"]), want) {
		t.Errorf("%q, want %q", series(got["lies"]), want)
	}
	if want := []string{"mesh=default,dataplane=web-1,service=web 1", own + "application=two 3"}; !slices.Equal(series(got["envoy_server_live"]), want) {
		t.Errorf("%q, want %q", series(got["envoy_server_live"]), want)
	}
	if h := got["h"].GetMetric(); len(h) != 1 || h[0].GetHistogram().GetSampleCount() != 3 {
		t.Errorf("%v", h)
	}
	up := series(got["weft_scrape_up"])
	if lost := series(got["weft_access_log_lines_lost_total"]); len(lost) != 1 || !strings.HasPrefix(lost[0], "mesh=default,dataplane=web-1,service=web") || !strings.HasSuffix(lost[0], " 7") {
		t.Errorf("lines that are lost: %q", lost)
	}
	slices.Sort(up)
	var want []string
	for _, name := range []string{"away", "broken", "closed", "garbage", "huge", "one", "two"} { // the one elsewhere is not asked at all
		value := 0
		if name == "one" || name == "two" {
			value = 1
		}
		want = append(want, fmt.Sprintf("%sapplication=%s %d", own, name, value))
	}
	if !slices.Equal(up, want) {
		t.Errorf("%q, want %q", up, want)
	}
}

// TestNothingElse: the port leads to metrics and to nothing else, whatever it is asked for.
func TestNothingElse(t *testing.T) {
	t.Parallel()
	s := start(t, "{backends: [{type: Prometheus, prometheus: {port: PORT, path: /envoy.service.secret.v3.SecretDiscoveryService/StreamSecrets}}]}")
	for _, path := range []string{"/", "/metrics", "/config_dump", "/stats/prometheus", "/quitquitquit", "/envoy.service.secret.v3.SecretDiscoveryService/"} {
		if status, text := s.get(path); status != http.StatusNotFound {
			t.Errorf("%s: %d %s", path, status, text)
		}
	}
	if status, text := s.get("/envoy.service.secret.v3.SecretDiscoveryService/StreamSecrets?x=y"); status != http.StatusOK || !strings.Contains(text, "# TYPE envoy_") {
		t.Errorf("%d %.200s", status, text)
	}
	resp, err := http.Post(fmt.Sprintf("http://127.0.0.1:%d/envoy.service.secret.v3.SecretDiscoveryService/StreamSecrets", s.port), "", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusMethodNotAllowed {
		t.Error(resp.Status)
	}
	s.tell("{backends: []}")
	if status, _ := s.get("/envoy.service.secret.v3.SecretDiscoveryService/StreamSecrets"); status != http.StatusServiceUnavailable {
		t.Errorf("of an agent that is to tell nobody anything: %d", status)
	}
}

// TestProvidedTLS: metrics are served by the certificate that the sidecar was given, and never in plain text.
func TestProvidedTLS(t *testing.T) {
	t.Parallel()
	s := start(t, "{backends: [{type: Prometheus, prometheus: {port: PORT, tls: {mode: ProvidedTLS}}}]}")
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(s.certificate)
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}}
	resp, err := client.Get(fmt.Sprintf("https://127.0.0.1:%d/metrics", s.port))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Error(resp.Status)
	}
	if resp, err := http.Get(fmt.Sprintf("http://127.0.0.1:%d/metrics", s.port)); err == nil {
		t.Errorf("in plain text: %s", resp.Status)
		resp.Body.Close()
	}
}

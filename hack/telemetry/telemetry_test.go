package telemetry

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

const toCollector = `
type: MeshOpenTelemetryBackend
mesh: default
name: all
spec: {endpoint: {address: 127.0.0.1, port: %[1]d}}
---
type: MeshAccessLog
mesh: default
name: all
spec:
  to: [{targetRef: {kind: Mesh}, default: {backends: [
    {type: OpenTelemetry, openTelemetry: {backendRef: {kind: MeshOpenTelemetryBackend, name: all}, body: '%%KUMA_SOURCE_SERVICE%%>%%KUMA_DESTINATION_SERVICE%% %%PATH(NQ)%%', attributes: [{key: code, value: '%%RESPONSE_CODE%%'}]}},
    {type: File, file: {path: /var/log/weft/calls.json, format: {type: Json, json: [{key: path, value: '%%PATH(NQ)%%'}, {key: code, value: '%%RESPONSE_CODE%%'}]}}}]}}]
---
type: MeshTrace
mesh: default
name: all
spec:
  default:
    backends: [{type: OpenTelemetry, openTelemetry: {backendRef: {kind: MeshOpenTelemetryBackend, name: all}}}]
    tags: [{name: team, literal: shop}, {name: who, header: {name: x-user, default: nobody}}]
---
type: MeshTrace
mesh: default
name: quiet
spec:
  targetRef: {kind: MeshHTTPRoute, name: quiet}
  default: {sampling: {random: 0}}
---
type: MeshMetric
mesh: default
name: all
spec:
  default:
    backends:
      - {type: OpenTelemetry, openTelemetry: {backendRef: {kind: MeshOpenTelemetryBackend, name: all}, refreshInterval: 1s}}
---
type: MeshMetric
mesh: default
name: frontend
spec:
  targetRef: {kind: Dataplane, name: frontend-1}
  default:
    backends:
      - {type: OpenTelemetry, openTelemetry: {backendRef: {kind: MeshOpenTelemetryBackend, name: all}, refreshInterval: 1s}}
      - {type: Prometheus, prometheus: {port: %[2]d}}
`

// TestCollector: the collector of OpenTelemetry has the lines, spans and figures of all sidecars, as policies
// say; Prometheus' parser reads what they serve.
func TestCollector(t *testing.T) {
	at, metrics := freePort(t), freePort(t)
	c := startCollector(t, at)
	m := startMesh(t, fmt.Sprintf(toCollector, at, metrics))
	for _, path := range []string{"/a?secret=1", "/quiet/b"} {
		if got := m.get(path); got != http.StatusOK {
			t.Fatalf("%s: %d", path, got)
		}
	}
	m.until("the lines of both requests", func() bool {
		return c.has("frontend>web /a mesh=default code=200") && c.has("frontend>web /quiet/b mesh=default code=200")
	})
	m.until("the lines in the file", func() bool {
		b, _ := os.ReadFile(filepath.Join(m.logs, "calls.json")) // there is none before the first line
		return strings.Contains(string(b), "{\"path\":\"/a\",\"code\":200}\n{\"path\":\"/quiet/b\",\"code\":200}\n")
	})
	m.until("figures of both sidecars", func() bool {
		return c.tells("envoy_cluster_upstream_rq_total", "frontend-1") && c.tells("envoy_cluster_upstream_rq_total", "web-1")
	})
	m.until("the spans of both sidecars", func() bool { return len(ofPath(c, "/a")) >= 2 })
	spans := ofPath(c, "/a")
	caller, called := spans[0], spans[1]
	if caller.service != "frontend" {
		caller, called = called, caller
	}
	if caller.service != "frontend" || called.service != "web" || caller.trace != called.trace || called.parent != caller.id || caller.kind != ptrace.SpanKindClient || called.kind != ptrace.SpanKindServer {
		t.Errorf("the caller's span is %v, the other %v", caller, called)
	}
	for _, s := range spans {
		if s.attributes["team"] != "shop" || s.attributes["who"] != "nobody" {
			t.Errorf("the tags of a span are %v", s.attributes)
		}
	}
	if quiet := ofPath(c, "/quiet/b"); len(quiet) > 0 {
		t.Errorf("a route that is not traced has %v", quiet)
	}
	readMetrics(t, metrics)
}

// ofPath are the spans of requests with a path.
func ofPath(c *collected, path string) (out []span) {
	for _, s := range c.spansOf("team", "shop") {
		if u, err := url.Parse(s.attributes["http.url"]); err == nil && u.Path == path {
			out = append(out, s)
		}
	}
	return out
}

// addressed is a name with a number of its own in it, such as that of a port.
var addressed = regexp.MustCompile(`_[0-9]+(_|$)`)

// readMetrics reads what sidecars serve as Prometheus does.
func readMetrics(t *testing.T, port int) {
	t.Helper()
	resp, err := http.Get(fmt.Sprintf("http://127.0.0.1:%d/metrics", port))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	p := expfmt.NewTextParser(model.UTF8Validation)
	families, err := p.TextToMetricFamilies(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	for name := range families {
		if addressed.MatchString(name) {
			t.Errorf("a part of an address or a name is in %s", name)
		}
	}
	for _, name := range []string{"envoy_cluster_upstream_rq_total", "envoy_http_downstream_rq_total", "envoy_vhost_route_upstream_rq_total", "weft_access_log_lines_lost_total"} {
		if families[name] == nil {
			t.Errorf("nobody serves %s", name)
		}
	}
}

const toZipkin = `
type: MeshTrace
mesh: default
name: all
spec:
  default:
    backends: [{type: Zipkin, zipkin: {url: 'http://127.0.0.1:%d/api/v2/spans', apiVersion: %s, sharedSpanContext: %v, traceId128bit: %v}}]
    tags: [{name: team, literal: shop}]
`

// zipkinSpan is one as Zipkin answers it.
type zipkinSpan struct {
	TraceID, ID, ParentID, Kind string
	LocalEndpoint               struct{ ServiceName string }
	Tags                        map[string]string
}

// TestZipkin: Zipkin's server has the spans of both sidecars as one trace, in each form that a policy can choose.
func TestZipkin(t *testing.T) {
	at := freePort(t)
	program(t, t.TempDir(), []string{"QUERY_PORT=" + fmt.Sprint(at), "STORAGE_TYPE=mem", "JAVA_TOOL_OPTIONS=-Xmx256m"}, "java", "-jar", need(t, "ZIPKIN"))
	m := startMesh(t, fmt.Sprintf(toZipkin, at, "httpJson", true, false))
	m.until("Zipkin serves", func() bool {
		resp, err := http.Get(fmt.Sprintf("http://127.0.0.1:%d/health", at))
		if err == nil {
			_ = resp.Body.Close()
		}
		return err == nil && resp.StatusCode == http.StatusOK
	})
	for i, form := range []struct {
		version      string
		shared, wide bool
	}{{"httpJson", true, false}, {"httpProto", false, true}} {
		path := fmt.Sprintf("/form-%d", i)
		m.apply(fmt.Sprintf(toZipkin, at, form.version, form.shared, form.wide))
		var trace []zipkinSpan
		m.until("the trace of "+path, func() bool {
			m.get(path)
			trace = traceOf(t, at, path, form.wide)
			return len(trace) >= 2
		})
		services := []string{trace[0].LocalEndpoint.ServiceName, trace[1].LocalEndpoint.ServiceName}
		slices.Sort(services)
		if !slices.Equal(services, []string{"frontend", "web"}) || trace[0].Tags["team"] != "shop" {
			t.Errorf("%s: %+v", path, trace)
		}
		if shared := trace[0].ID == trace[1].ID; shared != form.shared {
			t.Errorf("%s: both sides share a span: %v, want %v", path, shared, form.shared)
		}
	}
}

// traceOf is the newest trace of a path with the length of IDs; nil where there is none.
func traceOf(t *testing.T, port int, path string, wide bool) []zipkinSpan {
	t.Helper()
	resp, err := http.Get(fmt.Sprintf("http://127.0.0.1:%d/api/v2/traces?limit=100&annotationQuery=team%%3Dshop", port))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var all [][]zipkinSpan
	if err := json.NewDecoder(resp.Body).Decode(&all); err != nil {
		t.Fatal(err)
	}
	for _, trace := range all {
		if strings.HasSuffix(trace[0].Tags["http.url"], path) && (len(trace[0].TraceID) == 32) == wide && len(trace) == 2 {
			return trace
		}
	}
	return nil
}

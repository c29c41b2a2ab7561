package deploy_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/control/traffic"
	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/sidecar/attach"
)

const called = `
{type: Mesh, name: default}
---
{type: Dataplane, mesh: default, name: front-1, networking: {address: 10.0.0.1, inbound: [{port: 80, tags: {kuma.io/service: front, kuma.io/protocol: http}}], outbound: [{port: 10001, tags: {kuma.io/service: web}}]}}
---
{type: Dataplane, mesh: default, name: web-1, networking: {address: 10.0.0.2, inbound: [{port: 80, tags: {kuma.io/service: web, kuma.io/protocol: http}}]}}
`

// served are the metrics of traffic by name with their labels, as Prometheus' parser reads them of a control plane
// to which a sidecar reported.
func served(t *testing.T) map[string][]string {
	t.Helper()
	objects, violations := world.Decode("docs", []byte(called))
	if len(violations) > 0 {
		t.Fatal(violations)
	}
	m, _ := world.Compile(world.Snapshot(objects...))
	c := traffic.New(func(ref api.Ref) (*effective.Resolved, bool) { return m.Dataplane(ref) }, time.Now, traffic.Often, func(time.Duration) {})
	c.KeepTotals()
	front, _ := m.Dataplane(api.Ref{Kind: api.KindDataplane, Mesh: "default", Name: "front-1"})
	slot := uint32(front.CalledAs("web").Table.Slots()[0])
	c.Stream(front.Ref)(&attach.Traffic{Milliseconds: 10_000, Tables: []*attach.Table{{Number: 1, Name: "web", Slots: []*attach.Slot{{Slot: slot, Completed: 1, Durations: []uint32{1}, Causes: []*attach.Cause{{Flags: "UF", Count: 1}}}}}}})
	w := httptest.NewRecorder()
	c.Series().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics/traffic", nil))
	out := map[string][]string{}
	for _, line := range strings.Split(w.Body.String(), "\n") { // names as they are: a histogram has several
		name, _, _ := strings.Cut(line, " ")
		name, _, _ = strings.Cut(name, "{")
		if name != "" && name != "#" {
			out[name] = []string{}
		}
	}
	p := expfmt.NewTextParser(model.LegacyValidation)
	families, err := p.TextToMetricFamilies(w.Body)
	if err != nil {
		t.Fatal(err)
	}
	for family, f := range families {
		labels := []string{}
		for _, l := range f.GetMetric()[0].GetLabel() {
			labels = append(labels, l.GetName())
		}
		for name := range out {
			if name == family || strings.HasPrefix(name, family+"_") && families[name] == nil {
				out[name] = labels
				if strings.HasSuffix(name, "_bucket") {
					out[name] = append(slices.Clone(labels), "le")
				}
			}
		}
	}
	return out
}

var (
	groupings = regexp.MustCompile(`by \(([a-z, ]+)\)`)
	variables = regexp.MustCompile(`\$([a-z]+)`)
	legends   = regexp.MustCompile(`{{([a-z]+)}}`)
)

// queries are held to what is served.
type queries struct {
	*testing.T
	known     map[string][]string
	variables []string
	asked     map[string]bool
}

func (q *queries) check(what, query string) {
	names := metricName.FindAllString(query, -1)
	for _, name := range names {
		q.asked[name] = true
		if q.known[name] == nil {
			q.Errorf("%s asks for %s, which is not served", what, name)
		}
	}
	for _, s := range selector.FindAllStringSubmatch(query, -1) {
		for _, l := range labelName.FindAllStringSubmatch(s[2], -1) {
			if l[1] != "job" && !slices.Contains(q.known[s[1]], l[1]) {
				q.Errorf("%s selects %s by %s, which it has not", what, s[1], l[1])
			}
		}
	}
	for _, l := range grouped(query) {
		for _, name := range names {
			if !slices.Contains(q.known[name], l) {
				q.Errorf("%s groups %s by %s, which it has not", what, name, l)
			}
		}
	}
	for _, v := range variables.FindAllStringSubmatch(query, -1) {
		if !slices.Contains(q.variables, v[1]) {
			q.Errorf("%s has a variable %s, which there is not", what, v[1])
		}
	}
}

// grouped are the labels by which a query groups.
func grouped(query string) (out []string) {
	for _, g := range groupings.FindAllStringSubmatch(query, -1) {
		out = append(out, strings.Split(g[1], ", ")...)
	}
	return out
}

// TestTheDashboardOfRequestsAsksForWhatIsServed: each query of it is of metrics and labels that a control plane
// serves, each variable is one that it has, and what a line is called by is what the query groups by.
func TestTheDashboardOfRequestsAsksForWhatIsServed(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("grafana/requests.json")
	if err != nil {
		t.Fatal(err)
	}
	var dashboard struct {
		Templating struct {
			List []struct{ Name, Query string }
		}
		Panels []struct {
			Type, Title string
			Targets     []struct{ Expr, LegendFormat string }
		}
	}
	if err := json.Unmarshal(text, &dashboard); err != nil {
		t.Fatal(err)
	}
	q := &queries{T: t, known: served(t), asked: map[string]bool{}}
	for _, v := range dashboard.Templating.List {
		q.variables = append(q.variables, v.Name)
		q.check("variable "+v.Name, v.Query)
	}
	for _, p := range dashboard.Panels {
		if p.Type != "row" && len(p.Targets) == 0 {
			t.Errorf("%s asks nothing", p.Title)
		}
		for _, x := range p.Targets {
			q.check(p.Title, x.Expr)
			for _, l := range legends.FindAllStringSubmatch(x.LegendFormat, -1) {
				if !slices.Contains(grouped(x.Expr), l[1]) {
					t.Errorf("%s calls lines by %s, by which it does not group", p.Title, l[1])
				}
			}
		}
	}
	for name := range q.known {
		if name != "weft_request_seconds_count" && !q.asked[name] {
			t.Errorf("nothing asks for %s", name)
		}
	}
}

package alerts

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/promql/parser"
	"sigs.k8s.io/yaml"
)

// labels are those of every metric of the page, by its name in queries.
func labels(t *testing.T) map[string][]string {
	t.Helper()
	page, err := os.ReadFile("../../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]string{"process_cpu_seconds_total": nil, "process_resident_memory_bytes": nil}
	row := regexp.MustCompile("(?m)^\\| `([a-z_]+)` \\| ([a-z]+) \\| (.*?) \\|")
	for _, m := range row.FindAllStringSubmatch(string(page), -1) {
		var names []string
		for _, name := range regexp.MustCompile("`([a-z_]+)`").FindAllStringSubmatch(m[3], -1) {
			names = append(names, name[1])
		}
		if m[2] == "histogram" {
			out[m[1]+"_bucket"], out[m[1]+"_sum"], out[m[1]+"_count"] = append([]string{"le"}, names...), names, names
			continue
		}
		out[m[1]] = names
	}
	if len(out) < 20 {
		t.Fatalf("%d metrics on the page", len(out))
	}
	return out
}

// targets are labels that Prometheus adds.
var targets = []string{"job", "instance", "pod"}

// check parses a query, and asks of each metric whether it is there with the labels by which
// it is selected, and of each grouping whether anything in it has the label.
func check(t *testing.T, known map[string][]string, what, query string) {
	t.Helper()
	expr, err := parser.NewParser(parser.Options{}).ParseExpr(query)
	if err != nil {
		t.Errorf("%s: %v", what, err)
		return
	}
	has := slices.Clone(targets)
	parser.Inspect(expr, func(n parser.Node, _ []parser.Node) error {
		s, ok := n.(*parser.VectorSelector)
		if !ok {
			return nil
		}
		all, ok := known[s.Name]
		if !ok {
			t.Errorf("%s asks for %s, which is no metric", what, s.Name)
		}
		has = append(has, all...)
		for _, m := range s.LabelMatchers {
			if m.Name != model.MetricNameLabel && !slices.Contains(targets, m.Name) && !slices.Contains(all, m.Name) {
				t.Errorf("%s selects %s by %s, which it has not", what, s.Name, m.Name)
			}
		}
		return nil
	})
	parser.Inspect(expr, func(n parser.Node, _ []parser.Node) error {
		if a, ok := n.(*parser.AggregateExpr); ok {
			for _, l := range a.Grouping {
				if !slices.Contains(has, l) {
					t.Errorf("%s groups by %s, which nothing has", what, l)
				}
			}
		}
		return nil
	})
}

func TestAlertsAreQueriesOfPrometheus(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../deploy/prometheus/weft.rules.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Groups []struct {
			Name  string
			Rules []struct {
				Alert, Expr, For    string
				Labels, Annotations map[string]string
			}
		}
	}
	if err := yaml.UnmarshalStrict(text, &file); err != nil {
		t.Fatal(err)
	}
	known, seen := labels(t), 0
	for _, g := range file.Groups {
		for _, r := range g.Rules {
			seen++
			check(t, known, r.Alert, r.Expr)
			if d, err := model.ParseDuration(r.For); err != nil || time.Duration(d) < time.Minute {
				t.Errorf("%s is for %q: %v", r.Alert, r.For, err)
			}
		}
	}
	if seen < 10 {
		t.Errorf("%d alerts", seen)
	}
}

func TestTheDashboardsAskPrometheus(t *testing.T) {
	t.Parallel()
	for file, least := range map[string]int{"weft.json": 20, "requests.json": 30} {
		text, err := os.ReadFile("../../deploy/grafana/" + file)
		if err != nil {
			t.Fatal(err)
		}
		var dashboard struct {
			Panels []struct {
				ID      int
				Title   string
				Targets []struct{ Expr string }
			}
		}
		if err := json.Unmarshal(text, &dashboard); err != nil {
			t.Fatal(err)
		}
		known, seen, ids := labels(t), 0, map[int]bool{}
		grafana := strings.NewReplacer("$__rate_interval", "5m", "$job", "weft")
		for _, p := range dashboard.Panels {
			if ids[p.ID] {
				t.Errorf("%s: two panels have the id %d", file, p.ID)
			}
			ids[p.ID] = true
			for _, x := range p.Targets {
				seen++
				check(t, known, file+": "+p.Title, grafana.Replace(x.Expr))
			}
		}
		if seen < least {
			t.Errorf("%s: %d queries", file, seen)
		}
	}
}

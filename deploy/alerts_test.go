package deploy_test

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/weftmesh/weft/control/install"
	"github.com/weftmesh/weft/control/telemetry"
)

type group struct {
	Name  string `json:"name"`
	Rules []struct {
		Alert       string            `json:"alert"`
		Expr        string            `json:"expr"`
		For         string            `json:"for"`
		Labels      map[string]string `json:"labels"`
		Annotations map[string]string `json:"annotations"`
	} `json:"rules"`
}

func alerts(t *testing.T) []group {
	t.Helper()
	text, err := os.ReadFile("prometheus/weft.rules.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Groups []group `json:"groups"`
	}
	if err := yaml.UnmarshalStrict(text, &file); err != nil {
		t.Fatal(err)
	}
	return file.Groups
}

var (
	metricName = regexp.MustCompile(`\bweft_[a-z_]+`)
	selector   = regexp.MustCompile(`\b(weft_[a-z_]+)\{([^}]*)\}`)
	labelName  = regexp.MustCompile(`([a-z_]+)\s*(?:=~|!~|!=|=)\s*"`)
)

// asked holds a query to the metrics that there are: their names, and the labels by which it
// selects. It answers how many it names.
func asked(t *testing.T, what, query string) int {
	t.Helper()
	known := map[string][]string{}
	for _, m := range telemetry.Everything() {
		known[m.Name] = m.Labels
		if m.Type == "histogram" {
			known[m.Name+"_bucket"], known[m.Name+"_count"], known[m.Name+"_sum"] = append([]string{"le"}, m.Labels...), m.Labels, m.Labels
		}
	}
	names := metricName.FindAllString(query, -1)
	for _, name := range names {
		if _, ok := known[name]; !ok {
			t.Errorf("%s asks for %s, which is no metric", what, name)
		}
	}
	for _, s := range selector.FindAllStringSubmatch(query, -1) {
		for _, l := range labelName.FindAllStringSubmatch(s[2], -1) {
			if name := l[1]; name != "job" && !slices.Contains(known[s[1]], name) {
				t.Errorf("%s selects %s by %s, which it has not", what, s[1], name)
			}
		}
	}
	return len(names)
}

// Every alert asks for metrics that there are, and its link leads to a section that says what
// to do.
func TestAlertsAskForMetricsThatThereAreAndSayWhatToDo(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, g := range alerts(t) {
		for _, r := range g.Rules {
			seen++
			if asked(t, r.Alert, r.Expr) == 0 {
				t.Errorf("%s asks for no metric", r.Alert)
			}
			_, after, ok := strings.Cut(string(page), "\n### "+r.Alert+"\n\n")
			if section, _, _ := strings.Cut(after, "\n#"); !ok || len(section) < 80 {
				t.Errorf("docs/operations.md has no section %s that says what to do", r.Alert)
			}
			if link := r.Annotations["runbook_url"]; !strings.HasSuffix(link, "docs/operations.md#"+strings.ToLower(r.Alert)) {
				t.Errorf("%s links to %s", r.Alert, link)
			}
			if r.For == "" || r.Labels["severity"] == "" || r.Annotations["summary"] == "" {
				t.Errorf("%s lacks for, severity or summary", r.Alert)
			}
		}
	}
	if seen < 10 {
		t.Errorf("%d alerts", seen)
	}
}

// The chart gives the Prometheus operator the same alerts as the file, and only when told to.
func TestTheChartHasTheSameAlerts(t *testing.T) {
	t.Parallel()
	for _, on := range []bool{false, true} {
		values, err := install.Read(nil, install.SetFlags{Words: fmt.Sprintf("prometheusRule=%v", on)})
		if err != nil {
			t.Fatal(err)
		}
		all, err := install.Render(install.Release{Namespace: "weft-system", Version: "1.0.0", Service: "Helm"}, values)
		if err != nil {
			t.Fatal(err)
		}
		found := false
		for _, m := range all {
			if m.Name != "prometheusrule.yaml" {
				continue
			}
			found = true
			var rule struct {
				Spec struct {
					Groups []group `json:"groups"`
				} `json:"spec"`
			}
			if err := yaml.Unmarshal(m.Text, &rule); err != nil {
				t.Fatal(err)
			}
			want, _ := json.Marshal(alerts(t))
			if got, _ := json.Marshal(rule.Spec.Groups); string(got) != string(want) {
				t.Errorf("the chart has\n%s\nthe file\n%s", got, want)
			}
		}
		if found != on {
			t.Errorf("prometheusRule %v: there are alerts: %v", on, found)
		}
	}
}

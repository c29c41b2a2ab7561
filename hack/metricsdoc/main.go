// Command metricsdoc writes the page of all metrics of a control plane.
package main

import (
	"flag"
	"fmt"
	"os"
	"strings"

	"github.com/weftmesh/weft/control/telemetry"
	"github.com/weftmesh/weft/inspect/traffic"
)

func main() {
	to := flag.String("to", "", "the page")
	flag.Parse()
	var b strings.Builder
	b.WriteString("# Metrics\n\nGenerated from control/telemetry. `GET /metrics` of a control plane answers these, and those of Go (`go_*`) and of its process (`process_*`). No label holds a name\n" +
		"that users give, so how many series there are depends on the program and not on the mesh. Alerts over them are in `deploy/prometheus`, a dashboard in\n`deploy/grafana`; [operations](operations.md#alerts) says what to do.\n\n" +
		"| metric | type | labels | |\n|---|---|---|---|\n")
	for _, m := range telemetry.Everything() {
		about := m.Help
		if m.Where != "" {
			about += " Only " + m.Where + "."
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", m.Name, m.Type, names(m.Labels), about)
	}
	b.WriteString("\n## Metrics of traffic\n\n`GET /metrics/traffic` answers these where the control plane has `--traffic-metrics`, to whom [traffic](traffic.md#for-prometheus) says. Their labels are names that users give. Each replica\n" +
		"serves what the sidecars told that are connected to it, so that a sum over replicas is that of all. A dashboard of them is in `deploy/grafana`.\n\n| metric | type | labels | |\n|---|---|---|---|\n")
	for _, f := range traffic.Families {
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", f.Name, f.Type, names(f.Labels), f.Help)
	}
	if err := os.WriteFile(*to, []byte(b.String()), 0o644); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func names(labels []string) string {
	if len(labels) == 0 {
		return ""
	}
	return "`" + strings.Join(labels, "`, `") + "`"
}

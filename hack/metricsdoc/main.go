// Command metricsdoc writes the page of all metrics of a control plane.
package main

import (
	"flag"
	"fmt"
	"os"
	"strings"

	"github.com/weftmesh/weft/control/telemetry"
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
		labels := ""
		if len(m.Labels) > 0 {
			labels = "`" + strings.Join(m.Labels, "`, `") + "`"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", m.Name, m.Type, labels, about)
	}
	if err := os.WriteFile(*to, []byte(b.String()), 0o644); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

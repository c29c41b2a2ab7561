package telemetryload

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/weftmesh/weft/internal/envoytest"
)

// manyRoutes is how many rules the routes of a service have; a table counts in 512 slots, so that some rules share
// one.
const manyRoutes = 1000

// BenchmarkMemory is what an Envoy with a table of 1,000 rules has allocated before any of them took a request, and
// after each has: what it keeps to count by rule it has from the first request on (spec/telemetry.md F1).
func BenchmarkMemory(b *testing.B) {
	p := build(b)
	api, xds := p.controlPlane(b)
	admin := envoytest.Port(b)
	s := newSidecar(b, p, api, xds, "default", workload(b), "--admin-port", fmt.Sprint(admin))
	post(b, "http://"+api+"/_apply", manyRules("default"))
	of := func(n int) string { return strings.Replace(s.url, "/v1/items", fmt.Sprintf("/only-%d", n), 1) }
	until(b, "the rules are there", func() bool { return status(of(manyRoutes-1)) == http.StatusNoContent })
	before := allocatedBy(b, admin)
	for n := range manyRoutes {
		if got := status(of(n)); got != http.StatusNoContent {
			b.Fatalf("rule %d answers %d", n, got)
		}
	}
	after := allocatedBy(b, admin)
	b.ReportMetric(before/(1<<20), "MiB/before")
	b.ReportMetric(after/(1<<20), "MiB/after")
	b.ReportMetric((after-before)/manyRoutes, "B/rule")
	b.ReportMetric(0, "ns/op")
}

// manyRules are routes whose rules take one path each.
func manyRules(mesh string) string {
	out := &strings.Builder{}
	for n := range manyRoutes {
		if n%250 == 0 {
			fmt.Fprintf(out, "---\ntype: MeshHTTPRoute\nmesh: %s\nname: many-%d\nspec:\n  to:\n    - targetRef: {kind: MeshService, name: app}\n      rules:\n", mesh, n)
		}
		fmt.Fprintf(out, "        - {matches: [{path: {type: Exact, value: /only-%d}}], default: {filters: [{type: URLRewrite, urlRewrite: {path: {type: ReplaceFullPath, replaceFullPath: /empty}}}]}}\n", n)
	}
	return out.String()
}

// allocatedBy is how many bytes an Envoy has allocated.
func allocatedBy(b *testing.B, admin uint32) float64 {
	b.Helper()
	resp, err := http.Get(fmt.Sprintf("http://127.0.0.1:%d/memory", admin))
	if err != nil {
		b.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	var said struct {
		Allocated json.Number `json:"allocated"`
	}
	if err != nil || json.Unmarshal(text, &said) != nil {
		b.Fatalf("%s %v", text, err)
	}
	n, err := said.Allocated.Float64()
	if err != nil {
		b.Fatal(err)
	}
	return n
}

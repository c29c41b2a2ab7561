package control_test

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/weftmesh/weft/api/decode"
	"github.com/weftmesh/weft/control"
	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/internal/worlds"
)

// answered are requests for every answer of the inspect API, by endpoint, in the mesh of
// package worlds: dp-5 calls 20 services, wide calls 1,000. A row that asks for everything at
// once, of which the text alone is megabytes, is called whole and stands beside the one that
// screens and commands ask; GET …/_rules is that of Kuma's shape (docs/decisions/answers.md).
var answered = map[string]string{
	"GET /": "/", "GET /_resources": "/_resources", "GET /policies": "/policies", "GET /config": "/config", "GET /who-am-i": "/who-am-i", "GET /metrics": "/metrics", "GET /metrics/traffic": "/metrics/traffic",
	"GET /_openapi.json": "/_openapi.json", "GET /_schemas/{kind}": "/_schemas/MeshRetry.json", "GET /healthz": "/healthz", "GET /readyz": "/readyz",
	"GET /tokens/revoked": "/tokens/revoked", "GET /_events": "/_events?recent=100&follow=false", "GET /_history": "/_history", "GET /_diff": "/_diff?from=REV",
	"GET /global-insight": "/global-insight", "GET /mesh-insights": "/mesh-insights", "GET /mesh-insights/{mesh}": "/mesh-insights/default",
	"GET /meshes/{mesh}/service-insights": "/meshes/default/service-insights", "GET /meshes/{mesh}/service-insights/{name}": "/meshes/default/service-insights/svc-5",
	"GET /meshes": "/meshes", "GET /meshes/{mesh}": "/meshes/default", "GET /{plural}": "/meshretries", "GET /{plural} by label": "/dataplanes?filter[labels.app]=svc-5", "GET /{plural}/{name}": "/hostnamegenerators/local",
	"GET /meshes/{mesh}/{plural}": "/meshes/default/meshservices", "GET /meshes/{mesh}/{plural} of policies": "/meshes/default/meshretries?size=1000", "GET /meshes/{mesh}/{plural}/{name}": "/meshes/default/meshretries/retry-5-1", "GET /_kri/{kri}": "/_kri/kri_mr_default_default__retry-5-1_",
	"GET /zones/_overview": "/zones/_overview", "GET /zoneingresses/_overview": "/zoneingresses/_overview", "GET /zoneegresses/_overview": "/zoneegresses/_overview",
	"GET /meshes/{mesh}/dataplanes/_overview": "/meshes/default/dataplanes/_overview", "GET /dataplanes/_overview": "/dataplanes/_overview?offset=9000", "GET /meshes/{mesh}/dataplanes+insights": "/meshes/default/dataplanes+insights", "GET /meshes/{mesh}/dataplanes+insights whole": "/meshes/default/dataplanes+insights?size=1000",
	"GET /meshes/{mesh}/dataplanes/{name}/_overview": "/meshes/default/dataplanes/dp-5/_overview", "GET /meshes/{mesh}/dataplanes+insights/{name}": "/meshes/default/dataplanes+insights/dp-5",
	"GET /meshes/{mesh}/_traffic":  "/meshes/default/_traffic?by=rule&window=15m",
	"GET /meshes/{mesh}/_requests": "/meshes/default/_requests",
	"GET /meshes/{mesh}/_sidecars": "/meshes/default/_sidecars", "GET /meshes/{mesh}/_sidecars by state": "/meshes/default/_sidecars?state=refusing", "GET /meshes/{mesh}/_sidecars by tag": "/meshes/default/_sidecars?tag=kuma.io/service:svc-99",
	"GET /meshes/{mesh}/{plural}/{name}/_dataplanes":           "/meshes/default/meshservices/svc-5/_dataplanes",
	"GET /meshes/{mesh}/{plural}/{name}/_hostnames":            "/meshes/default/meshservices/svc-5/_hostnames",
	"GET /meshes/{mesh}/{plural}/{name}/_resources/dataplanes": "/meshes/default/meshretries/everybody/_resources/dataplanes",
	"GET /meshes/{mesh}/{plural}/{name}/dataplanes":            "/meshes/default/meshretries/everybody/dataplanes",
	"GET /meshes/{mesh}/{plural}/{name}/_explain":              "/meshes/default/meshretries/retry-5-1/_explain",
	"GET /meshes/{mesh}/{plural}/{name}/_explain of everybody": "/meshes/default/meshretries/everybody/_explain",
	"GET /meshes/{mesh}/dataplanes/{name}/_rules":              "/meshes/default/dataplanes/dp-5/_rules", "GET /meshes/{mesh}/dataplanes/{name}/_rules wide whole": "/meshes/default/dataplanes/wide/_rules",
	"GET /meshes/{mesh}/dataplanes/{name}/rules": "/meshes/default/dataplanes/dp-5/rules", "GET /meshes/{mesh}/dataplanes/{name}/rules wide whole": "/meshes/default/dataplanes/wide/rules",
	"GET /meshes/{mesh}/dataplanes/{name}/policies": "/meshes/default/dataplanes/dp-5/policies", "GET /meshes/{mesh}/dataplanes/{name}/policies wide whole": "/meshes/default/dataplanes/wide/policies",
	"GET /meshes/{mesh}/dataplanes/{name}/_layout": "/meshes/default/dataplanes/dp-5/_layout", "GET /meshes/{mesh}/dataplanes/{name}/_layout wide": "/meshes/default/dataplanes/wide/_layout",
	"GET /meshes/{mesh}/dataplanes/{name}/_policies":                                  "/meshes/default/dataplanes/dp-5/_policies",
	"GET /meshes/{mesh}/dataplanes/{name}/_inbounds/{kri}/_policies":                  "/meshes/default/dataplanes/dp-5/_inbounds/kri_dp_default_default__dp-5_main/_policies",
	"GET /meshes/{mesh}/dataplanes/{name}/_outbounds/{kri}/_policies":                 "/meshes/default/dataplanes/dp-5/_outbounds/kri_msvc_default_default__svc-6_8080/_policies",
	"GET /meshes/{mesh}/dataplanes/{name}/_outbounds/{kri}/_routes":                   "/meshes/default/dataplanes/dp-5/_outbounds/kri_msvc_default_default__svc-6_8080/_routes",
	"GET /meshes/{mesh}/dataplanes/{name}/_outbounds/{kri}/_routes/{route}/_policies": "/meshes/default/dataplanes/dp-5/_outbounds/kri_msvc_default_default__svc-6_8080/_routes/kri_mhttpr_default_default__route-6-1_/_policies",
	"GET /meshes/{mesh}/dataplanes/{name}/_config":                                    "/meshes/default/dataplanes/dp-5/_config", "GET /meshes/{mesh}/dataplanes/{name}/_config shadow": "/meshes/default/dataplanes/dp-5/_config?shadow=true&include=diff",
	"GET /meshes/{mesh}/dataplanes/{name}/_explain": "/meshes/default/dataplanes/dp-5/_explain", "GET /meshes/{mesh}/dataplanes/{name}/_explain wide whole": "/meshes/default/dataplanes/wide/_explain",
	"GET /meshes/{mesh}/dataplanes/{name}/_explain brief": "/meshes/default/dataplanes/dp-5/_explain?brief=true", "GET /meshes/{mesh}/dataplanes/{name}/_explain brief wide whole": "/meshes/default/dataplanes/wide/_explain?brief=true", "GET /meshes/{mesh}/dataplanes/{name}/_explain to": "/meshes/default/dataplanes/wide/_explain?to=svc-7",
	"GET /meshes/{mesh}/dataplanes/{name}/_explain about": "/meshes/default/dataplanes/wide/_explain?about=MeshRetry/retry-5-1", "GET /meshes/{mesh}/dataplanes/{name}/_explain about everybody": "/meshes/default/dataplanes/wide/_explain?about=MeshRetry/everybody&size=25",
	"GET /meshes/{mesh}/dataplanes/{name}/xds": "/meshes/default/dataplanes/dp-5/xds",
	"GET /meshes/{mesh}/_status":               "/meshes/default/_status?size=100", "GET /meshes/{mesh}/_status whole": "/meshes/default/_status", "GET /_problems": "/_problems",
	"GET /meshes/{mesh}/_permissions":                 "/meshes/default/_permissions",
	"GET /meshes/{mesh}/_mtls":                        "/meshes/default/_mtls?size=100",
	"POST /meshes/{mesh}/dataplanes/{name}/_simulate": `/meshes/default/dataplanes/dp-5/_simulate {"url":"http://127.0.0.1:20000/v3/x"}`,
	"POST /_apply":                                    "/_apply?dryRun=true " + edited,
}

// edited is a policy of the mesh with another number.
const edited = `{"type":"MeshRetry","mesh":"default","name":"retry-5-1","spec":{"to":[{"targetRef":{"kind":"MeshHTTPRoute","name":"route-5-1"},"default":{"http":{"numRetries":9,"retryOn":["5xx"]}}}]}}`

// unanswered need what no benchmark has, such as an Envoy, or write.
var unanswered = map[string]bool{
	"GET /meshes/{mesh}/_authorities":            true,
	"GET /meshes/{mesh}/dataplanes/{name}/stats": true, "GET /meshes/{mesh}/dataplanes/{name}/clusters": true, "GET /meshes/{mesh}/dataplanes/{name}/_requests": true,
	"GET /meshes/{mesh}/_requests/{id}":          true, // of agents
	"GET /k8s/{group}/{version}/{plural}/{name}": true, "GET /k8s/{group}/{version}/namespaces/{namespace}/{plural}/{name}": true,
}

// answersWorld is what the mesh of the benchmark has beside services and their callers.
func answersWorld() string {
	var text strings.Builder
	text.WriteString(`{"type":"HostnameGenerator","name":"local","spec":{"template":"{{ .DisplayName }}.mesh.local","selector":{"meshService":{}}}}
---
{"type":"MeshRetry","mesh":"default","name":"everybody","spec":{"to":[{"targetRef":{"kind":"Mesh"},"default":{"http":{"numRetries":1}}}]}}
---
{"type":"MeshTimeout","mesh":"default","name":"a-shadow","labels":{"kuma.io/effect":"shadow"},"spec":{"to":[{"targetRef":{"kind":"Mesh"},"default":{"http":{"requestTimeout":"7s"}}}]}}
`)
	for i := range 300 { // each of them is a problem
		fmt.Fprintf(&text, "---\n"+`{"type":"MeshTimeout","mesh":"default","name":"lost-%d","spec":{"to":[{"targetRef":{"kind":"MeshService","name":"nobody-%d"},"default":{"idleTimeout":"7s"}}]}}`+"\n", i, i)
	}
	outs := ""
	for k := range 1000 {
		outs += fmt.Sprintf(`{"port":%d,"backendRef":{"kind":"MeshService","name":"svc-%d","port":8080}},`, 20000+k, k)
	}
	return text.String() + "---\n" + `{"type":"Dataplane","mesh":"default","name":"wide","networking":{"address":"127.2.0.1","inbound":[{"port":8080,"tags":{"kuma.io/service":"wide","kuma.io/protocol":"http"}}],"outbound":[` + outs[:len(outs)-1] + `]}}`
}

// BenchmarkAnswers asks a control plane of 10,000 connected sidecars everything that the inspect
// API answers, and of each the first answer after a policy changed: cpu-ms/op is what that needs,
// gc-ms/op what of it the garbage collector will, ms/op how long it takes. The sidecars are a process
// of their own. The bounds are in answerbounds_bench_test.go.
func BenchmarkAnswers(b *testing.B) {
	was := debug.SetGCPercent(200) // other than Go's, which has the control plane leave it alone
	b.Cleanup(func() { debug.SetGCPercent(was) })
	c := config(b)
	c.TrafficMetrics = true
	p := largeMesh(b, c)
	price := stopCollector(b)
	revision := get[struct{ Items []struct{ Revision uint64 } }](p, "/_history?size=1").Items[0].Revision
	each := func(b *testing.B, row func(b *testing.B, name, method, path, body string)) {
		for _, name := range slices.Sorted(maps.Keys(answered)) {
			method, _, _ := strings.Cut(name, " ")
			path, body, _ := strings.Cut(answered[name], " ")
			path = strings.ReplaceAll(path, "REV", fmt.Sprint(revision-1))
			b.Run(strings.ReplaceAll(name, " ", "_"), func(b *testing.B) { row(b, name, method, path, body) })
		}
	}
	b.Run("again", func(b *testing.B) {
		each(b, func(b *testing.B, name, method, path, body string) {
			p.measured(b, method, path, body) // what a revision is asked first is found out once
			var taken answerCost
			for b.Loop() {
				taken = append(taken, price.cost(b, p, method, path, body))
			}
			taken.report(b, dear[name])
		})
	})
	b.Run("first_after_a_changed_policy", func(b *testing.B) {
		each(b, func(b *testing.B, name, method, path, body string) {
			var taken answerCost
			for n := 0; b.Loop(); n++ { // once: without Loop all of it would be done for one iteration first
				if n < firstAnswers {
					p.changed(b, n)
					taken = append(taken, price.cost(b, p, method, path, body))
				}
			}
			taken.report(b, dear[name], dearFirst[name])
		})
	})
}

// largeMesh is a control plane of 10,000 connected sidecars and 1,000 services, with problems,
// and a change that sidecars have confirmed.
func largeMesh(b *testing.B, c control.Config) *plane {
	const planes = 10_000
	p := start(b, c)
	var text strings.Builder
	for _, o := range worlds.MeshOf(b, world.Catalog(), planes) {
		document, err := decode.PrintDocument(world.Catalog(), o)
		if err != nil {
			b.Fatal(err)
		}
		text.WriteString("---\n")
		text.Write(document)
		text.WriteString("\n")
	}
	p.post("/_apply", text.String())
	p.post("/_apply", answersWorld())
	sidecars := []fleetSidecar{{Name: "wide"}}
	for i := range planes {
		s := fleetSidecar{Name: fmt.Sprintf("dp-%d", i)}
		for k := range 3 { // as internal/worlds has them call
			s.Tables = append(s.Tables, fmt.Sprintf("svc-%d_8080", (i+k*7+1)%1000))
		}
		sidecars = append(sidecars, s)
	}
	p.allFollow(b, sidecars)
	p.post("/_apply", strings.Replace(edited, `"numRetries":9`, `"numRetries":8`, 1))
	return p
}

// TestEveryAnswerIsMeasured: an endpoint that answers questions has a row in the benchmark.
func TestEveryAnswerIsMeasured(t *testing.T) {
	t.Parallel()
	doc, err := described()
	if err != nil {
		t.Fatal(err)
	}
	for path, methods := range doc.Paths {
		name := "GET " + path
		if _, ok := methods["get"]; ok && answered[name] == "" && !unanswered[name] {
			t.Errorf("%s has no row in BenchmarkAnswers", name)
		}
	}
}

// cpu is what the process has used.
func cpu(b *testing.B) time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// measured asks once, and tells how long the answer is.
func (p *plane) measured(b *testing.B, method, path, body string) int {
	req, err := http.NewRequestWithContext(context.Background(), method, "http://"+p.API()+path, strings.NewReader(body))
	if err != nil {
		b.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		b.Fatal(err)
	}
	defer resp.Body.Close()
	n, err := io.Copy(io.Discard, resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		b.Fatalf("%s: %d %v", path, resp.StatusCode, err)
	}
	return int(n)
}

// post writes without judging the answer, which is long.
func (p *plane) post(path, body string) {
	p.t.Helper()
	req, err := http.NewRequest(http.MethodPost, "http://"+p.API()+path, strings.NewReader(body))
	if err != nil {
		p.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/yaml")
	if p.token != "" {
		req.Header.Set("Authorization", "Bearer "+p.token)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		p.t.Fatal(err)
	}
	defer resp.Body.Close()
	if text, _ := io.ReadAll(resp.Body); resp.StatusCode != http.StatusOK {
		p.t.Fatalf("%s: %d %.500s", path, resp.StatusCode, text)
	}
}

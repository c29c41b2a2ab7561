package convert_test

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/convert"
)

// around is a rule of a language as a document.
var around = map[string]string{
	"MeshHTTPRoute": `{type: MeshHTTPRoute, mesh: default, name: r, labels: {k8s.kuma.io/namespace: app}, spec: {to: [{targetRef: {kind: MeshService, name: web, namespace: app, sectionName: "80"}, rules: [%s]}]}}`,
	"HTTPRoute":     `{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: r, namespace: app}, spec: {parentRefs: [{name: gateway}], hostnames: [a.example.com], rules: [%s]}}`,
	"HTTPProxy":     `{apiVersion: projectcontour.io/v1, kind: HTTPProxy, metadata: {name: r, namespace: app}, spec: {virtualhost: {fqdn: a.example.com}, routes: [%s]}}`,
	"RouteGroup":    `{apiVersion: zalando.org/v1, kind: RouteGroup, metadata: {name: r, namespace: app}, spec: {hosts: [a.example.com], backends: [{name: web, type: service, serviceName: web, servicePort: 80}, {name: api, type: service, serviceName: api, servicePort: 80}, {name: no, type: shunt}], defaultBackends: [{backendName: web}], routes: [%s]}}`,
}

const (
	toWeb  = `backendRefs: [{name: web, port: 80}]`
	toKuma = `backendRefs: [{kind: MeshService, name: web, namespace: app, port: 80}]`
	webOf  = `services: [{name: web, port: 80}]`
)

// feature is one thing that rules say, in each language that has it.
type feature struct {
	name string
	in   map[string]string
}

var features = []feature{
	{"prefix rewrite", map[string]string{
		"MeshHTTPRoute": `{matches: [{path: {type: PathPrefix, value: /a}}], default: {filters: [{type: URLRewrite, urlRewrite: {path: {type: ReplacePrefixMatch, replacePrefixMatch: /b}}}], ` + toKuma + `}}`,
		"HTTPRoute":     `{matches: [{path: {value: /a}}], filters: [{type: URLRewrite, urlRewrite: {path: {type: ReplacePrefixMatch, replacePrefixMatch: /b}}}], ` + toWeb + `}`,
		"HTTPProxy":     `{conditions: [{prefix: /a}], pathRewritePolicy: {replacePrefix: [{replacement: /b}]}, ` + webOf + `}`,
		"RouteGroup":    `{pathSubtree: /a, filters: ['modPath("^/a", "/b")']}`}},
	{"full path rewrite", map[string]string{
		"MeshHTTPRoute": `{matches: [{path: {type: PathPrefix, value: /a}}], default: {filters: [{type: URLRewrite, urlRewrite: {path: {type: ReplaceFullPath, replaceFullPath: /b}}}], ` + toKuma + `}}`,
		"HTTPRoute":     `{matches: [{path: {value: /a}}], filters: [{type: URLRewrite, urlRewrite: {path: {type: ReplaceFullPath, replaceFullPath: /b}}}], ` + toWeb + `}`,
		"RouteGroup":    `{pathSubtree: /a, filters: ['setPath("/b")']}`}},
	{"host rewrite", map[string]string{
		"MeshHTTPRoute": `{matches: [{path: {type: PathPrefix, value: /a}}], default: {filters: [{type: URLRewrite, urlRewrite: {hostname: b.example.com}}], ` + toKuma + `}}`,
		"HTTPRoute":     `{matches: [{path: {value: /a}}], filters: [{type: URLRewrite, urlRewrite: {hostname: b.example.com}}], ` + toWeb + `}`,
		"HTTPProxy":     `{conditions: [{prefix: /a}], requestHeadersPolicy: {set: [{name: Host, value: b.example.com}]}, ` + webOf + `}`,
		"RouteGroup":    `{pathSubtree: /a, filters: ['setRequestHeader("Host", "b.example.com")']}`}},
	{"redirect", map[string]string{
		"MeshHTTPRoute": `{matches: [{path: {type: PathPrefix, value: /a}}], default: {filters: [{type: RequestRedirect, requestRedirect: {scheme: https, hostname: b.example.com, statusCode: 301}}]}}`,
		"HTTPRoute":     `{matches: [{path: {value: /a}}], filters: [{type: RequestRedirect, requestRedirect: {scheme: https, hostname: b.example.com, statusCode: 301}}]}`,
		"HTTPProxy":     `{conditions: [{prefix: /a}], requestRedirectPolicy: {scheme: https, hostname: b.example.com, statusCode: 301}}`,
		"RouteGroup":    `{pathSubtree: /a, filters: ['redirectTo(301, "https://b.example.com")'], backends: [{backendName: no}]}`}},
	{"headers", map[string]string{
		"MeshHTTPRoute": `{matches: [{path: {type: PathPrefix, value: /a}}], default: {filters: [{type: RequestHeaderModifier, requestHeaderModifier: {set: [{name: x-a, value: b}], remove: [x-c]}}, {type: ResponseHeaderModifier, responseHeaderModifier: {set: [{name: x-d, value: e}]}}], ` + toKuma + `}}`,
		"HTTPRoute":     `{matches: [{path: {value: /a}}], filters: [{type: RequestHeaderModifier, requestHeaderModifier: {set: [{name: x-a, value: b}], remove: [x-c]}}, {type: ResponseHeaderModifier, responseHeaderModifier: {set: [{name: x-d, value: e}]}}], ` + toWeb + `}`,
		"HTTPProxy":     `{conditions: [{prefix: /a}], requestHeadersPolicy: {set: [{name: x-a, value: b}], remove: [x-c]}, responseHeadersPolicy: {set: [{name: x-d, value: e}]}, ` + webOf + `}`,
		"RouteGroup":    `{pathSubtree: /a, filters: ['setRequestHeader("x-a", "b")', 'dropRequestHeader("x-c")', 'setResponseHeader("x-d", "e")']}`}},
	{"weights", map[string]string{
		"MeshHTTPRoute": `{matches: [{path: {type: PathPrefix, value: /}}], default: {backendRefs: [{kind: MeshService, name: web, namespace: app, port: 80, weight: 90}, {kind: MeshService, name: api, namespace: app, port: 80, weight: 10}]}}`,
		"HTTPRoute":     `{backendRefs: [{name: web, port: 80, weight: 90}, {name: api, port: 80, weight: 10}]}`,
		"HTTPProxy":     `{services: [{name: web, port: 80, weight: 90}, {name: api, port: 80, weight: 10}]}`,
		"RouteGroup":    `{pathSubtree: /, backends: [{backendName: web, weight: 90}, {backendName: api, weight: 10}]}`}},
	{"mirror", map[string]string{
		"MeshHTTPRoute": `{matches: [{path: {type: PathPrefix, value: /}}], default: {filters: [{type: RequestMirror, requestMirror: {percentage: 10, backendRef: {kind: MeshService, name: api, namespace: app, port: 80}}}], ` + toKuma + `}}`,
		"HTTPRoute":     `{filters: [{type: RequestMirror, requestMirror: {percent: 10, backendRef: {name: api, port: 80}}}], ` + toWeb + `}`,
		"HTTPProxy":     `{services: [{name: web, port: 80}, {name: api, port: 80, mirror: true, weight: 10}]}`}},
	{"timeout", map[string]string{
		"HTTPRoute":  `{timeouts: {request: 5s}, ` + toWeb + `}`,
		"HTTPProxy":  `{timeoutPolicy: {response: 5s}, ` + webOf + `}`,
		"RouteGroup": `{pathSubtree: /, filters: ['backendTimeout("5s")']}`}},
	{"retries", map[string]string{
		"HTTPRoute": `{retry: {attempts: 2, codes: [503]}, ` + toWeb + `}`,
		"HTTPProxy": `{retryPolicy: {count: 2, perTryTimeout: 1s}, ` + webOf + `}`}},
	{"session affinity", map[string]string{
		"HTTPProxy": `{loadBalancerPolicy: {strategy: RequestHash, requestHashPolicies: [{headerHashOptions: {headerName: x-user}}]}, ` + webOf + `}`}},
	{"query parameters", map[string]string{
		"MeshHTTPRoute": `{matches: [{queryParams: [{type: Exact, name: v, value: "1"}]}], default: {` + toKuma + `}}`,
		"HTTPRoute":     `{matches: [{queryParams: [{name: v, value: "1"}]}], ` + toWeb + `}`,
		"HTTPProxy":     `{conditions: [{prefix: /}, {queryParameter: {name: v, exact: "1"}}], ` + webOf + `}`,
		"RouteGroup":    `{pathSubtree: /, predicates: ['QueryParam("v", "^1$")']}`}},
	{"methods", map[string]string{
		"MeshHTTPRoute": `{matches: [{method: POST}], default: {` + toKuma + `}}`,
		"HTTPRoute":     `{matches: [{method: POST}], ` + toWeb + `}`,
		"HTTPProxy":     `{conditions: [{prefix: /}, {header: {name: ":method", exact: POST}}], ` + webOf + `}`,
		"RouteGroup":    `{pathSubtree: /, methods: [POST]}`}},
	{"CORS", map[string]string{
		"HTTPRoute": `{filters: [{type: CORS, cors: {allowOrigins: ["https://app.example.com"], allowMethods: [GET], maxAge: 600}}], ` + toWeb + `}`}},
}

// TestDirections: what comes of each feature in each direction is what the page says; -update
// writes it.
func TestDirections(t *testing.T) {
	t.Parallel()
	languages := []string{"MeshHTTPRoute", "HTTPRoute", "HTTPProxy", "RouteGroup"}
	var b strings.Builder
	for _, f := range features {
		for _, from := range languages {
			for _, to := range languages {
				if f.in[from] != "" && from != to {
					fmt.Fprintf(&b, "%s: %s -> %s: %s\n", f.name, from, to, f.outcome(t, from, to))
				}
			}
		}
	}
	const file = "testdata/directions.txt"
	want, err := os.ReadFile(file)
	if string(want) == b.String() {
		return
	}
	if u := flag.Lookup("update"); u != nil && u.Value.String() == "true" {
		if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	t.Errorf("%v\nwant\n%s\ngot\n%s", err, want, b.String())
}

// always are the codes of what differs between languages whatever rules say.
var always = []string{"PlaceDiffers", "UnmatchedDiffers", "WebSockets"}

// outcome is what comes of a feature: written, or what is left out or differs.
func (f *feature) outcome(t *testing.T, from, to string) string {
	t.Helper()
	objects, found := world.Decode(f.name, fmt.Appendf(nil, strings.ReplaceAll(around[from], "%s", "%[1]s"), f.in[from]))
	for _, v := range found {
		if v.Severity == api.Error {
			t.Fatalf("%s in %s: %v", f.name, from, v)
		}
	}
	result := convert.Objects(objects, convert.Options{Catalog: world.Catalog(), Dialects: world.Readable(), Kind: to, Host: "a.example.com", Edge: api.Ref{Name: "gateway"},
		Service: api.TargetRef{Kind: api.KindMeshService, Name: "web", Namespace: "app", SectionName: "80"}})
	var out []string
	for _, n := range result.Notes {
		if n.Severity == api.Error {
			out = append(out, "left out: "+n.Message)
		} else if n.Severity == api.Warning && !slices.Contains(always, n.Code) {
			out = append(out, "differs: "+n.Message)
		}
	}
	for _, o := range result.Objects {
		if o.Kind != to {
			out = append(out, "with a "+o.Kind)
		}
	}
	if len(out) == 0 {
		return "written"
	}
	slices.Sort(out)
	return strings.Join(slices.Compact(out), "; ")
}

package convert_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/decode"
	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/convert"
)

// shape is a document as people have it, and what is wanted of it in each language: parts of the
// text that is written, and the parts of paths or fields that are told to be left out.
type shape struct {
	name, text string
	// want is text that is in what is written, by the kind that is written.
	want map[string][]string
	// told is text of the only messages that say that something is left out.
	told map[string][]string
}

const (
	rewritingHTTPRoute = `{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: r, namespace: app}, spec: {parentRefs: [{name: gateway}], hostnames: [a.example.com], rules: [
  {matches: [{path: {type: PathPrefix, value: /group/api}}], filters: [{type: URLRewrite, urlRewrite: {path: {type: ReplacePrefixMatch, replacePrefixMatch: %s}}}], backendRefs: [{name: web, port: 80}]}]}}`
	rewritingHTTPProxy  = `{apiVersion: projectcontour.io/v1, kind: HTTPProxy, metadata: {name: r, namespace: app}, spec: {virtualhost: {fqdn: a.example.com}, routes: [{conditions: [{prefix: /group/api}], pathRewritePolicy: {replacePrefix: [{replacement: %s}]}, services: [{name: web, port: 80}]}]}}`
	rewritingRouteGroup = `{apiVersion: zalando.org/v1, kind: RouteGroup, metadata: {name: r, namespace: app}, spec: {hosts: [a.example.com], backends: [{name: web, type: service, serviceName: web, servicePort: 80}], defaultBackends: [{backendName: web}], routes: [{pathSubtree: /group/api, filters: ['modPath("^/group/api", "%s")']}]}}`
	includes            = `{apiVersion: projectcontour.io/v1, kind: HTTPProxy, metadata: {name: root, namespace: default}, spec: {virtualhost: {fqdn: a.example.com}, includes: [{name: blog, namespace: marketing, conditions: [{prefix: /blog}]}], routes: [{services: [{name: s1, port: 80}]}]}}
---
{apiVersion: projectcontour.io/v1, kind: HTTPProxy, metadata: {name: blog, namespace: marketing}, spec: {routes: [{services: [{name: s2, port: 80}]}]}}`
	grant = `
---
{apiVersion: gateway.networking.k8s.io/v1beta1, kind: ReferenceGrant, metadata: {name: g, namespace: marketing}, spec: {from: [{group: gateway.networking.k8s.io, kind: HTTPRoute, namespace: default}], to: [{group: "", kind: Service}]}}`
)

// shapes are what public documents have the most.
var shapes = []shape{
	{"a prefix of segments is replaced", fmt.Sprintf(rewritingHTTPRoute, "/api"),
		map[string][]string{"HTTPProxy": {"prefix: /group/api/", "replacement: /api"}, "RouteGroup": {"pathSubtree: /group/api", `modPath("^/group/api", "/api")`}, "MeshHTTPRoute": {"value: /group/api", "replacePrefixMatch: /api"}},
		map[string][]string{"HTTPProxy": {"the path /group/api itself"}}},
	{"a prefix of segments is taken away", fmt.Sprintf(rewritingHTTPRoute, "/"),
		map[string][]string{"HTTPProxy": {"prefix: /group/api/", "replacement: /"}, "RouteGroup": {"pathSubtree: /group/api", `modPath("^/group/api", "/")`}, "MeshHTTPRoute": {"replacePrefixMatch: /"}},
		map[string][]string{"HTTPProxy": {"the path /group/api itself"}}},
	{"a prefix of bytes is replaced", fmt.Sprintf(rewritingHTTPProxy, "/api"),
		map[string][]string{"HTTPRoute": {"type: PathPrefix", "value: /group/api", "replacePrefixMatch: /api"}, "RouteGroup": {`modPath("^/group/api", "/api")`}, "MeshHTTPRoute": {"replacePrefixMatch: /api"}},
		map[string][]string{"HTTPRoute": {"begin with /group/api and go on without a slash"}, "MeshHTTPRoute": {"go on without a slash"}}},
	{"a prefix of bytes is taken away", fmt.Sprintf(rewritingHTTPProxy, "/"),
		map[string][]string{"HTTPRoute": {"type: PathPrefix", "value: /group/api", "replacePrefixMatch: /"}, "RouteGroup": {`modPath("^/group/api/?", "/")`}, "MeshHTTPRoute": {"replacePrefixMatch: /"}},
		map[string][]string{"HTTPRoute": {"go on without a slash"}, "MeshHTTPRoute": {"go on without a slash"}}},
	{"a subtree is moved", fmt.Sprintf(rewritingRouteGroup, "/api"),
		map[string][]string{"HTTPRoute": {"value: /group/api", "replacePrefixMatch: /api"}, "HTTPProxy": {"prefix: /group/api/", "replacement: /api"}, "MeshHTTPRoute": {"replacePrefixMatch: /api"}},
		map[string][]string{"HTTPProxy": {"the path /group/api itself"}}},
	{"a subtree is taken away", fmt.Sprintf(rewritingRouteGroup, "/"),
		map[string][]string{"HTTPRoute": {"value: /group/api", "replacePrefixMatch: /"}, "HTTPProxy": {"prefix: /group/api/", "replacement: /"}, "MeshHTTPRoute": {"replacePrefixMatch: /"}},
		map[string][]string{"HTTPProxy": {"the path /group/api itself"}}},
	{"an origin is allowed for a host", `{apiVersion: projectcontour.io/v1, kind: HTTPProxy, metadata: {name: docs, namespace: app}, spec: {virtualhost: {fqdn: a.example.com, corsPolicy: {allowOrigin: ["https://app.example.com", "http://localhost:3000"], allowMethods: [GET], allowHeaders: [authorization], maxAge: 600s}}, routes: [{conditions: [{prefix: /documents}], services: [{name: web, port: 80}]}]}}`,
		map[string][]string{"HTTPRoute": {"allowOrigins:\n- https://app.example.com\n- http://localhost:3000"}}, nil},
	{"an origin is allowed by a rule", `{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: docs, namespace: app}, spec: {parentRefs: [{name: gateway}], hostnames: [a.example.com], rules: [{matches: [{path: {type: PathPrefix, value: /documents}}], filters: [{type: CORS, cors: {allowOrigins: ["https://app.example.com"], allowMethods: [GET, POST], allowHeaders: [Authorization], maxAge: 600}}], backendRefs: [{name: web, port: 80}]}]}}`,
		map[string][]string{"HTTPProxy": {"- https://app.example.com"}}, nil},
	{"a host has a certificate", `{apiVersion: projectcontour.io/v1, kind: HTTPProxy, metadata: {name: shop, namespace: shop}, spec: {virtualhost: {fqdn: shop.example.com, tls: {secretName: shop-tls}}, routes: [{conditions: [{prefix: /api}], services: [{name: api, port: 5000}]}, {conditions: [{prefix: /}], services: [{name: web, port: 80}]}]}}`,
		map[string][]string{"HTTPRoute": {"sectionName: https\nport: 443", "name: api\nport: 5000", "name: web\nport: 80", "sectionName: http\nport: 80", "scheme: https"}}, nil},
	{"a host has a certificate of another namespace", `{apiVersion: projectcontour.io/v1, kind: HTTPProxy, metadata: {name: shop, namespace: shop}, spec: {virtualhost: {fqdn: shop.example.com, tls: {secretName: certs/wild}}, routes: [{permitInsecure: true, services: [{name: web, port: 80}]}]}}`,
		map[string][]string{"HTTPRoute": {"sectionName: https\nport: 443", "sectionName: http\nport: 80", "name: web\nport: 80"}}, nil},
	{"another namespace is included, and lent", includes + grant,
		map[string][]string{"HTTPRoute": {"name: s2\nnamespace: marketing"}}, nil},
	{"another namespace is included, and not lent", includes, map[string][]string{"HTTPRoute": {"name: s1"}},
		map[string][]string{"HTTPRoute": {"no ReferenceGrant in namespace marketing lets HTTPRoutes of namespace default refer to"}}},
}

// flat is a document without indentation and quotes.
func flat(text string) string {
	lines := strings.Split(strings.ReplaceAll(text, `'`, ""), "\n")
	for i := range lines {
		lines[i] = strings.TrimSpace(lines[i])
	}
	return strings.Join(lines, "\n")
}

// TestShapesOfPublicDocuments: what people write the most comes out in the languages that can say
// it, and whatever is left out is told with what it is.
func TestShapesOfPublicDocuments(t *testing.T) {
	t.Parallel()
	for _, s := range shapes {
		for _, kind := range []string{"HTTPRoute", "HTTPProxy", "RouteGroup", "MeshHTTPRoute"} {
			if s.want[kind] == nil {
				continue
			}
			t.Run(s.name+" in "+kind, func(t *testing.T) {
				t.Parallel()
				s.check(t, kind)
			})
		}
	}
}

func (s *shape) check(t *testing.T, kind string) {
	t.Helper()
	objects, found := world.Decode("x.yaml", []byte(s.text))
	if len(found) > 0 {
		t.Fatal(found)
	}
	result := convert.Objects(objects, convert.Options{Catalog: world.Catalog(), Dialects: world.Readable(), Kind: kind, Edge: api.Ref{Name: "gateway"},
		Service: api.TargetRef{Kind: api.KindMeshService, Name: "web", Namespace: "app", SectionName: "80"}})
	text := ""
	for _, o := range result.Objects {
		out, err := decode.PrintYAML(world.Catalog(), o)
		if err != nil {
			t.Fatal(err)
		}
		text += "---\n" + string(out)
	}
	for _, want := range s.want[kind] {
		if !strings.Contains(flat(text), want) {
			t.Errorf("no %q in\n%s\n%s", want, text, strings.Join(messages(result.Notes), "\n"))
		}
	}
	for _, n := range result.Notes {
		if n.Severity == api.Error && !slices.ContainsFunc(s.told[kind], func(part string) bool { return strings.Contains(n.Message, part) }) {
			t.Errorf("left out: %s", n.Message)
		}
	}
	for _, part := range s.told[kind] {
		if !slices.ContainsFunc(result.Notes, func(n api.Note) bool { return n.Severity == api.Error && strings.Contains(n.Message, part) }) {
			t.Errorf("nothing told of %q", part)
		}
	}
}

package lint_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/sim"
	"github.com/weftmesh/weft/sim/wire"
)

// around is what the routes of the law are for: a caller of a service, and an edge with a host.
const around = `
type: Dataplane
mesh: default
name: till
networking:
  address: 127.0.0.1
  inbound: [{port: 21080, tags: {kuma.io/service: till}}]
  outbound: [{port: 21001, backendRef: {kind: MeshService, name: web, port: 80}}]
---
type: Dataplane
mesh: default
name: edge
networking:
  address: 127.0.0.9
  gateway: {type: BUILTIN, listeners: [{port: 8080}], tags: {kuma.io/service: edge}}
---
type: Dataplane
mesh: default
name: web-1
networking:
  address: 127.0.0.2
  inbound: [{port: 80, tags: {kuma.io/service: web-tag, kuma.io/protocol: http}}]
---
type: MeshService
mesh: default
name: web
spec: {selector: {dataplaneTags: {kuma.io/service: web-tag}}, ports: [{port: 80, targetPort: 80, appProtocol: http}]}
---
{type: Dataplane, mesh: default, name: gate, labels: {k8s.kuma.io/namespace: shop, gateway.networking.k8s.io/gateway-name: gw}, networking: {address: 127.0.0.8, gateway: {type: BUILTIN}}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: Gateway, metadata: {name: gw, namespace: shop}, spec: {gatewayClassName: weft, listeners: [{name: http, port: 80, protocol: HTTP}]}}
---
`

// writing is how a language asks for a path, and who asks by it.
type writing struct {
	from, url string
	document  func(path, how string) string
}

// writings are the languages. Each rule answers by itself, or leads to the only service.
var writings = map[string]writing{
	"MeshHTTPRoute": {"till", "http://127.0.0.1:21001", func(path, how string) string {
		return fmt.Sprintf("type: MeshHTTPRoute\nmesh: default\nname: r\nspec:\n  targetRef: {kind: Mesh}\n  to:\n  - targetRef: {kind: MeshService, name: web}\n    rules:\n    - matches: [{path: {type: %s, value: %q}}]\n      default: {}\n",
			map[string]string{"exact": "Exact", "prefix": "PathPrefix", "regex": "RegularExpression"}[how], path)
	}},
	"HTTPRoute": {"gate", "http://r.example.com", func(path, how string) string {
		return fmt.Sprintf("apiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: {name: r, namespace: shop}\nspec:\n  parentRefs: [{name: gw}]\n  hostnames: [r.example.com]\n  rules:\n  - matches: [{path: {type: %s, value: %q}}]\n    filters: [{type: RequestRedirect, requestRedirect: {hostname: x.test}}]\n",
			map[string]string{"exact": "Exact", "prefix": "PathPrefix", "regex": "RegularExpression"}[how], path)
	}},
	"HTTPProxy": {"edge", "http://r.example.com:8080", func(path, how string) string {
		return fmt.Sprintf("type: HTTPProxy\nmesh: default\nname: r\nspec:\n  virtualhost: {fqdn: r.example.com}\n  routes:\n  - conditions: [{%s: %q}]\n    directResponsePolicy: {statusCode: 200}\n", how, path)
	}},
	"RouteGroup": {"edge", "http://r.example.com:8080", func(path, how string) string {
		field := map[string]string{"exact": "path", "prefix": "pathSubtree", "regex": "pathRegexp"}[how]
		if how == "regex" {
			path = "^" + path + "$"
		}
		return fmt.Sprintf("type: RouteGroup\nmesh: default\nname: r\nspec:\n  hosts: [r.example.com]\n  backends: [{name: s, type: shunt}]\n  routes:\n  - %s: %q\n    filters: [\"status(200)\"]\n    backends: [{backendName: s}]\n", field, path)
	}},
}

// TestRulesThatNoRequestMeetsAreNamed: in each language, a rule for a path is named as one that takes
// no request exactly where none of the requests for that path, and below it, is taken by it.
func TestRulesThatNoRequestMeetsAreNamed(t *testing.T) {
	t.Parallel()
	part := rapid.SampledFrom([]string{"/", "/", "/a", "/b", "/..", "/.", "/...", "%65", "%2F", "%20", "%7e", "x", "?v=1", " ", "{", "\\", "#", "//", ";y", "é"})
	met, unmet := map[string]int{}, map[string]int{}
	rapid.Check(t, func(t *rapid.T) {
		language := rapid.SampledFrom([]string{"HTTPProxy", "HTTPRoute", "MeshHTTPRoute", "RouteGroup"}).Draw(t, "language")
		how := rapid.SampledFrom([]string{"exact", "prefix", "regex"}).Draw(t, "how")
		path := strings.Join(rapid.SliceOfN(part, 1, 4).Draw(t, "path"), "")
		if how != "regex" && !strings.HasPrefix(path, "/") {
			path = "/" + path
		}
		w, written := writings[language], path
		if how == "regex" {
			written = regexp.QuoteMeta(path)
		}
		objects, wrong := world.Decode("r.yaml", []byte(around+w.document(written, how)))
		if slices.ContainsFunc(wrong, func(v *api.Violation) bool { return v.Severity == api.Error }) {
			return // refused as it is written
		}
		violations, model := world.Settings{}.Findings(world.Reading{Objects: objects})
		named, refused := "", false
		for _, v := range violations {
			if v.Code == "RuleUnmet" {
				named = v.Message
			} else if v.Object.Name == "r" {
				refused = true
			}
			if v.Severity == api.Error {
				t.Fatalf("%s", v)
			}
		}
		by := takes(t, model, w, path)
		if refused && by == "" && named == "" {
			return // by its language, when all of it is known
		}
		if (by == "") != (named != "") {
			t.Fatalf("%s %s %q: taken is %q, and it says %q", language, how, path, by, named)
		}
		if named == "" {
			met[language]++
		} else {
			unmet[language]++
		}
	})
	for language := range writings {
		if testing.Short() {
			break // few paths were drawn
		}
		if met[language] == 0 || language != "HTTPRoute" && unmet[language] == 0 {
			t.Errorf("%s: %d that are met and %d that are not", language, met[language], unmet[language])
		}
	}
}

// takes is a path of which the rule takes a request; empty where it is none of those that may be meant.
func takes(t *rapid.T, m *resolve.Model, w writing, path string) string {
	encoded := strings.NewReplacer("..;", "%2e%2e;", ".;", "%2e;").Replace(path) // else a proxy takes the parameter off
	for _, p := range []string{path, path + "/x", path + "x", strings.TrimSuffix(path, "/"), encoded, encoded + "x"} {
		if !strings.HasPrefix(p, "/") || strings.ContainsAny(p, " #") {
			continue
		}
		v, err := sim.Run(m, api.Ref{Kind: api.KindDataplane, Mesh: "default", Name: w.from}, wire.Request{URL: w.url + p})
		if err != nil {
			continue // such a request is none
		}
		for _, b := range v.Branches {
			if b.Route != nil && slices.ContainsFunc(b.Route.Origins, func(o *api.Origin) bool { return o.Ref.Name == "r" }) {
				return p
			}
		}
	}
	return ""
}

package convert_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/convert"
	"github.com/weftmesh/weft/route"
	"github.com/weftmesh/weft/route/contour"
	"github.com/weftmesh/weft/route/kuma"
	"github.com/weftmesh/weft/route/match"
)

// translatedTo is what comes of documents.
func translatedTo(t *testing.T, kind, docs string) convert.Result {
	t.Helper()
	objects, found := world.Decode("test.yaml", []byte(docs))
	if len(found) > 0 {
		t.Fatal(found)
	}
	return convert.Objects(objects, convert.Options{Catalog: world.Catalog(), Dialects: world.Readable(), Kind: kind, Host: "h.example", Service: api.TargetRef{Kind: api.KindMeshService, Name: "web"}})
}

// noted are the notes with a code, as DISPLAYNAME FIELD: MESSAGE.
func noted(r convert.Result, code string) []string {
	var out []string
	for _, n := range r.Notes {
		if n.Code == code {
			out = append(out, fmt.Sprintf("%s %s: %s", n.Origin.Name, n.Field, n.Message))
		}
	}
	return out
}

func refsOf(r convert.Result) []string {
	var out []string
	for _, o := range r.Objects {
		out = append(out, o.Ref.String())
	}
	slices.Sort(out)
	return out
}

const (
	groupOfTwo  = "{type: RouteGroup, mesh: default, name: web, spec: {hosts: [a.example, b.example], backends: [{name: v, serviceName: v1, servicePort: 80}], defaultBackends: [{backendName: v}]}}\n---\n"
	groupOfNext = "{type: RouteGroup, mesh: default, name: x, spec: {hosts: [c.example], backends: [{name: v, serviceName: v2, servicePort: 80}], defaultBackends: [{backendName: v}]}}\n---\n"
)

// Every document that is written has a name of its own, also where one table is several.
func TestEveryDocumentHasItsName(t *testing.T) {
	t.Parallel()
	alsoWeb := strings.Replace(groupOfTwo, "[a.example, b.example]", "[a.example, b.example, c.example]", 1)
	got := translatedTo(t, "HTTPProxy", alsoWeb+groupOfNext)
	hosts := map[string]string{}
	for _, o := range got.Objects {
		spec := o.Spec.(*contour.HTTPProxy)
		if other, taken := hosts[o.Name]; taken {
			t.Errorf("%s is the name for %s and for %s", o.Name, other, spec.VirtualHost.FQDN)
		}
		hosts[o.Name] = spec.VirtualHost.FQDN
	}
	if want := map[string]string{"web": "a.example", "web-2": "b.example", "web-3": "c.example"}; fmt.Sprint(hosts) != fmt.Sprint(want) {
		t.Errorf("the hosts are %v, want %v", hosts, want)
	}
}

// What is there already keeps its name.
func TestNamesInUseStay(t *testing.T) {
	t.Parallel()
	there := "{type: HTTPProxy, mesh: default, name: web-2, spec: {virtualhost: {fqdn: z.example}, routes: [{services: [{name: v1, port: 80}]}]}}\n---\n"
	got := refsOf(translatedTo(t, "HTTPProxy", groupOfTwo+there))
	if want := []string{"HTTPProxy/default/web-2", "HTTPProxy/default/web-3", "HTTPProxy/default/web-3-2"}; !slices.Equal(got, want) {
		t.Errorf("documents are %v, want %v", got, want)
	}
}

// What is said in one mesh says nothing of another.
func TestMeshesAreTranslatedApart(t *testing.T) {
	t.Parallel()
	one := "{type: MeshHTTPRoute, mesh: MESH, name: r, spec: {targetRef: {kind: Mesh}, to: [{targetRef: {kind: MeshService, name: web}, rules: [{matches: [{path: {type: PathPrefix, value: /MESH}}], default: {backendRefs: [{kind: MeshService, name: MESH, port: 80}]}}]}]}}\n---\n" +
		"{type: MeshTimeout, mesh: MESH, name: slow, spec: {targetRef: {kind: Mesh}, to: [{targetRef: {kind: MeshHTTPRoute, name: r}, default: {http: {requestTimeout: 3s}}}]}}\n---\n"
	got := translatedTo(t, "HTTPProxy", strings.ReplaceAll(one, "MESH", "a")+strings.ReplaceAll(one, "MESH", "b"))
	if refs := refsOf(got); !slices.Equal(refs, []string{"HTTPProxy/a/r", "HTTPProxy/b/r"}) {
		t.Fatalf("documents are %v", refs)
	}
	for _, o := range got.Objects {
		for _, r := range o.Spec.(*contour.HTTPProxy).Routes {
			for _, s := range r.Services {
				if s.Name != o.Mesh && s.Name != "web" {
					t.Errorf("a route of the mesh %s sends to %s", o.Mesh, s.Name)
				}
			}
		}
	}
	if told := noted(got, "PolicyTargetsSource"); len(told) != 2 {
		t.Errorf("policies are named %q, want one in each mesh", told)
	}
}

// A policy for what the language has no words for takes no name that another one has.
func TestAttachedPoliciesHaveTheirNames(t *testing.T) {
	t.Parallel()
	got := translatedTo(t, "RouteGroup", `
{type: HTTPProxy, mesh: default, name: web, spec: {virtualhost: {fqdn: a.example}, routes: [{services: [{name: v1, port: 80}], retryPolicy: {count: 2, retryOn: [5xx]}}]}}
---
{type: MeshRetry, mesh: default, name: web-retry, spec: {targetRef: {kind: Mesh}, to: [{targetRef: {kind: Mesh}, default: {http: {numRetries: 5}}}]}}
`)
	if refs := refsOf(got); !slices.Equal(refs, []string{"MeshRetry/default/web-retry-2", "RouteGroup/default/web"}) {
		t.Errorf("documents are %v", refs)
	}
}

// That a service is asked in HTTP/2 is told as what it is.
func TestHTTP2ToServicesIsTold(t *testing.T) {
	t.Parallel()
	got := translatedTo(t, "RouteGroup", "{type: HTTPProxy, mesh: default, name: web, spec: {virtualhost: {fqdn: a.example}, routes: [{services: [{name: v1, port: 80, protocol: h2c}]}]}}")
	told := noted(got, "ProtocolNotExpressible")
	if len(told) != 1 || !strings.Contains(told[0], "web spec.routes[0]: the rule asks v1 in HTTP/2") || len(noted(got, "BalancingNotExpressible")) > 0 {
		t.Errorf("notes %v", got.Notes)
	}
}

// Of a rule of which neither the filter nor the match can be said there is one message, with
// both.
func TestOneMessageForWhatIsLost(t *testing.T) {
	t.Parallel()
	got := translatedTo(t, "MeshHTTPRoute", `
{type: RouteGroup, mesh: default, name: web, spec: {hosts: [a.example], backends: [{name: v, serviceName: v1, servicePort: 80}], defaultBackends: [{backendName: v}], routes: [
  {pathSubtree: /a, predicates: ["Traffic(0.5)"], filters: ['clientRatelimit(3, "1m")']}, {pathSubtree: /b}]}}
`)
	var about []string
	for _, n := range got.Notes {
		if n.Field == "spec.routes[0]" && n.Severity == api.Error {
			about = append(about, n.Message)
		}
	}
	if len(about) != 1 || !strings.Contains(about[0], "limit") || !strings.Contains(about[0], "its requests come to ") || strings.Contains(about[0], "500 instead") {
		t.Errorf("of the rule it is said %q", about)
	}
	if rules := got.Objects[0].Spec.(*kuma.HTTPRoute).To[0].Rules; len(rules) != 2 {
		t.Errorf("%d rules", len(rules))
	}
}

// Who takes the requests of a rule that is left out is who the language tries first: a Gateway
// tries a prefix before an expression.
func TestTheNextRuleIsTheOneThatIsTried(t *testing.T) {
	t.Parallel()
	got := translatedTo(t, "HTTPRoute", `
{type: MeshHTTPRoute, mesh: default, name: web, spec: {targetRef: {kind: Mesh}, to: [{targetRef: {kind: MeshService, name: web}, rules: [
  {matches: [{path: {type: PathPrefix, value: /v1/a}, headers: [{type: Absent, name: x-b}]}], default: {backendRefs: [{kind: MeshService, name: other, port: 80}]}},
  {matches: [{path: {type: RegularExpression, value: /v1/.*}}], default: {}}]}]}}
---
{type: MeshService, mesh: default, name: web, spec: {selector: {dataplaneTags: {app: web}}, ports: [{port: 80, targetPort: 80, appProtocol: http}]}}
`)
	told := noted(got, "MatchNotExpressible")
	if len(told) != 1 || !strings.HasSuffix(told[0], "its requests come to what no rule takes") {
		t.Errorf("it is said %q, of %v", told, got.Notes)
	}
}

// A limit that several rules have now, each with tokens of its own, is told.
func TestALimitOfSeveralRulesIsTold(t *testing.T) {
	t.Parallel()
	got := translatedTo(t, "RouteGroup", `
{type: HTTPProxy, mesh: default, name: root, spec: {virtualhost: {fqdn: h.example}, includes: [{name: leaf, conditions: [{prefix: /a}]}, {name: leaf, conditions: [{prefix: /b}]}]}}
---
{type: HTTPProxy, mesh: default, name: leaf, spec: {routes: [{services: [{name: v1, port: 80}], rateLimitPolicy: {local: {requests: 5, unit: minute}}}]}}
`)
	told := noted(got, "SeveralBuckets")
	if len(told) != 1 || !strings.HasPrefix(told[0], "leaf spec.routes[0]: ") {
		t.Errorf("it is said %q, of %v", told, got.Notes)
	}
}

// A host of which nothing can be written is said to be open to what is written for wider
// hosts, and not to be closed.
func TestAHostThatStaysOpenIsTold(t *testing.T) {
	t.Parallel()
	const route = "{type: HTTPRoute, mesh: default, name: NAME, spec: {parentRefs: [{name: g}], hostnames: [HOST], rules: [{matches: [{path: {type: PathPrefix, value: /NAME}}], backendRefs: [{name: v1, port: 80}]}]}}\n---\n"
	got := translatedTo(t, "RouteGroup", "{type: Gateway, mesh: default, name: g, spec: {gatewayClassName: weft, listeners: [{name: any, port: 80, protocol: HTTP}]}}\n---\n"+
		strings.NewReplacer("NAME", "wide", "hostnames: [HOST], ", "").Replace(route)+strings.NewReplacer("NAME", "wild", "HOST", "'*.example.org'").Replace(route))
	told := strings.Join(noted(got, "PlaceNotExpressible"), "\n")
	if !strings.Contains(told, " : *.example.org: nothing is written, and its requests come to what is written for wider hosts") || strings.Contains(told, "takes none of its requests") {
		t.Errorf("it is said %s", told)
	}
}

// A redirect that says the port at which clients call does what one does that says none, unless it names
// another host or scheme, of which that need not be the port.
func TestAPortThatClientsCallAnyway(t *testing.T) {
	t.Parallel()
	all := &match.Condition{On: match.OnPath, Op: match.SegmentPrefix, Value: "/"}
	does := func(r route.Redirect) string { return convert.Does(&route.MergedRule{Do: &r}, all, "/a") }
	for _, c := range []struct {
		named, bare route.Redirect
		alike       bool
	}{
		{route.Redirect{Port: 8080, Status: 302}, route.Redirect{Status: 302}, true},
		{route.Redirect{Port: 8081, Status: 302}, route.Redirect{Status: 302}, false},
		{route.Redirect{Port: 8080, Status: 302}, route.Redirect{Status: 301}, false},
		{route.Redirect{Port: 8080, Hostname: "b.example", Status: 302}, route.Redirect{Hostname: "b.example", Status: 302}, false},
		{route.Redirect{Port: 8080, Scheme: "https", Status: 302}, route.Redirect{Scheme: "https", Status: 302}, false},
	} {
		if alike := does(c.named) == does(c.bare); alike != c.alike {
			t.Errorf("%+v and %+v do the same: %v", c.named, c.bare, alike)
		}
	}
}

// Who takes the requests of a rule that is left out is never one that was tried before it: what both take was
// never the rule's.
func TestNoEarlierRuleIsTheNext(t *testing.T) {
	t.Parallel()
	got := translatedTo(t, "HTTPRoute", `
{type: MeshHTTPRoute, mesh: default, name: web, spec: {targetRef: {kind: Mesh}, to: [{targetRef: {kind: MeshService, name: web}, rules: [
  {matches: [{path: {type: PathPrefix, value: /v1/a}, method: GET}], default: {backendRefs: [{kind: MeshService, name: reads, port: 80}]}},
  {matches: [{path: {type: PathPrefix, value: /v1/a}, headers: [{type: Absent, name: x-b}]}], default: {backendRefs: [{kind: MeshService, name: other, port: 80}]}},
  {matches: [{path: {type: PathPrefix, value: /v1}}], default: {}}]}]}}
---
{type: MeshService, mesh: default, name: web, spec: {selector: {dataplaneTags: {app: web}}, ports: [{port: 80, targetPort: 80, appProtocol: http}]}}
`)
	told := noted(got, "MatchNotExpressible")
	if len(told) != 1 || !strings.HasSuffix(told[0], "its requests come to spec.to[0].rules[2] of web") {
		t.Errorf("it is said %q, of %v", told, got.Notes)
	}
}

// An answer with a body is told as lost where a language has none, also where its status would be the one that
// the language answers with.
func TestABodyThatIsLostIsTold(t *testing.T) {
	t.Parallel()
	for more, told := range map[string]bool{"": false, ", body: closed": true} {
		got := translatedTo(t, "MeshHTTPRoute", "{type: HTTPProxy, mesh: default, name: web, spec: {virtualhost: {fqdn: a.example}, routes: [{conditions: [{prefix: /down}], directResponsePolicy: {statusCode: 500"+more+"}}, {services: [{name: v1, port: 80}]}]}}")
		is := slices.ContainsFunc(got.Notes, func(n api.Note) bool {
			return n.Field == "spec.routes[0]" && n.Severity == api.Error && strings.Contains(n.Message, "MeshHTTPRoute does not answer by itself")
		})
		if is != told || len(got.Objects) != 1 {
			t.Errorf("of an answer of 500%s is told %v, in %d documents", more, got.Notes, len(got.Objects))
		}
	}
}

package server_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/weftmesh/weft/internal/envoytest"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/route/match"
	"github.com/weftmesh/weft/sim/permission"
)

// servicesAsked is how many services a world has, each an inbound with permissions of its own.
const servicesAsked = 50

var (
	askedPaths = []string{"/", "/v1", "/v1/x", "/v10", "/v2/x", "/api/x", "/admin", "//v1", "/v1%2fx", "/x//v1"}
	askers     = []string{"a", "ab", "a/x", "ops", "-"}
)

// drawn makes documents of one service.
type drawn struct {
	*rand.Rand
	at string // the service
}

func (d drawn) pick(of ...string) string { return of[d.IntN(len(of))] }

func (d drawn) path() string { return d.pick("/", "/v1", "/v1/x", "/admin", "/v2") }

// match is a match of callers.
func (d drawn) match() string {
	var parts []string
	switch d.IntN(5) {
	case 0:
		parts = append(parts, "anonymous: true")
	case 1:
	default:
		parts = append(parts, fmt.Sprintf(`spiffeID: {type: %s, value: "spiffe://default%s"}`, d.pick("Exact", "Prefix"), d.pick("/a", "/ops", "/a/x", "/a")))
	}
	if len(parts) == 0 || d.IntN(3) == 0 {
		parts = append(parts, d.pick("http: {methods: [GET]}", "http: {methods: [POST, PUT]}", "http: {path: {type: PathPrefix, value: "+d.path()+"}}", "http: {path: {type: Exact, value: "+d.path()+"}}"))
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

func (d drawn) permission(name, target string) string {
	says := fmt.Sprintf("rules: [{%s: {%s: [%s], %s: [%s]}}]", d.pick("default", "default", "override"), "allow", d.match(), d.pick("allowWithShadowDeny", "deny"), d.match())
	if d.IntN(2) == 0 {
		says = fmt.Sprintf("rules: [{default: {%s: [%s]}}]", d.pick("allow", "allow", "deny"), d.match())
	}
	return fmt.Sprintf("{type: MeshTrafficPermission, mesh: default, name: %s, spec: {targetRef: %s, %s}}", name, target, says)
}

// route is a route of the service in one of the languages, and a ref to it or one of its rules.
func (d drawn) route() (document, ref string) {
	name, kind := "r-"+d.at, d.pick("MeshHTTPRoute", "HTTPRoute", "HTTPProxy", "RouteGroup", "MeshHTTPRoute", "GRPCRoute")
	var rules []string
	section := d.pick("", ", sectionName: '0'", ", sectionName: '1'")
	for range 2 {
		path, method, to := d.path(), d.pick("", "GET"), d.pick("", "", "/", "/v2", "/admin")
		switch kind {
		case "MeshHTTPRoute", "HTTPRoute":
			match := fmt.Sprintf("path: {type: %s, value: %s}", map[bool]string{true: "Exact", false: "PathPrefix"}[d.IntN(3) == 0], path)
			if method != "" {
				match += ", method: " + method
			}
			filters := ""
			if to != "" && strings.Contains(match, "PathPrefix") {
				filters = "filters: [{type: URLRewrite, urlRewrite: {path: {type: ReplacePrefixMatch, replacePrefixMatch: " + to + "}}}]"
			}
			if kind == "MeshHTTPRoute" {
				rules = append(rules, fmt.Sprintf("{matches: [{%s}], default: {%s}}", match, filters))
			} else {
				rules = append(rules, strings.Replace(fmt.Sprintf("{matches: [{%s}], backendRefs: [{name: %s, port: 80}], %s}", match, d.at, filters), ", }", "}", 1))
			}
		case "GRPCRoute":
			rules = append(rules, fmt.Sprintf("{matches: [{method: {service: %s, method: x}}], backendRefs: [{name: %s, port: 80}]}", d.pick("v1", "v2"), d.at))
		case "HTTPProxy":
			rewrite := ""
			if to != "" {
				rewrite = fmt.Sprintf(", pathRewritePolicy: {replacePrefix: [{replacement: %s}]}", to)
			}
			rules = append(rules, fmt.Sprintf("{conditions: [{prefix: %s}], services: [{name: %s, port: 80}]%s}", path, d.at, rewrite))
		default:
			if method != "" {
				method = ", methods: [GET]"
			}
			rules = append(rules, fmt.Sprintf("{pathSubtree: %s%s}", path, method))
		}
	}
	all := strings.Join(rules, ", ")
	spec := map[string]string{
		"MeshHTTPRoute": fmt.Sprintf("to: [{targetRef: {kind: MeshService, name: %s}, rules: [%s]}]", d.at, all),
		"HTTPRoute":     fmt.Sprintf(`parentRefs: [{group: "", kind: Service, name: %s}], rules: [%s]`, d.at, all),
		"GRPCRoute":     fmt.Sprintf(`parentRefs: [{group: "", kind: Service, name: %s}], rules: [%s]`, d.at, all),
		"HTTPProxy":     fmt.Sprintf("virtualhost: {fqdn: %s.example}, routes: [%s]", d.at, all),
		"RouteGroup":    fmt.Sprintf("hosts: [%s.example], backends: [{name: b, type: service, serviceName: %[1]s, servicePort: 80}], defaultBackends: [{backendName: b}], routes: [%s]", d.at, all),
	}[kind]
	return fmt.Sprintf("{type: %s, mesh: default, name: %s, spec: {%s}}", kind, name, spec), fmt.Sprintf("{kind: %s, name: %s%s}", kind, name, section)
}

// TestPermissionsAreEnvoys: what sim says of callers, methods and paths at inbounds with random
// permissions, on themselves, on routes of all languages and on single rules, in both modes, is what a
// real Envoy does. WEFT_DIFF_PAIRS is how many requests are compared, 1,000 without it, and WEFT_DIFF_SEED
// of which worlds.
func TestPermissionsAreEnvoys(t *testing.T) {
	t.Parallel()
	number := func(name string, otherwise int) int {
		if text := os.Getenv(name); text != "" {
			n, err := strconv.Atoi(text)
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
		return otherwise
	}
	seed, pairs := number("WEFT_DIFF_SEED", 1), number("WEFT_DIFF_PAIRS", 1000)
	random := rand.New(rand.NewPCG(uint64(seed), 7))
	var inbounds, documents []string
	ports := map[string]uint32{}
	app := envoytest.StartBackend(t, "app")
	for i := range servicesAsked {
		d := drawn{random, fmt.Sprintf("s%d", i)}
		ports[d.at] = envoytest.Port(t)
		inbounds = append(inbounds, fmt.Sprintf("{name: %s, port: %d, serviceAddress: 127.0.0.1, servicePort: %d, tags: {kuma.io/service: server, app: %[1]s, kuma.io/protocol: http}}", d.at, ports[d.at], app.Port))
		documents = append(documents, fmt.Sprintf("{type: MeshService, mesh: default, name: %s, spec: {selector: {dataplaneTags: {app: %[1]s}}, ports: [{port: 80, targetPort: %[1]s, appProtocol: http}]}}", d.at))
		for k := range random.IntN(3) {
			documents = append(documents, d.permission(fmt.Sprintf("p%d-%s", k, d.at), "{kind: Dataplane, sectionName: "+d.at+"}"))
		}
		if random.IntN(4) > 0 {
			route, ref := d.route()
			documents = append(documents, route)
			for k := range 1 + random.IntN(2) {
				documents = append(documents, d.permission(fmt.Sprintf("r%d-%s", k, d.at), ref))
			}
		}
		if random.IntN(2) == 0 {
			documents = append(documents, fmt.Sprintf("{type: MeshTLS, mesh: default, name: m-%s, spec: {targetRef: {kind: Dataplane, sectionName: %[1]s}, rules: [{default: {mode: Permissive}}]}}", d.at))
		}
	}
	documents = append(documents, "{type: Dataplane, mesh: default, name: server, networking: {address: 127.0.0.1, inbound: ["+strings.Join(inbounds, ",\n")+"]}}")
	r := startRuled(t, documents...)
	server, _ := r.model.Dataplane(dataplaneRef("server"))
	at, told := map[string]*effective.Inbound{}, 0
	for _, in := range server.Inbounds {
		at[in.Name] = in.Inbound
		told += len(in.Rules)
	}
	differ, by := 0, map[int]int{}
	for range pairs {
		name := fmt.Sprintf("s%d", random.IntN(servicesAsked))
		who, method, path := askers[random.IntN(len(askers))], []string{"GET", "POST"}[random.IntN(2)], askedPaths[random.IntN(len(askedPaths))]
		v := &permission.Visit{Request: &match.Request{Method: method, Path: path}}
		if who != "-" {
			v.Names = []string{"spiffe://default/" + who}
		} else if at[name].TLS.Mode != effective.Permissive {
			continue
		}
		p, status := permission.Decide(at[name], v)
		want := int(status)
		if p != nil {
			want = map[string]int{permission.Allow: http.StatusOK, permission.Deny: http.StatusForbidden}[p.Decision]
		}
		r.in = ports[name]
		got := r.ask(who + " " + method + " " + path)
		if by[want]++; got != want {
			if differ++; differ > 5 {
				break
			}
			t.Errorf("%s %s %s to %s: %d, sim says %d: %+v", who, method, path, name, got, want, p)
			for _, d := range documents {
				if !strings.HasPrefix(d, "{type: Dataplane") && (strings.Contains(d, name+",") || strings.Contains(d, name+"}") || strings.Contains(d, name+".")) {
					t.Log(d)
				}
			}
		}
	}
	t.Logf("%v, %d rules are told apart", by, told)
	if by[http.StatusOK] < pairs/20 || by[http.StatusForbidden] < pairs/20 || told < servicesAsked/2 {
		t.Error("these worlds tell little apart")
	}
}

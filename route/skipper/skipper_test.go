package skipper_test

import (
	"os"
	"strings"
	"testing"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/decode"
	"github.com/weftmesh/weft/internal/cases"
	"github.com/weftmesh/weft/route"
	"github.com/weftmesh/weft/route/skipper"
)

var catalog = api.NewCatalog(append(api.Types(), skipper.Dialect.Types...)...)

// group is a document with a spec; backends and defaults are those of least unless
// the spec says others.
func group(spec string) []byte {
	const least = "  backends: [{name: s, serviceName: s, servicePort: 80}, {name: no, type: shunt}, {name: again, type: loopback}]\n  defaultBackends: [{backendName: s}]\n"
	if !strings.Contains(spec, "backends:\n") {
		spec += least
	}
	return []byte("apiVersion: zalando.org/v1\nkind: RouteGroup\nmetadata: {name: g}\nspec:\n" + spec)
}

// refusals are what is wrong with a spec, and where.
var refusals = []struct{ spec, want string }{
	{"  hosts: [a.example, a.example]\n", "spec.hosts[1]: duplicate host a.example"},
	{"  hosts: [A.example]\n", "spec.hosts[0]: \"A.example\" is not a valid host name"},
	{"  hosts: ['*.example']\n", "spec.hosts[0]: \"*.example\" is not a valid host name"},
	{"  backends:\n  - {serviceName: s, servicePort: 80}\n  defaultBackends: [{backendName: s}]\n", "spec.backends[0].name: unnamed backend"},
	{"  backends:\n  - {name: s, serviceName: s, servicePort: 80}\n  - {name: s, type: shunt}\n  defaultBackends: [{backendName: s}]\n", "spec.backends[1].name: backends with duplicate name s"},
	{"  backends:\n  - {name: s, servicePort: 80}\n  defaultBackends: [{backendName: s}]\n", "spec.backends[0].serviceName: service name missing"},
	{"  backends:\n  - {name: s, serviceName: s}\n  defaultBackends: [{backendName: s}]\n", "spec.backends[0].servicePort: invalid service port 0"},
	{"  backends:\n  - {name: s, serviceName: s, servicePort: 80, algorithm: best}\n  defaultBackends: [{backendName: s}]\n", "spec.backends[0].algorithm: unsupported algorithm best"},
	{"  backends:\n  - {name: s, type: elsewhere}\n  defaultBackends: [{backendName: s}]\n", "spec.backends[0].type: unsupported backend type elsewhere"},
	{"  backends:\n  - {name: s, type: network}\n  defaultBackends: [{backendName: s}]\n", "spec.backends[0].address: address missing"},
	{"  backends:\n  - {name: s, type: network, address: 'https://a.example/'}\n  defaultBackends: [{backendName: s}]\n", "spec.backends[0].address: \"https://a.example/\" is no address of a backend"},
	{"  backends:\n  - {name: s, type: lb}\n  defaultBackends: [{backendName: s}]\n", "spec.backends[0].endpoints: missing LB endpoints"},
	{"  backends:\n  - {name: s, type: dynamic}\n  defaultBackends: [{backendName: s}]\n", "spec.defaultBackends[0]: where a backend of type dynamic is has to be the same for every request"},
	{"  backends:\n  - {name: s, serviceName: s, servicePort: 80}\n  - {name: t, type: shunt}\n", "spec: missing backend reference"},
	{"  backends:\n  - {name: s, serviceName: s, servicePort: 80}\n  routes: [{path: /}]\n", "spec.routes[0].backends: missing backend reference"},
	{"  routes: [{path: /, backends: [{backendName: t}]}]\n", "spec.routes[0].backends[0]: invalid backend reference: t"},
	{"  routes: [{path: /, backends: [{backendName: s}, {backendName: s}]}]\n", "spec.routes[0].backends[1]: duplicate backend reference: s"},
	{"  routes: [{path: /, backends: [{weight: 1}]}]\n", "spec.routes[0].backends[0]: unnamed backend reference"},
	{"  routes: [{path: /, backends: [{backendName: s, weight: -1}]}]\n", "spec.routes[0].backends[0].weight: -1 "},
	{"  routes: [{path: /, pathSubtree: /}]\n", "spec.routes[0].path: path and path subtree in the same route"},
	{"  routes: [{path: a}]\n", "spec.routes[0].path: a: the path does not begin with a slash"},
	{"  routes: [{path: '/a/**/b'}]\n", "spec.routes[0].path: /a/**/b: free wildcard param should be last"},
	{"  routes: [{path: '/a/*'}]\n", "spec.routes[0].path: /a/*: a bare * is not defined"},
	{"  routes: [{path: '/a:b'}]\n", "spec.routes[0].path: /a:b: a : or * stands inside of a segment"},
	{"  routes: [{path: /ä}]\n", "write it as requests do: /%C3%A4"},
	{"  routes: [{pathRegexp: '(a'}]\n", "spec.routes[0].pathRegexp: pathRegexp: error parsing regexp"},
	{"  routes: [{path: /, methods: ['']}]\n", "spec.routes[0].methods[0]: invalid method"},
	{"  routes: [{path: /, method: GET, methods: [PUT]}]\n", "spec.routes[0].method: method and methods are two words for one thing"},
	{"  routes: [{path: /, predicates: ['True() && False()']}]\n", "spec.routes[0].predicates[0]: single predicate expected"},
	{"  routes: [{path: /, filters: ['status(200) -> status(201)']}]\n", "spec.routes[0].filters[0]: single filter expected"},
	{"  routes: [{path: /, predicates: ['Cron(\"* * * * *\")']}]\n", "spec.routes[0].predicates[0]: weft does not have the predicate Cron: Envoy's routes do not ask for the time"},
	{"  routes: [{path: /, predicates: ['Nonsense()']}]\n", "spec.routes[0].predicates[0]: there is no predicate Nonsense"},
	{"  routes: [{path: /, predicates: ['Cookie(\"a\")']}]\n", "spec.routes[0].predicates[0]: Cookie has 1 arguments; it takes (string, regexp)"},
	{"  routes: [{path: /, predicates: ['Traffic(\"a\")']}]\n", "argument 1 of Traffic is a string"},
	{"  routes: [{path: /, predicates: ['Traffic(2)']}]\n", "Traffic: 2 is no chance"},
	{"  routes: [{path: /, predicates: ['TrafficSegment(.5, 1)']}]\n", "spec.routes[0].predicates: TrafficSegment begins at 0.5"},
	{"  routes: [{path: /, predicates: ['JWTPayloadAllKV(\"a\", \"b\", \"c\")']}]\n", "the claim \"c\" has no value"},
	{"  routes: [{path: /, filters: ['launchRocket(1)']}]\n", "spec.routes[0].filters[0]: there is no filter launchRocket"},
	{"  routes: [{path: /, filters: ['oauthTokeninfoAllScope()']}]\n", "oauthTokeninfoAllScope has 0 arguments; it takes (string, string...)"},
	{"  routes: [{path: /, filters: ['oauthTokeninfoAllKV(\"a\", \"b\", \"c\")']}]\n", "oauthTokeninfoAllKV: 3 arguments are no pairs"},
	{"  routes: [{path: /, filters: ['consistentHashKey(\"user\")']}]\n", "consistentHashKey: \"user\" names no part of a request"},
	{"  routes: [{path: /, filters: ['consistentHashKey(\"${id}\")']}]\n", "weft does not hash ${id}"},
	{"  routes: [{path: /, filters: ['consistentHashKey(\"${request.cookie.}\")']}]\n", "weft does not hash ${request.cookie.}"},
	{"  routes: [{path: /, filters: ['consistentHashKey(\"${request.header.a b}\")']}]\n", "weft does not hash ${request.header.a b}"},
	{"  routes: [{path: /, filters: ['consistentHashBalanceFactor(.5)']}]\n", "consistentHashBalanceFactor: 0.5 is no factor"},
	{"  routes: [{path: /, filters: ['opaAuthorizeRequestWithBody(\"b\")']}]\n", "weft sends no bodies to the authorization service"},
	{"  routes: [{path: /, filters: ['lua(\"x\")']}]\n", "spec.routes[0].filters[0]: weft does not have the filter lua"},
	{"  routes: [{path: /, filters: ['status(200)']}]\n", "spec.routes[0].filters[0]: the filter status does not go with a backend of type service"},
	{"  routes: [{path: /, filters: ['redirectTo(308, \"https://login.example.org/)']}]\n", "spec.routes[0].filters[0]: at character 17: the string that begins here does not end"},
	{"  routes: [{path: /, filters: ['redirectTo(200, \"/\")']}]\n", "Envoy redirects with 301, 302, 303, 307 or 308"},
	{"  routes: [{path: /, filters: ['redirectTo(302, \"/?a=b\")']}]\n", "the URL has a query"},
	{"  routes: [{path: /, filters: ['ratelimit(1, \"1m\")', 'ratelimit(2, \"1m\")']}]\n", "spec.routes[0].filters[1]: the route has a limit already"},
	{"  routes: [{path: /, filters: ['ratelimit(1, \"soon\")']}]\n", "\"soon\" is no duration"},
	{"  routes: [{path: /, filters: ['setRequestHeader(\"x\", \"${request.cookie.c}\")']}]\n", "weft does not fill ${request.cookie.c} into setRequestHeader"},
	{"  routes: [{path: '/a/:id', filters: ['setRequestHeader(\"x\", \"${id}\")']}]\n", "weft does not fill ${id} into setRequestHeader"},
	{"  routes: [{path: /, filters: ['setRequestHeader(\"x\", \"${response.header.y}\")']}]\n", "weft does not fill ${response.header.y}"},
	{"  routes: [{path: /, filters: ['setRequestHeader(\"x\", \"${request.header.Host}\")']}]\n", "there is no header \"host\" to fill in"},
	{"  routes: [{path: /, filters: ['setResponseHeader(\"x\", \"a ${response.header.y}\")']}]\n", "write ${response.header.y} alone"},
	{"  routes: [{path: /, filters: ['copyRequestHeader(\"x\", \"y\")', 'dropRequestHeader(\"x\")']}]\n", "spec.routes[0].filters[1]: the header x is filled in at spec.routes[0].filters[0], and Envoy removes headers before it fills others"},
	{"  routes: [{path: /, filters: ['dropRequestHeader(\"x\")', 'copyRequestHeader(\"x\", \"y\")']}]\n", "the header x is changed before, at spec.routes[0].filters[0]"},
	{"  routes: [{path: /, filters: ['appendRequestHeader(\"x\", \"1\")', 'setRequestHeader(\"x\", \"${request.path}\")']}]\n", "the header x gets a line before it is set to ${request.path}"},
	{"  routes: [{path: /, filters: ['setRequestHeader(\"x\", \"1\")', 'setResponseHeader(\"y\", \"a ${request.header.x}\")']}]\n", "weft tells requests apart by what came"},
	{"  routes: [{path: /, filters: ['setResponseHeader(\"x\", \"1\")', 'copyResponseHeader(\"x\", \"y\")']}]\n", "the header x of the answer is changed at spec.routes[0].filters[0]"},
	{"  routes: [{path: /, filters: ['modPath(\"a\", \"b\")', 'setRequestHeader(\"x\", \"${request.path}\")']}]\n", "the path is changed before, at spec.routes[0].filters[0]"},
	{"  routes: [{path: /, filters: ['setRequestHeader(\"Host\", \"a.${request.header.x}\")']}]\n", "Envoy takes the host that backends see as it is written, or from one header"},
	{"  routes: [{path: /, filters: ['copyRequestHeader(\"x\", \"Host\")', 'setRequestHeader(\"x\", \"1\")']}]\n", "the header x is the host at spec.routes[0].filters[0]"},
	{"  routes: [{path: /, filters: ['setRequestHeader(\"Host\", \"a.example\")', 'setResponseHeader(\"x\", \"${request.host}\")']}]\n", "the backend sees another host"},
	{"  routes: [{path: '/a/:id', filters: ['setPath(\"/b/${name}\")']}]\n", "that of the route has no :name, or more than one"},
	{"  routes: [{path: /, filters: ['setPath(\"/b/${request.header.x}\")']}]\n", "a path is filled with parts of the path that came"},
	{"  routes: [{path: /, filters: ['redirectTo(302, \"/${id}\")']}]\n", "redirectTo has the template ${id}, and weft fills in none there"},
	{"  routes: [{path: /, filters: ['setResponseHeader(\"x\", \"${request.path}\")', 'redirectTo(302, \"/b\")']}]\n", "Envoy has those of the location there"},
	{"  routes: [{path: /, filters: ['corsOrigin(\"*\")']}]\n", "\"*\" is no origin"},
	{"  routes: [{pathSubtree: /a, backends: [{backendName: again}], filters: ['modPath(\"/a\", \"/\")', 'corsOrigin(\"https://a.example\")']}]\n", "which weft does not work out for a loopback"},
	{"  routes: [{pathSubtree: /a, backends: [{backendName: again}], filters: ['modPath(\"/a\", \"/\")']}, {path: /, filters: ['setRequestHeader(\"x\", \"${request.path}\")']}]\n", "may lead to spec.routes[1], which fills in the path"},
	{"  routes: [{path: /, filters: ['fadeIn(\"2m\", 0)']}]\n", "fadeIn: 0 is no exponent"},
	{"  routes: [{path: /, filters: ['latency(\"2m\")']}]\n", "weft lets a request wait for 1m0s at most"},
	{"  routes: [{path: /, filters: ['latency(\"soon\")']}]\n", "latency: \"soon\" is no duration"},
	{"  routes: [{path: /, filters: ['tee(\"https://a.example/path\")']}]\n", "\"https://a.example/path\" is no address of a backend"},
	{"  routes: [{path: /, filters: ['tee(\"https://a.example\", \"a\", \"b\")']}]\n", "tee has 3 arguments; it takes (string)"},
	{"  routes: [{path: /, filters: ['tee(\"https://a.example\")', 'setPath(\"/b\")', 'setRequestHeader(\"x\", \"1\")']}]\n", "the path is changed behind spec.routes[0].filters[0]"},
	{"  routes: [{path: /, predicates: ['Traffic(.5)', 'TrafficSegment(0, 1)']}]\n", "Traffic and TrafficSegment stand in one route"},
	{"  routes: [{path: /, filters: ['setRequestHeader(\"Connection\", \"x\")']}]\n", "connection cannot be changed"},
	{"  routes: [{path: /, filters: ['modPath(\"(a)\", \"$2\")']}]\n", "names a group that the expression does not have"},
	{"  routes: [{path: /, filters: ['modPath(\"a\", \"b\")', 'modPath(\"b\", \"c\")']}]\n", "the path is changed already at spec.routes[0].filters[0]"},
	{"  routes: [{path: /, filters: ['responseCookie(\"a b\", \"c\")']}]\n", "a b=c is no cookie"},
	{"  routes: [{pathSubtree: /a, backends: [{backendName: again}]}]\n", "spec.routes[0].backends: a loopback that changes no path comes back for ever"},
	{"  routes: [{pathSubtree: /a, backends: [{backendName: again}], filters: ['modPath(\"x\", \"/\")']}]\n", "weft works a loopback out beforehand"},
	{"  routes: [{pathSubtree: /a, backends: [{backendName: again}, {backendName: s}], filters: ['modPath(\"/a\", \"/\")']}]\n", "a loopback cannot have a share"},
	{"  routes: [{pathSubtree: /a, backends: [{backendName: again}], filters: ['modPath(\"/a\", \"/\")']}, {pathRegexp: b}]\n", "may lead to spec.routes[1], which asks for the path by an expression"},
	{"  routes: [{path: /, colour: red}]\n", "spec.routes[0].colour: "},
}

func TestRefusalsNamePlaceAndReason(t *testing.T) {
	t.Parallel()
	for _, c := range refusals {
		objects, err := decode.Objects(catalog, "g.yaml", group(c.spec))
		if err == nil || !strings.Contains(err.Error(), c.want) || len(objects) != 0 && api.Refuses(err) == false {
			t.Errorf("%s said %v, want %s", c.spec, err, c.want)
			continue
		}
		for _, v := range api.Violations(err) {
			if v.Line == 0 || v.Severity != api.Error {
				t.Errorf("%s: %v has no line", c.spec, v)
			}
		}
	}
}

// TestNotesOfWhatIsTaken: what is taken with a warning, by its code.
func TestNotesOfWhatIsTaken(t *testing.T) {
	t.Parallel()
	for spec, want := range map[string]string{
		"  routes: [{path: /}]\n":                                                                              "",
		"  routes: [{path: /, method: get}]\n":                                                                 "DraftDialect DraftDialect",
		"  routes: [{path: /a}, {path: /a}]\n":                                                                 "Ambiguous",
		"  routes: [{path: /a, predicates: ['TrafficSegment(0, 1)']}, {path: /a}]\n":                           "Ambiguous",
		"  routes: [{path: /a, predicates: ['Traffic(.5)']}, {pathSubtree: /a, predicates: ['True()']}]\n":     "Ambiguous",
		"  routes: [{path: /a, predicates: ['True()']}, {pathSubtree: /a}]\n":                                  "",
		"  routes: [{path: /a, backends: [{backendName: s, weight: 0}]}]\n":                                    "NoWeight",
		"  routes: [{path: /a, filters: ['flowId(\"x\")', 'comment(\"x\")']}]\n":                               "Ignored Ignored",
		"  routes: [{path: /a, predicates: ['JWTPayloadAnyKV(\"iss\", \"x\")']}]\n":                            "UnverifiedClaims",
		"  tls: [{hosts: [a.example], secretName: x}]\n":                                                       api.CodeUnsupported,
		"  backends:\n  - {name: s, serviceName: s, servicePort: 80}\n":                                        "DraftDialect",
		"  backends:\n  - {name: s, serviceName: s, servicePort: 80, default: true}\n  routes: [{path: /b}]\n": "DraftDialect",
	} {
		objects, err := decode.Objects(catalog, "g.yaml", group(spec))
		if err != nil {
			t.Errorf("%s: %v", spec, err)
			continue
		}
		var codes []string
		for _, n := range skipper.Dialect.Read(objects[0], alone{}).Notes {
			codes = append(codes, n.Code)
		}
		if got := strings.Join(codes, " "); got != want {
			t.Errorf("%s: notes %q, want %q", spec, got, want)
		}
	}
}

// alone is a mesh without other objects.
type alone struct{ route.Lister }

func (alone) Objects(string, map[string]string) []*api.Object { return nil }

// TestPageIsOfTheTables: the page for users says what the tables of the code say.
func TestPageIsOfTheTables(t *testing.T) {
	t.Parallel()
	const page = "../../docs/routegroup.md"
	before, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	head, _, ok := strings.Cut(string(before), skipper.TablesBegin)
	if !ok {
		t.Fatalf("%s has no line %q", page, skipper.TablesBegin)
	}
	cases.Equal(t, page, []byte(head+skipper.TablesBegin+skipper.Tables()))
}

// FuzzGroup: whatever a document says, it is refused or becomes rules, without a panic.
func FuzzGroup(f *testing.F) {
	for _, c := range refusals {
		f.Add(group(c.spec))
	}
	f.Add(group("  hosts: [a.example]\n  routes: [{pathSubtree: /a, backends: [{backendName: again}], filters: ['modPath(\"/a\", \"/\")']}, {pathSubtree: /, predicates: ['Traffic(.1)']}]\n"))
	f.Fuzz(func(_ *testing.T, text []byte) {
		objects, _ := decode.Objects(catalog, "g.yaml", text)
		for _, o := range objects {
			if o.Kind != skipper.Kind {
				continue
			}
			opinion := skipper.Dialect.Read(o, alone{})
			for i := range opinion.Entries {
				skipper.Dialect.Compose(route.Frontend{Name: opinion.Entries[i].To.Name}, []route.Candidate{{ParsedRoute: opinion, Entry: &opinion.Entries[i]}})
			}
		}
	})
}

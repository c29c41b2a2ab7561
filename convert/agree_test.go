package convert_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/decode"
	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/convert"
	"github.com/weftmesh/weft/internal/differential"
	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/route"
	"github.com/weftmesh/weft/route/skipper"
	"github.com/weftmesh/weft/sim"
	"github.com/weftmesh/weft/xds"
)

type m = map[string]any

// methods are those that are read for services.
var methods = []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "CONNECT", "TRACE"}

// rewritten are the parts of a path that are not as they were sent where they are normalised.
var rewritten = regexp.MustCompile(`/\.|%[2-7][0-9A-Fa-f]|%00|[\\"<>^{|}\x60]`)

// movedPlace reports whether routes for a service are for a host now, or the other way round.
func movedPlace(was, is string) bool { return (was == "web:8080") != (is == "web:8080") }

// requestsPerMesh are sent into each mesh and into what it is translated to.
const requestsPerMesh = 25

// TestTheSimulatorAnswersAlike: a request is answered in the mesh with what was translated
// as in the one of before, unless its rule is reported; then it comes to one of the rules
// that the message names, or is refused.
func TestTheSimulatorAnswersAlike(t *testing.T) {
	t.Parallel()
	for _, from := range []string{"kuma", "gateway", "contour", "skipper", "listeners"} {
		for to, kind := range kinds {
			if from == to || from == "listeners" && to == "gateway" {
				continue
			}
			t.Run(from+" to "+to, func(t *testing.T) {
				t.Parallel()
				held, all := 0, 0
				for n := range *worlds {
					docs := prepared(from, n)
					said, h, a := moved(t, docs, from, to, kind, n)
					if held, all = held+h, all+a; said != "" {
						t.Fatalf("world %d: %s", n, reduced(t, docs, from, to, kind, n, said))
					}
				}
				t.Logf("%d of %d requests meet no rule that is reported", held, all)
				if held*40 < all || all == 0 {
					t.Errorf("%d of %d requests meet no rule that is reported", held, all)
				}
			})
		}
	}
}

// prepared are the documents of a language, with a client that calls the service web and
// all hosts, a Gateway for what is translated, and limits beside what is drawn.
func prepared(from string, n uint64) []m {
	random := rand.New(rand.NewPCG(*seed, n))
	docs := []m{
		{"type": "Dataplane", "mesh": "default", "name": "client", "networking": m{"address": "127.0.0.1", "outbound": []any{
			m{"port": 10001, "backendRef": m{"kind": "MeshService", "name": "web", "port": 8080}}, m{"port": 10002, "hosts": m{"port": 80}},
		}, "inbound": []any{m{"port": 19000, "tags": m{"kuma.io/service": "client", "kuma.io/protocol": "http"}}}}},
		{"type": "Gateway", "mesh": "default", "name": "gateway", "spec": m{"gatewayClassName": "weft", "listeners": []any{m{"name": "any", "port": 80, "protocol": "HTTP"}}}},
	}
	for _, doc := range differential.Languages(*seed, n)[from] {
		spec, _ := doc["spec"].(m)
		routes, _ := spec["routes"].([]any)
		for _, r := range routes {
			limited(r.(m), doc["type"], random)
		}
		if doc["name"] != "client" && !(from == "gateway" && doc["type"] == "MeshHTTPRoute") && !aboutRoutes(doc) {
			docs = append(docs, doc)
		}
	}
	return docs
}

// limited gives one route of three a limit of its own.
func limited(r m, kind any, random *rand.Rand) {
	switch {
	case random.IntN(3) > 0:
	case kind == "HTTPProxy" && r["services"] != nil:
		r["rateLimitPolicy"] = m{"local": m{"requests": 10000, "unit": "second", "burst": random.IntN(2)}}
	case kind == "RouteGroup":
		filters, _ := r["filters"].([]any)
		r["filters"] = append(slices.Clone(filters), `ratelimit(10000, "1s")`)
	}
}

// aboutRoutes reports whether a policy targets a route or a service.
func aboutRoutes(doc m) bool {
	if !strings.HasPrefix(fmt.Sprint(doc["type"]), "Mesh") {
		return false
	}
	if kind := doc["type"]; kind != "MeshRetry" && kind != "MeshTimeout" && kind != "MeshRateLimit" {
		return false
	}
	text := fmt.Sprint(doc["spec"])
	return slices.ContainsFunc([]string{"MeshHTTPRoute", "HTTPRoute", "GRPCRoute", "HTTPProxy", "RouteGroup", "MeshService"}, func(s string) bool { return strings.Contains(text, "kind:"+s) })
}

// hostsOf are the authorities that requests of a language are for.
var hostsOf = map[string][]string{
	"kuma": {"web:8080"}, "gateway": {"web:8080"}, "contour": {"h.example", "h.example", "g.example"}, "skipper": {"g.example", "g.example", "x.example", "other.example", "third.example"},
	"listeners": {"a.example.org", "b.example.org", "x.a.example.org", "c.example.org", "d.org", "other.test"},
}

// authorityIn is the authority after a translation.
func authorityIn(from, to, authority string) string {
	services := func(language string) bool { return language == "kuma" || language == "gateway" }
	switch {
	case to == "kuma":
		return "web:8080"
	case services(from) && !services(to):
		return "h.example"
	}
	return authority
}

// agreement is a mesh before and after.
type agreement struct {
	before, after *resolve.Model
	result        convert.Result
	from          map[route.Place][]string
	buckets       [2]map[string]string
}

// moved translates the routes of a mesh and asks both; it says the first difference.
// Without t documents may be wrong.
func moved(t *testing.T, docs []m, from, to, kind string, n uint64) (said string, held, all int) {
	objects, err := objectsOf(docs)
	if err != nil {
		if t != nil {
			t.Fatal(err)
		}
		return "", 0, 0
	}
	a := &agreement{buckets: [2]map[string]string{{}, {}}}
	a.result, a.from = convert.Traced(objects, convert.Options{Catalog: world.Catalog(), Dialects: world.Readable(), Kind: kind, Host: "h.example",
		Service: api.TargetRef{Kind: api.KindMeshService, Name: "web", SectionName: "8080"}, Edge: api.Ref{Name: "gateway"}})
	var rest []*api.Object
	for _, o := range objects {
		if typ, _ := world.Catalog().Find(o.Kind); !typ.Route {
			rest = append(rest, o)
		}
	}
	settings := world.Settings{Authorizer: &xds.Authorizer{}, BackendAddresses: anyAddress}
	a.before, _ = settings.Compile(world.Snapshot(objects...))
	a.after, _ = settings.Compile(world.Snapshot(slices.Concat(rest, a.result.Objects)...))
	for i, authority := range hostsOf[from] {
		for _, q := range differential.Requests(*seed, n*16+uint64(i), authority, matchesAt(a.before, authority), requestsPerMesh) {
			all++
			covered, difference := a.differ(q, authority, authorityIn(from, to, authority))
			if difference != "" {
				return fmt.Sprintf("%s %s %v answers %s version %q\n%s\n%s", q.Method, q.URL, q.Headers, q.Answers, q.Version, difference, a.shown(objects)), held, all
			}
			if !covered {
				held++
			}
		}
	}
	return "", held, all
}

func objectsOf(docs []m) ([]*api.Object, error) {
	text, err := json.Marshal(docs)
	if err != nil {
		return nil, err
	}
	objects, err := decode.Objects(world.Catalog(), "drawn", text)
	for _, v := range api.Violations(err) {
		if v.Severity == api.Error {
			return nil, err
		}
	}
	return objects, nil
}

// anyAddress lets RouteGroups send to every address, as world.Readable does.
var anyAddress, _ = skipper.ParseAddresses([]string{api.AnyHost}) // which is one

// client asks.
var client = api.Ref{Kind: api.KindDataplane, Mesh: "default", Name: "client"}

// matchesAt are those of the routes at an authority.
func matchesAt(model *resolve.Model, authority string) []route.Match {
	r, ok := model.Dataplane(client)
	if !ok {
		return nil
	}
	var out []route.Match
	host, _, _ := strings.Cut(authority, ":")
	for _, o := range r.Outbounds {
		if o.Table == nil || o.Destination.Name != host && !api.HostCovers(o.Destination.Name, host) {
			continue
		}
		for _, x := range o.Table.Routes {
			out = append(out, x.Match)
		}
	}
	return out
}

// differ asks both meshes; covered says that what is different was reported.
func (a *agreement) differ(q sim.Request, authority, there string) (covered bool, difference string) {
	if movedPlace(authority, there) && (!slices.Contains(methods, q.Method) || rewritten.MatchString(q.URL)) {
		return true, "" // it is said that hosts and services differ in that
	}
	if movedPlace(authority, there) && (a.grpc() || len(q.Headers["x-long"])+len(q.Headers["x-many"]) > 0) {
		return true, "" // a host is of protocol http, and its name is of another length
	}
	was, errWas := sim.Run(a.before, client, q)
	q.URL = strings.Replace(q.URL, authority, there, 1)
	is, errIs := sim.Run(a.after, client, q)
	if errWas != nil || len(was.Branches) != 1 || was.Branches[0].Outcome == sim.Close || was.Branches[0].Outcome == sim.Passthrough {
		return true, ""
	}
	origins := originsOf(&was)
	notes := a.about(origins)
	if errIs != nil || len(is.Branches) != 1 {
		if a.nowhere() || len(origins)+len(notes) == 0 {
			return true, ""
		}
		if len(notes) > 0 {
			return true, a.promised(notes, &sim.Verdict{Branches: []sim.Branch{{}}})
		}
		return false, fmt.Sprintf("was %s, is %v", seen(&was, authority, a).text(), errIs)
	}
	x, y := seen(&was, authority, a), seen(&is, there, a)
	if x.text() == y.text() {
		if a.unplaced(authority) || movedPlace(authority, there) { // then several hosts may have come to one service
			return len(notes) > 0, ""
		}
		return len(notes) > 0, a.limits(&was, &is)
	}
	switch {
	case a.unplaced(authority), movedPlace(authority, there) && a.told("PlaceTaken"):
		return true, ""
	case len(notes) > 0:
		if said := a.promised(notes, &is); said != "" {
			return true, said + "\n" + cmp.Diff(x, y)
		}
		return true, ""
	case a.nowhere():
		return true, ""
	case len(origins) == 0 && a.told("UnmatchedDiffers"):
		return true, ""
	case a.told("WebSockets") && q.Headers["upgrade"] != "":
		return true, ""
	}
	return false, fmt.Sprintf("by %v, then %v (-was +is):\n%s", origins, originsOf(&is), cmp.Diff(x, y))
}

// grpc reports whether the service web is not of protocol http.
func (a *agreement) grpc() bool {
	r, ok := a.before.Dataplane(client)
	return ok && slices.ContainsFunc(r.Outbounds, func(o *resolve.Outbound) bool {
		return o.Destination.Name == "web" && o.Destination.Protocol == api.GRPC
	})
}

func originsOf(v *sim.Verdict) []route.Place {
	var out []route.Place
	if r := v.Branches[0].Route; r != nil {
		for _, o := range r.Origins {
			out = append(out, route.Place{Ref: o.Ref, Field: o.Field})
		}
	}
	return out
}

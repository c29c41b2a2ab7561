package convert_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/convert"
	"github.com/weftmesh/weft/internal/differential"
	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/route/match"
	"github.com/weftmesh/weft/route/skipper"
	"github.com/weftmesh/weft/sim"
	"github.com/weftmesh/weft/sim/wire"
	"github.com/weftmesh/weft/xds/filters"
)

type m = map[string]any

// methods are those that are read for services.
var methods = []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "CONNECT", "TRACE"}

// rewritten are the parts of a path that are not as they were sent where they are normalised.
var rewritten = regexp.MustCompile(`/\.|%[2-7][0-9A-Fa-f]|%00|[\\"<>^{|}\x60]`)

// requestsPerMesh are sent into each mesh and into what it is translated to.
const requestsPerMesh = 25

// heldAtLeast are the percents of requests, by languages, that meet no rule of which
// something is reported: four fifths of what they are with the seed and the worlds of every day.
var heldAtLeast = map[string]int{
	"contour to gateway": 49, "contour to kuma": 31, "contour to skipper": 31,
	"gateway to contour": 27, "gateway to kuma": 58, "gateway to skipper": 29,
	"kuma to contour": 29, "kuma to gateway": 71, "kuma to skipper": 30,
	"listeners to contour": 15, "listeners to kuma": 1, "listeners to skipper": 13,
	"skipper to contour": 48, "skipper to gateway": 58, "skipper to kuma": 16,
}

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
			pair := from + " to " + to
			t.Run(pair, func(t *testing.T) {
				t.Parallel()
				held, all := 0, 0
				for n := range drawn() {
					docs := prepared(from, n)
					said, h, a := moved(t, docs, from, to, kind, n)
					if held, all = held+h, all+a; said != "" {
						t.Fatalf("world %d: %s", n, reduced(t, docs, from, to, kind, n, said))
					}
				}
				enough(t, "requests meet no rule that is reported", held, all, heldAtLeast[pair])
			})
		}
	}
}

// enough wants some percents of all, and half of that of other documents than every day.
func enough(t *testing.T, what string, some, all, percents int) {
	t.Helper()
	if *seed != 1 || *worlds != 25 {
		percents = (percents + 1) / 2
	}
	t.Logf("%d of %d %s", some, all, what)
	if testing.Short() {
		return // the shares are those of all worlds
	}
	if some*100 < all*percents || all == 0 || percents == 0 {
		t.Errorf("%d of %d %s, want %d%%", some, all, what, percents)
	}
}

// agreement is a mesh before and after.
type agreement struct {
	before, after *resolve.Model
	result        convert.Result
	trace         convert.Trace
	buckets       [2]map[string]string
}

// query is a request of both meshes.
type query struct {
	wire.Request
	authority, there string          // before and after
	tables           []convert.Table // of those who ask for the authority
}

// moved reports whether routes for a service are for a host now, or the other way round.
func (q *query) moved() bool { return (q.authority == "web:8080") != (q.there == "web:8080") }

// moved translates the routes of a mesh and asks both; it says the first difference.
// Without t documents may be wrong. Held are the requests that meet no rule that is
// reported, of all that come to routes.
func moved(t *testing.T, docs []m, from, to, kind string, n uint64) (said string, held, all int) {
	objects, err := objectsOf(docs)
	if err != nil {
		if t != nil {
			t.Fatal(err)
		}
		return "", 0, 0
	}
	a := &agreement{buckets: [2]map[string]string{{}, {}}}
	a.result, a.trace = convert.Traced(objects, convert.Options{Catalog: world.Catalog(), Dialects: world.Readable(), Kind: kind, Host: "h.example",
		Service: api.TargetRef{Kind: api.KindMeshService, Name: "web", SectionName: "8080"}, Edge: api.Ref{Name: "gateway"}})
	var rest []*api.Object
	for _, o := range objects {
		if typ, _ := world.Catalog().Find(o.Kind); !typ.Route {
			rest = append(rest, o)
		}
	}
	settings := world.Settings{Authorizer: &filters.ExtAuthz{}, BackendAddresses: anyAddress}
	a.before, _ = settings.Compile(world.Snapshot(objects...))
	a.after, _ = settings.Compile(world.Snapshot(slices.Concat(rest, a.result.Objects)...))
	for i, authority := range hostsOf[from] {
		for _, q := range differential.Requests(*seed, n*16+uint64(i), authority, matchesAt(a.before, authority), requestsPerMesh) {
			asOfBrowsers(q.Headers)
			asked, covered, difference := a.differ(&query{q, authority, authorityIn(from, to, authority), a.tablesAt(authority)})
			if difference != "" {
				return fmt.Sprintf("%s %s %v answers %s version %q\n%s\n%s", q.Method, q.URL, q.Headers, q.Answers, q.Version, difference, a.shown(objects)), held, all
			}
			if asked {
				all++
			}
			if asked && !covered {
				held++
			}
		}
	}
	return "", held, all
}

// asOfBrowsers writes an origin as browsers do, without the port that is usual for its scheme:
// whether that is allowed too is not kept.
func asOfBrowsers(headers wire.Headers) {
	for scheme, port := range map[string]string{"http": ":80", "https": ":443"} {
		if origin := headers["origin"]; strings.HasPrefix(origin, scheme+"://") && strings.HasSuffix(origin, port) {
			headers["origin"] = strings.TrimSuffix(origin, port)
		}
	}
}

// anyAddress lets RouteGroups send to every address, as world.Readable does.
var anyAddress, _ = skipper.ParseAddresses([]string{api.AnyHost}) // * is always valid

// client asks.
var client = api.Ref{Kind: api.KindDataplane, Mesh: "default", Name: "client"}

// matchesAt are those of the routes at an authority.
func matchesAt(model *resolve.Model, authority string) []match.Match {
	r, ok := model.Dataplane(client)
	if !ok {
		return nil
	}
	var out []match.Match
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

// differ asks both meshes. Asked says that a request comes to routes before, covered that
// something of its rules was reported.
func (a *agreement) differ(q *query) (asked, covered bool, difference string) {
	was, err := sim.Run(a.before, client, q.Request)
	if err != nil || was.Branches[0].Outcome == sim.Close || was.Branches[0].Outcome == sim.Passthrough {
		return false, false, ""
	}
	if q.moved() && len(q.tables) == 0 {
		return false, false, ""
	}
	if q.moved() && a.told(q, "PlaceDiffers") && a.readElsewhere(q) {
		return true, true, ""
	}
	then := q.Request
	then.URL = strings.Replace(then.URL, q.authority, q.there, 1)
	is, err := sim.Run(a.after, client, then)
	if err != nil {
		is = sim.Verdict{Branches: []sim.Branch{{Probability: 1}}} // nobody serves it
	}
	before, forgiven := a.ends(q, &was, q.authority, nil)
	after, _ := a.ends(q, &is, q.there, forgiven)
	covered = slices.ContainsFunc(before, func(e *end) bool { return e.lost || len(e.notes) > 0 })
	if said := a.compare(q, before, after); said != "" {
		return true, covered, said
	}
	answers := slices.Contains(forgiven, "SeveralBuckets") || was.Branches[0].Outcome == sim.Respond && slices.Contains(forgiven, "PoliciesAct")
	counted := !before[0].lost && before[0].Outcome != "missing" && !q.moved() && !answers
	if counted && len(before) == 1 && err == nil && len(after) == 1 && before[0].text == after[0].text {
		difference = a.limits(&was, &is)
	}
	return true, covered, difference
}

// readElsewhere reports whether requests for a service and for a host differ in it, as is
// said: in the methods that are read, in how paths are, in the protocol, which is http for
// hosts, and in the length of the name.
func (a *agreement) readElsewhere(q *query) bool {
	return !slices.Contains(methods, q.Method) || rewritten.MatchString(q.URL) || a.grpc() || len(q.Headers["x-long"])+len(q.Headers["x-many"]) > 0
}

// compare says what becomes of a part of the requests now that is neither what was done
// with it before nor what was reported.
func (a *agreement) compare(q *query, before, after []*end) string {
	before, after = slices.Clone(before), slices.Clone(after)
	slices.SortStableFunc(before, func(x, y *end) int { return len(x.notes) - len(y.notes) })
	for _, x := range before {
		for _, y := range after {
			if x.text == y.text {
				same := min(x.share, y.share)
				x.share, y.share = x.share-same, y.share-same
			}
		}
	}
	gone := func(e *end) bool { return e.share < 1e-6 }
	before, after = slices.DeleteFunc(before, gone), slices.DeleteFunc(after, gone)
	for _, x := range before {
		if !slices.ContainsFunc(after, func(y *end) bool { return a.promised(q, x, y) }) {
			return a.broken(x, after)
		}
	}
	for _, y := range after {
		if !slices.ContainsFunc(before, func(x *end) bool { return a.promised(q, x, y) }) {
			return a.broken(before[0], []*end{y})
		}
	}
	return ""
}

// broken is a difference that nobody told, for people.
func (a *agreement) broken(x *end, after []*end) string {
	out := fmt.Sprintf("by %v, and it is said %q\n", x.rules, messages(x.notes))
	for _, y := range after {
		out += fmt.Sprintf("then %q by %v (-was +is):\n%s", a.takers(y), y.rules, cmp.Diff(x.view, y.view))
	}
	return out
}

// grpc reports whether the service web is not of protocol http.
func (a *agreement) grpc() bool {
	r, ok := a.before.Dataplane(client)
	return ok && slices.ContainsFunc(r.Outbounds, func(o *effective.Outbound) bool {
		return o.Destination.Name == "web" && o.Destination.Protocol == api.GRPC
	})
}

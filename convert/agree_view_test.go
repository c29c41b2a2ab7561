package convert_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/decode"
	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/convert"
	"github.com/weftmesh/weft/internal/differential"
	"github.com/weftmesh/weft/route"
	"github.com/weftmesh/weft/sim"
)

// end is a part of the requests that are alike, with what becomes of it.
type end struct {
	view
	text   string // of the view
	branch *sim.Branch
	share  float64 // of the requests
	rules  []route.Place
	notes  []api.Note // that say that something of the rules is not as it was
	// lost says that a table which has the rules is said to be left out.
	lost bool
}

// ends are those of a verdict. Forgiven are codes that say of rules what is not compared
// then; without them they are those that are told of the rules.
func (a *agreement) ends(q *query, v *sim.Verdict, authority string, forgiven []string) ([]*end, []string) {
	var out []*end
	for i := range v.Branches {
		e := &end{branch: &v.Branches[i], share: v.Branches[i].Probability, rules: rulesOf(&v.Branches[i])}
		e.notes, e.lost = a.about(e.rules), a.lost(q, e.rules)
		out = append(out, e)
		for _, n := range e.notes {
			forgiven = append(forgiven, n.Code)
			if said, ok := strings.CutPrefix(n.Message, "a "); ok && n.Code == "PolicyNotExpressible" {
				said, _, _ = strings.Cut(said, ", so that is left out")
				forgiven = append(forgiven, strings.Replace(said, " does not say ", " ", 1))
			}
		}
	}
	for _, code := range []string{"MissingBackend", "PoliciesAct"} {
		if a.told(q, code) {
			forgiven = append(forgiven, code)
		}
	}
	for i, e := range out {
		e.view = seen(&v.Branches[i], authority, forgiven)
		e.text = asText(e.view)
	}
	return out, forgiven
}

func rulesOf(b *sim.Branch) []route.Place {
	var out []route.Place
	if b.Route != nil {
		for _, o := range b.Route.Origins {
			out = append(out, route.Place{Ref: o.Ref, Field: o.Field})
		}
	}
	return out
}

// about are the notes about rules that say that something is not as it was.
func (a *agreement) about(rules []route.Place) []api.Note {
	var out []api.Note
	for _, n := range a.result.Notes {
		if n.Severity != api.Info && n.Field != "" && slices.ContainsFunc(rules, func(r route.Place) bool {
			return r.Ref == n.Origin.Ref && (r.Field == n.Field || notOfAll(&n) && r.Field.Within(n.Field))
		}) {
			out = append(out, n)
		}
	}
	return out
}

// notOfAll reports whether a note says that an entry is not for all who ask, so that it is
// not translated.
func notOfAll(n *api.Note) bool { return n.Code == route.UnsaidPlace && n.Severity == api.Error }

// tablesAt are the tables of those who ask for an authority: of its service, or of the
// narrowest name of its host.
func (a *agreement) tablesAt(authority string) []convert.Table {
	host, port, service := strings.Cut(authority, ":")
	names := append([]string{host}, api.HostsAbove(host)...)
	if service {
		names = names[:1]
	}
	for _, name := range names {
		at := func(to api.TargetRef) bool {
			return to.Name == name && (to.Kind == api.KindHost) != service && (!service || to.SectionName == "" || to.SectionName == port)
		}
		var out []convert.Table
		for _, t := range a.trace.Tables {
			if slices.ContainsFunc(t.Places, at) {
				out = append(out, t)
			}
		}
		if len(out) > 0 {
			return out
		}
	}
	return nil
}

// told reports whether a note about one of the tables of a query has a code.
func (a *agreement) told(q *query, code string) bool {
	return slices.ContainsFunc(q.tables, func(t convert.Table) bool { return a.toldOf(t, code) })
}

func (a *agreement) toldOf(t convert.Table, codes ...string) bool {
	return slices.ContainsFunc(a.result.Notes, func(n api.Note) bool {
		return n.Field == "" && n.Origin.Ref == t.By && slices.Contains(codes, n.Code)
	})
}

// lost reports whether a table that has the rules is said not to be written, nor to have any
// of its rules; without rules, whether all tables of the query are.
func (a *agreement) lost(q *query, rules []route.Place) bool {
	left := func(t convert.Table) bool {
		return (!t.Written || t.Bare) && a.toldOf(t, route.UnsaidPlace, "PlaceTaken")
	}
	if len(rules) > 0 {
		return slices.ContainsFunc(q.tables, func(t convert.Table) bool { return left(t) && t.By.Kind == rules[0].Kind })
	}
	return len(q.tables) > 0 && !slices.ContainsFunc(q.tables, func(t convert.Table) bool { return !left(t) })
}

// takers are whose rules an end after the translation is by, as messages name them.
func (a *agreement) takers(y *end) []string {
	if len(y.rules) > 0 && a.trace.From[y.rules[len(y.rules)-1]] != nil {
		return slices.Compact(slices.Sorted(slices.Values(a.trace.From[y.rules[len(y.rules)-1]])))
	}
	return []string{"no rule"}
}

// promised reports whether it is said that y becomes of requests of which x was.
func (a *agreement) promised(q *query, x, y *end) bool {
	closed := y.branch.Outcome == sim.Respond && y.branch.Status >= 400
	for _, t := range q.tables {
		switch {
		case x.lost && (!t.Written || t.Bare && closed):
			return true
		case len(x.rules) == 0 && a.toldOf(t, "UnmatchedDiffers") && closed && y.branch.Status == 500:
			return true
		case len(x.rules) == 0 && t.Written && t.Objects == 0 && y.branch.Outcome == "": // nobody serves the host then
			return true
		case a.toldOf(t, "WebSockets") && q.Headers["upgrade"] != "" && slices.ContainsFunc(x.rules, func(r route.Place) bool {
			return slices.Contains(a.takers(y), fmt.Sprintf("%s of %s", r.Field, r.FullName()))
		}):
			return true
		}
	}
	return slices.ContainsFunc(x.notes, func(n api.Note) bool { return a.says(q, &n, y) })
}

// says reports whether a note about a rule says that y becomes of its requests.
func (a *agreement) says(q *query, n *api.Note, y *end) bool {
	if _, takers, left := strings.Cut(n.Message, "its requests come to "); left {
		names := strings.Split(takers, ", ")
		nobody := slices.Contains(names, "no rule") || slices.Contains(names, "what no rule takes")
		return slices.Contains(names, "others") || slices.ContainsFunc(a.takers(y), func(s string) bool {
			return slices.Contains(names, s) || nobody && strings.HasPrefix(s, "authority ") && y.branch.Status >= 400 // for hosts that have rules of their own
		})
	}
	path, _, _ := strings.Cut(strings.TrimPrefix(q.URL, "http://"+q.authority), "?")
	switch {
	case strings.Contains(n.Message, "answered with 500 instead"):
		return y.branch.Outcome == sim.Respond && y.branch.Status == 500
	case n.Code == "PartNotExpressible":
		return strings.Contains(n.Message, "the path "+path+" itself")
	case n.Code == route.UnsaidPlace && n.Severity == api.Warning: // that of *.example.org
		wide, _, _ := strings.Cut(n.Message, " is for names")
		return strings.Count(q.authority, ".") > strings.Count(wide, ".")
	}
	return notOfAll(n)
}

func messages(notes []api.Note) []string {
	var out []string
	for _, n := range notes {
		out = append(out, fmt.Sprintf("%s %s: %s", n.Origin.FullName(), n.Field, n.Message))
	}
	return out
}

// limits says where requests that shared a bucket do not any more, or the other way round.
func (a *agreement) limits(was, is *sim.Verdict) string {
	x, y := bucket(was), bucket(is)
	for i, pair := range [][2]string{{x, y}, {y, x}} {
		if known, seen := a.buckets[i][pair[0]]; seen && known != pair[1] {
			return fmt.Sprintf("the bucket was %s and is %s, and one of them is another's: %s", x, y, known)
		}
		a.buckets[i][pair[0]] = pair[1]
	}
	return ""
}

// bucket is whose rate limits a request; empty for none.
func bucket(v *sim.Verdict) string {
	said := v.Branches[0].Policies["MeshRateLimit"].Why["local.http.requestRate"]
	if len(said) == 0 || said[len(said)-1].Origin == nil {
		return ""
	}
	o := said[len(said)-1].Origin
	return fmt.Sprintf("%s %s at %s:%d", o.Ref, o.Field, v.Destination.Name, v.Destination.Port)
}

// view is what becomes of a request, in words that both meshes have.
type view struct {
	Outcome        sim.Outcome
	Status         uint32
	GRPC           *uint32
	Location, Body string
	Backends       map[string]string // shares
	Authorization  []*route.Authorization
	Answer         *sim.ResponseHeaders
	Mirrors        []string
	Policies       map[string]string
	Ends           []sim.EndOfAll
}

func asText(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // verdicts are made to be written
	}
	return string(text)
}

// seen is the view of a branch of what becomes of a request to an authority, without what
// codes forgive.
func seen(b *sim.Branch, authority string, forgiven []string) view {
	missing := slices.Contains(forgiven, "MissingBackend")
	out := view{Outcome: b.Outcome, Status: b.Status, GRPC: b.GRPCStatus, Body: b.Body, Authorization: b.Authorization, Answer: b.ResponseHeaders, Ends: b.Ends,
		Location: located(b.Location, authority), Backends: map[string]string{}, Policies: map[string]string{}}
	if h := b.ResponseHeaders; b.Body != "" && h != nil && len(h.Set) == 1 && h.Set["content-type"] == "text/plain" && len(h.Add)+len(h.Remove) == 0 {
		out.Answer = nil // which Envoy says of a body itself
	}
	shares, lost := map[string]float64{}, 0.0
	for i := range b.Backends {
		x := &b.Backends[i]
		switch {
		case x.Share == 0:
		case x.Status != 0 && missing:
			lost += x.Share
		case x.Status != 0:
			shares[fmt.Sprintf("an answer of %d", x.Status)] += x.Share
		default:
			shares[called(x, b.Forwarded, authority, forgiven)] += x.Share
		}
	}
	for name, share := range shares {
		out.Backends[name] = fmt.Sprintf("%.9f", share/(1-lost))
	}
	own := b.Outcome == sim.Respond && b.Body == "" && (b.Status == 500 || b.Status == 503) && len(b.Backends) == 0
	for _, x := range b.Mirrors {
		share := x.Share
		if missing { // of requests that a missing backend does not get there are no copies
			share = 1
		}
		out.Mirrors = append(out.Mirrors, asText([]any{x.Name, x.Namespace, x.Tags, x.Port, share}))
	}
	slices.Sort(out.Mirrors)
	if lost == 1 || own && missing { // of backends that are not there: each language has its answer
		out.Outcome, out.Status, out.GRPC, out.Ends = "missing", 0, nil, nil
		return out
	}
	for kind, p := range b.Policies {
		if b.Outcome == sim.Forward || kind == "MeshRateLimit" { // else it does nothing
			if text := confText(kind, p.Conf, forgiven); text != "" {
				out.Policies[kind] = text
			}
		}
		if b.Outcome == sim.Respond && slices.Contains(forgiven, "PoliciesAct") {
			delete(out.Policies, kind)
		}
	}
	return out
}

// called is a backend with how it is asked.
func called(x *sim.Backend, all *sim.Forwarded, authority string, forgiven []string) string {
	f := *sentTo(x.Forwarded, all)
	if f.Authority == authority {
		f.Authority = "as asked"
	}
	balance, http2 := x.Balance, x.HTTP2
	if slices.Contains(forgiven, "BalancingNotExpressible") {
		balance = ""
	}
	if slices.Contains(forgiven, "ProtocolNotExpressible") {
		http2 = false
	}
	return asText([]any{x.Name, x.Namespace, x.Tags, x.Port, f, x.ResponseHeaders, balance, http2})
}

// confText is the conf of a policy of a kind, empty where it says nothing.
func confText(kind string, conf any, forgiven []string) string {
	var fields m
	if err := json.Unmarshal([]byte(asText(conf)), &fields); err != nil {
		panic(err) // confs are objects
	}
	for _, f := range forgiven {
		if at, ok := strings.CutPrefix(f, kind+" "); ok {
			drop(fields, strings.Split(at, "."))
		}
	}
	if slices.Contains(forgiven, "ConnectionsNotExpressible") {
		if delete(fields, "idleTimeout"); fields["connectionTimeout"] == "5s" { // the default where a policy says something else
			delete(fields, "connectionTimeout")
		}
	}
	if len(fields) == 0 {
		return ""
	}
	return asText(fields)
}

// drop takes a field out of an object.
func drop(from m, at []string) {
	if inner, ok := from[at[0]].(m); ok && len(at) > 1 {
		drop(inner, at[1:])
		return
	}
	delete(from, at[0])
}

func sentTo(own, all *sim.Forwarded) *sim.Forwarded {
	switch {
	case own != nil:
		return own
	case all != nil:
		return all
	}
	return &sim.Forwarded{}
}

// located is a location where the host that was asked for has no name.
func located(location, authority string) string {
	at, err := url.Parse(location)
	if err != nil || location == "" {
		return location
	}
	host, _, _ := strings.Cut(authority, ":")
	if at.Hostname() == host {
		at.Host = "as-asked"
	}
	return at.String()
}

// shown are the routes of both meshes, and the notes.
func (a *agreement) shown(objects []*api.Object) string {
	out := ""
	for _, o := range slices.Concat(objects, a.result.Objects) {
		typ, _ := world.Catalog().Find(o.Kind)
		if typ.Route || typ.Policy {
			text, _ := decode.PrintYAML(world.Catalog(), o)
			out += "---\n" + string(text)
		}
	}
	for _, n := range a.result.Notes {
		out += fmt.Sprintf("%s %s %s %s: %s\n", n.Severity, n.Code, n.Origin.FullName(), n.Field, n.Message)
	}
	return out
}

// reduced says the same of as few routes as possible.
func reduced(t *testing.T, docs []m, from, to, kind string, n uint64, said string) string {
	var routes, others []m
	for _, doc := range docs {
		if typ, _ := world.Catalog().Find(doc["type"].(string)); typ.Route {
			routes = append(routes, doc)
		} else {
			others = append(others, doc)
		}
	}
	routes = differential.Reduced(t, routes, func(smaller []m) bool {
		again, _, _ := moved(nil, slices.Concat(smaller, others), from, to, kind, n)
		return again != "" && category(again) == category(said)
	})
	said, _, _ = moved(t, slices.Concat(routes, others), from, to, kind, n)
	return said
}

// category is the second line of what is said, as far as it is of one kind.
func category(said string) string {
	_, rest, _ := strings.Cut(said, "\n")
	return strings.Join(strings.Fields(rest)[:1], " ")
}

package convert_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/decode"
	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/convert"
	"github.com/weftmesh/weft/internal/differential"
	"github.com/weftmesh/weft/route"
	"github.com/weftmesh/weft/route/match"
)

var (
	seed   = flag.Uint64("seed", 1, "of the random documents")
	worlds = flag.Uint64("worlds", 25, "how many sets of documents are drawn; a fifth of them with -short")
)

// drawn is how many sets of documents are drawn.
func drawn() uint64 {
	if testing.Short() {
		return max(1, *worlds/5)
	}
	return *worlds
}

// kinds are the languages by the kind that they print.
var kinds = map[string]string{"kuma": "MeshHTTPRoute", "gateway": "HTTPRoute", "contour": "HTTPProxy", "skipper": "RouteGroup"}

// asked is a random request in the words that the documents have.
func asked(r *rand.Rand) *match.Request {
	one := func(list ...string) string { return list[r.IntN(len(list))] }
	headers := map[string][]string{}
	for _, name := range []string{"x-a", "x-b", "cookie", "content-length"} {
		if r.IntN(2) == 0 {
			headers[name] = []string{one("1", "12", "a b", "é", "éé", "", "2")}
		}
	}
	if r.IntN(3) == 0 {
		headers["cookie"] = []string{one("c=1", "c=A", "canary=A; c=1", "c=BAD")}
	}
	return &match.Request{
		Method: one("GET", "GET", "POST", "PUT", "DELETE"), Authority: one("h.example", "g.example", "web:8080", "x.example:80"),
		Path:  one("/", "/a", "/a/", "/a/b", "/ab", "/a/b/x", "/v1", "/v1/x", "/v10", "/b", "/b/c", "/A", "/a.b", "/axb", "/x/b", "/a/b/c/d", "/v1/", "/pkg.Service/Call"),
		Query: one("", "q=1", "q=2&r=1", "r=x%20y", "q=12", "q="), Header: func(name string) []string { return headers[name] },
		Draw:  r.Int64N(match.Chances),
		Claim: func(string) (string, bool) { return one("a", "b"), r.IntN(2) == 0 },
	}
}

// carriedAtLeast are the percents of rules, by languages, of which nothing is reported: four
// fifths of what they are with the seed and the worlds of every day.
var carriedAtLeast = map[string]int{
	"contour to gateway": 20, "contour to kuma": 23, "contour to skipper": 37,
	"gateway to contour": 14, "gateway to kuma": 43, "gateway to skipper": 20,
	"kuma to contour": 28, "kuma to gateway": 55, "kuma to skipper": 28,
	"skipper to contour": 35, "skipper to gateway": 35, "skipper to kuma": 36,
}

// TestTranslationsActAlike: what is not reported takes the same requests as before and
// does the same with them, for random documents of each language and each other language.
func TestTranslationsActAlike(t *testing.T) {
	t.Parallel()
	for from := range kinds {
		for to, kind := range kinds {
			if from == to {
				continue
			}
			t.Run(from+" to "+to, func(t *testing.T) {
				t.Parallel()
				carried, all := 0, 0
				for n := range drawn() {
					x := &translation{t: t, from: from, to: to, random: rand.New(rand.NewPCG(*seed, n))}
					x.objects = decoded(t, differential.Languages(*seed, n)[from])
					x.options = convert.Options{Catalog: world.Catalog(), Dialects: world.Readable(), Kind: kind, Host: "h.example",
						Service: api.TargetRef{Kind: api.KindMeshService, Name: "web", SectionName: "8080"}, Edge: api.Ref{Name: "gateway"}}
					c, a := x.check(n)
					carried, all = carried+c, all+a
				}
				enough(t, "rules are carried", carried, all, carriedAtLeast[from+" to "+to])
			})
		}
	}
}

func decoded(t *testing.T, docs []map[string]any) []*api.Object {
	t.Helper()
	objects, err := objectsOf(docs)
	if err != nil {
		t.Fatal(err)
	}
	return objects
}

// objectsOf are documents as objects, if none of them is wrong.
func objectsOf(docs []map[string]any) ([]*api.Object, error) {
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

// translation is one set of documents, translated.
type translation struct {
	t        *testing.T
	from, to string
	random   *rand.Rand
	objects  []*api.Object
	options  convert.Options
	result   convert.Result
}

func (x *translation) check(n uint64) (carried, all int) {
	x.result = convert.Objects(x.objects, x.options)
	x.printable()
	for _, p := range convert.Pairs(x.objects, x.options) {
		for _, r := range p.Before.Rows {
			if all++; !p.Bare && !x.reported(r.MergedRule) {
				carried++
			}
		}
		for range 150 {
			q := asked(x.random)
			was, old := first(p.Before, q)
			is, now := first(p.After, q)
			if convert.Does(was, old, q.Path) == convert.Does(is, now, q.Path) || x.excused(&p, q) {
				continue
			}
			docs := ""
			for _, o := range append(slices.Clone(x.objects), x.result.Objects...) {
				if o.Kind == kinds[x.from] || o.Kind == kinds[x.to] {
					text, _ := decode.PrintYAML(world.Catalog(), o)
					docs += "---\n" + string(text)
				}
			}
			x.t.Fatalf("world %d: %s %s?%s x-a=%q x-b=%q cookie=%q\nwas %s\nis  %s\nnotes %v\n%s", n, q.Method, q.Path, q.Query, q.Header("x-a"), q.Header("x-b"), q.Header("cookie"),
				convert.Does(was, old, q.Path), convert.Does(is, now, q.Path), x.messages(), docs)
		}
	}
	return carried, all
}

// printable wants documents that are read as what they are.
func (x *translation) printable() {
	for _, o := range x.result.Objects {
		text, err := decode.PrintDocument(world.Catalog(), o)
		if err != nil {
			x.t.Fatal(err)
		}
		again, err := decode.Objects(world.Catalog(), "", text)
		if err != nil && len(again) != 1 {
			x.t.Fatalf("%v\n%s", err, text)
		}
	}
}

func (x *translation) messages() []string {
	var out []string
	for _, n := range x.result.Notes {
		out = append(out, fmt.Sprintf("\n%s %s %s: %s", n.Severity, n.Origin.FullName(), n.Field, n.Message))
	}
	return out
}

// first is the rule that takes a request, and what it asks.
func first(c route.Composition, q *match.Request) (*route.MergedRule, *match.Condition) {
	for i := range c.Rows {
		if c.Rows[i].Match.Holds(q) {
			return c.Rows[i].MergedRule, c.Rows[i].Match.Path()
		}
	}
	return c.Default, match.CatchAll.Path()
}

// leftOut are the codes of what is not written of a rule.
var leftOut = []string{route.UnsaidAction, route.UnsaidFilter, route.UnsaidMatch, route.UnsaidBackend, route.UnsaidPlace, "PartNotExpressible", "OrderNotExpressible", "Guarded", "Invalid"}

// reported reports whether something of a rule is said to be left out.
func (x *translation) reported(c *route.MergedRule) bool {
	return slices.ContainsFunc(x.result.Notes, func(n api.Note) bool {
		return slices.Contains(leftOut, n.Code) && slices.ContainsFunc(c.Origins, func(o *api.Origin) bool { return o.Ref == n.Origin.Ref && o.Field == n.Field })
	})
}

// excused reports whether a request matches what is left out, or nothing where what
// matches nothing is said to be answered otherwise.
func (x *translation) excused(p *convert.Pair, q *match.Request) bool {
	if p.Bare && slices.ContainsFunc(x.result.Notes, func(n api.Note) bool { return n.Code == route.UnsaidPlace && n.Field == "" }) {
		return true
	}
	for _, r := range p.Before.Rows {
		if r.Match.Holds(q) && x.reported(r.MergedRule) {
			return true
		}
	}
	_, on := first(p.Before, q)
	return on == match.CatchAll.Path() && slices.ContainsFunc(x.result.Notes, func(n api.Note) bool { return n.Code == "UnmatchedDiffers" })
}

package convert_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/decode"
	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/convert"
	"github.com/weftmesh/weft/internal/differential"
	"github.com/weftmesh/weft/route"
)

// TestPrintedInTheirOwnLanguage: documents that are printed in their own language and read
// back mean the same, and are printed as the same text again.
func TestPrintedInTheirOwnLanguage(t *testing.T) {
	t.Parallel()
	for language, kind := range map[string]string{"kuma": "MeshHTTPRoute", "gateway": "HTTPRoute", "contour": "HTTPProxy", "skipper": "RouteGroup"} {
		t.Run(language, func(t *testing.T) {
			t.Parallel()
			rules, left := 0, 0
			for n := range drawn() {
				x := &own{t: t, kind: kind, random: rand.New(rand.NewPCG(*seed, n))}
				r, l := x.check(n, decoded(t, differential.Languages(*seed, n)[language]))
				rules, left = rules+r, left+l
			}
			if left*5 > rules || rules == 0 {
				t.Errorf("%d things are left out of %d rules", left, rules)
			}
		})
	}
}

// own are documents of one language.
type own struct {
	t      *testing.T
	kind   string
	random *rand.Rand
}

// flat reports whether all that objects of the language say together can be said by one:
// of an HTTPProxy the conditions of includes are joined, of a RouteGroup predicates.
func (x *own) flat() bool { return x.kind == "MeshHTTPRoute" || x.kind == "HTTPRoute" }

func (x *own) check(n uint64, objects []*api.Object) (rules, left int) {
	x.t.Helper()
	options := convert.Options{Catalog: world.Catalog(), Dialects: world.Readable(), Kind: x.kind, Edge: api.Ref{Name: "g"}}
	once, pairs, read := convert.Own(objects, options)
	for _, p := range pairs {
		rules += len(p.Before.Rows)
		for range 100 {
			q := asked(x.random)
			was, old := first(p.Before, q)
			is, now := first(p.After, q)
			does, does2 := convert.Does(was, old, q.Path), convert.Does(is, now, q.Path)
			if does != does2 && !(&translation{result: once}).excused(&p, q) {
				x.t.Fatalf("world %d: %s %s?%s\nwas %s\nis  %s\n%s%s", n, q.Method, q.Path, q.Query, does, does2, x.text(objects), x.text(once.Objects))
			}
		}
	}
	for _, note := range once.Notes {
		if note.Severity != api.Error || excusable(note, read) {
			continue
		}
		if left++; !x.flat() {
			continue
		}
		x.t.Fatalf("world %d: %s %s: %s %s\n%s", n, note.Origin.FullName(), note.Field, note.Code, note.Message, x.text(objects)+strings.Join((&translation{result: once}).messages(), ""))
	}
	beside := slices.DeleteFunc(slices.Clone(objects), func(o *api.Object) bool { return o.Kind == x.kind })
	twice, _, _ := convert.Own(slices.Concat(beside, once.Objects), options)
	thrice, _, _ := convert.Own(slices.Concat(beside, twice.Objects), options)
	a, b, c := x.text(once.Objects), x.text(twice.Objects), x.text(thrice.Objects)
	if sorted(a) != sorted(b) || b != c {
		x.t.Fatalf("world %d: printed\n%s\nread and printed again it differs (-once +twice)\n%s\n(-twice +thrice)\n%s", n, a, cmp.Diff(a, b), cmp.Diff(b, c))
	}
	return rules, left
}

// excusable reports whether a note is one of reading the source, or about what the language
// has no words for although it reads it: a rule of which reading says that something is wrong,
// with what would take its requests then, and a backend that cannot be. That a limit of a host
// cannot be said is none: it is left out.
func excusable(n api.Note, read []api.Note) bool {
	return n.Code == route.UnsaidBackend && strings.HasPrefix(n.Message, "the backend leads nowhere: ") || slices.ContainsFunc(read, func(x api.Note) bool {
		return x.Severity == api.Error && x.Code != route.UnsaidFilter && x.Origin.Ref == n.Origin.Ref && (x.Code == n.Code && x.Field == n.Field || n.Code == "Guarded" || n.Field != "" && x.Field.Within(n.Field))
	})
}

// sorted are the lines of a text without their order, in which rules that no request meets
// together may change places, and without what makes expressions longer, by which some
// languages order them: as few are made so as an order needs.
func sorted(text string) string {
	lines := strings.Split(strings.NewReplacer("(?:)", "", "- ", "  ").Replace(text), "\n")
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// text are the objects of the kind as documents.
func (x *own) text(objects []*api.Object) string {
	out := ""
	for _, o := range objects {
		if o.Kind == x.kind {
			text, err := decode.PrintYAML(world.Catalog(), o)
			if err != nil {
				x.t.Fatal(err)
			}
			out += "---\n" + string(text)
		}
	}
	return out
}

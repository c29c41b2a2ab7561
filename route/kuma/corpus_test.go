package kuma_test

import (
	"testing"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/decode"
	"github.com/weftmesh/weft/internal/corpus"
	"github.com/weftmesh/weft/route"
	"github.com/weftmesh/weft/route/kuma"
)

// Every text of the corpus gives the lines that stand under it.
func TestCorpus(t *testing.T) {
	t.Parallel()
	corpus.Check(t, catalog, "testdata/*.txtar")
}

// FuzzDecode: no text makes the decoder panic, and what it accepts can be
// translated and compared.
func FuzzDecode(f *testing.F) {
	f.Add([]byte(everything))
	for _, text := range corpus.Texts(f) {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		objects, _ := decode.Objects(catalog, "f", text)
		for _, o := range objects {
			says := kuma.Dialect.Read(o, nil)
			if spec, ok := o.Spec.(*kuma.TCPRoute); ok && (len(says.Entries) != len(spec.To) || !says.Connections) {
				t.Fatalf("of the %d entries of %s there are %d", len(spec.To), o.Ref, len(says.Entries))
			}
			for i := range says.Entries {
				e := &says.Entries[i]
				for _, r := range e.Rules {
					for i := range r.Matches {
						if kuma.Compare(&r.Matches[0], &r.Matches[i]) != -kuma.Compare(&r.Matches[i], &r.Matches[0]) {
							t.Fatal("the order is none")
						}
					}
				}
				kuma.Dialect.Compose(route.Frontend{}, []route.Candidate{{ParsedRoute: says, Entry: e}})
			}
		}
	})
}

func BenchmarkDecode(b *testing.B) {
	c := api.NewCatalog(kuma.Dialect.Types...)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := decode.Objects(c, "", []byte(everything)); err != nil {
			b.Fatal(err)
		}
	}
}

package gateway_test

import (
	"testing"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/decode"
	"github.com/weftmesh/weft/internal/corpus"
	"github.com/weftmesh/weft/route"
	"github.com/weftmesh/weft/route/gateway"
)

// catalog knows the language and no other.
var catalog = api.NewCatalog(append(gateway.Dialect.Types, gateway.Dialect.Beside...)...)

// nothing is a mesh without other documents.
type nothing struct{}

func (nothing) Zone() api.Zone                                  { return api.Zone{} }
func (nothing) Object(api.Ref) (*api.Object, bool)              { return nil, false }
func (nothing) Keyed(string, string) []*api.Object              { return nil }
func (nothing) Shares(*api.Object, string) bool                 { return true }
func (nothing) Objects(string, map[string]string) []*api.Object { return nil }

// Every text of the corpus gives the lines that stand under it.
func TestCorpus(t *testing.T) {
	t.Parallel()
	corpus.Check(t, catalog, "testdata/*.txtar")
}

// Every text has the notes and tables that stand under it.
func TestTables(t *testing.T) {
	t.Parallel()
	corpus.Routes(t, gateway.Dialect, "testdata/tables/*.txtar")
}

// FuzzDecode: no text makes the decoder panic, and what it accepts can be translated,
// composed and shown.
func FuzzDecode(f *testing.F) {
	for _, text := range corpus.Texts(f) {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		objects, _ := decode.Objects(catalog, "f", text)
		for _, o := range objects {
			if o.Kind == gateway.KindReferenceGrant {
				continue
			}
			says := gateway.Dialect.Read(o, nothing{})
			for i := range says.Entries {
				gateway.Dialect.Compose(route.Frontend{Port: 80}, []route.Candidate{{ParsedRoute: says, Entry: &says.Entries[i]}})
			}
			gateway.Dialect.Status(route.Findings{Object: o, Notes: says.Notes})
		}
	})
}

package contour_test

import (
	"testing"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/decode"
	"github.com/weftmesh/weft/internal/corpus"
	"github.com/weftmesh/weft/route"
	"github.com/weftmesh/weft/route/contour"
)

// documents are a mesh of one text.
type documents map[api.Ref]*api.Object

func (d documents) Object(ref api.Ref) (*api.Object, bool) {
	o, ok := d[ref]
	return o, ok
}
func (documents) Zone() api.Zone                                  { return api.Zone{} }
func (documents) Keyed(string, string) []*api.Object              { return nil }
func (documents) Shares(*api.Object, string) bool                 { return true }
func (documents) Objects(string, map[string]string) []*api.Object { return nil }

// FuzzDecode: whatever documents say, each is refused or gets routes and a status,
// without a panic, also where they include each other.
func FuzzDecode(f *testing.F) {
	for _, text := range corpus.Texts(f) {
		f.Add(text)
	}
	catalog := api.NewCatalog(append(contour.Dialect.Types, contour.Dialect.Beside...)...)
	f.Fuzz(func(_ *testing.T, text []byte) {
		objects, _ := decode.Objects(catalog, "f", text)
		all := documents{}
		for _, o := range objects {
			all[o.Ref] = o
		}
		for _, o := range objects {
			if o.Kind != contour.KindHTTPProxy {
				continue
			}
			says := contour.Dialect.Read(o, all)
			for i := range says.Entries {
				contour.Dialect.Compose(route.Frontend{Name: says.Entries[i].To.Name, Port: 80}, []route.Candidate{{ParsedRoute: says, Entry: &says.Entries[i]}})
			}
			contour.Dialect.Status(route.Findings{Object: o, Notes: says.Notes})
		}
	})
}

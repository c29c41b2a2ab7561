package pods_test

import (
	"testing"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/decode"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/resolve/pods"
)

// FuzzStage: whatever documents say, what follows from them can be derived.
func FuzzStage(f *testing.F) {
	for _, c := range rows {
		f.Add([]byte(c.docs))
	}
	f.Add([]byte(headless(2, "db-")))
	f.Add([]byte(many(3)))
	catalog := api.NewCatalog(api.Types()...)
	f.Fuzz(func(t *testing.T, docs []byte) {
		objects, _ := decode.Objects(catalog, "docs.yaml", docs)
		var changes []snapshot.Change
		for _, o := range objects {
			changes = append(changes, snapshot.Change{After: o})
		}
		s := pods.NewStage("z")
		g, made, _ := s.Update(s.New(), changes)
		if failed := s.Failures(g); len(failed) > 0 {
			t.Fatalf("%+v", failed)
		}
		for _, ch := range made {
			if ch.After.From == nil || ch.After.Name == "" || ch.After.Mesh == "" {
				t.Fatalf("%+v", ch.After)
			}
		}
	})
}

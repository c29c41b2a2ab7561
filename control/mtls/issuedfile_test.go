package mtls

import (
	"maps"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/control/issuer"
	"github.com/weftmesh/weft/files"
)

// TestLeavesAreWrittenAsTheyWere: the file of an earlier version is read, and what is written says the
// same of the same dataplanes, also before there is a model that knows them.
func TestLeavesAreWrittenAsTheyWere(t *testing.T) {
	t.Parallel()
	const text = `{"given":[
		{"dataplane":{"kind":"Dataplane","mesh":"default","name":"web-1"},"owner":{"kind":"Mesh","name":"default"},"root":"a","ends":"2099-01-01T00:00:00Z"},
		{"dataplane":{"kind":"Dataplane","mesh":"default","namespace":"shop","name":"pay.v2"},"owner":{"kind":"Mesh","name":"default"},"root":"b","ends":"2099-02-01T00:00:00Z"},
		{"dataplane":{"kind":"Dataplane","mesh":"default","name":"gone-1"},"owner":{"kind":"Mesh","name":"default"},"root":"a","ends":"2001-01-01T00:00:00Z"}]}`
	dir := t.TempDir()
	file := filepath.Join(dir, leavesFile)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	p := unservedAt(t, dir)
	if err := p.Parts.issued.ledger.write(); err != nil {
		t.Fatal(err)
	}
	var kept keptLeaves
	if err := files.ReadState(file, &kept); err != nil {
		t.Fatal(err)
	}
	got := map[issuer.GivenCertificate]bool{}
	for _, x := range kept.Given {
		x.Ends = x.Ends.UTC()
		got[x] = true
	}
	mesh := api.Ref{Kind: api.KindMesh, Name: "default"}
	want := map[issuer.GivenCertificate]bool{
		{Dataplane: api.Ref{Kind: api.KindDataplane, Mesh: "default", Name: "web-1"}, Owner: mesh, Root: "a", Ends: time.Date(2099, 1, 1, 0, 0, 0, 0, time.UTC)}:                     true,
		{Dataplane: api.Ref{Kind: api.KindDataplane, Mesh: "default", Namespace: "shop", Name: "pay.v2"}, Owner: mesh, Root: "b", Ends: time.Date(2099, 2, 1, 0, 0, 0, 0, time.UTC)}: true,
	}
	if !maps.Equal(got, want) {
		t.Errorf("written is %v, not %v", got, want)
	}
}

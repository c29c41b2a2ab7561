package crd_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/weftmesh/weft/api/crd"
	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/internal/corpus"
	"github.com/weftmesh/weft/internal/kubetest"
)

// TestAPIServerKeepsTheCorpus: a real API server takes every definition, takes the documents
// that the tests without one say it takes, and stores what they say it stores.
func TestAPIServerKeepsTheCorpus(t *testing.T) {
	t.Parallel()
	server := kubetest.Start(t)
	paths, versions := install(t, server)
	taken, refused := 0, 0
	for _, d := range corpus.Documents(t, world.Catalog(), "../..") {
		doc := anonymous(d.JSON, versions[d.Type.Name])
		want := served()[d.Type.Name].Ask(doc)
		status, got := server.Send(t, http.MethodPost, paths[d.Type.Name]+"?dryRun=All&fieldValidation=Ignore", doc)
		switch accepts := status == http.StatusCreated; {
		case accepts != (len(want.Errors) == 0):
			t.Errorf("%s: an API server answers %d %v, want errors %v", d.Place, status, got["message"], want.Errors)
		case !accepts:
			refused++
		default:
			delete(got, "metadata")
			delete(want.Stored, "metadata")
			if diff := cmp.Diff(number(t, want.Stored), got); diff != "" {
				t.Errorf("%s: stored is (-want +got):\n%s", d.Place, diff)
			}
			taken++
		}
	}
	if taken < 500 || refused < 20 {
		t.Errorf("%d documents taken, %d refused", taken, refused)
	}
}

// install creates the definitions, and returns the paths of their collections and their
// versions by kind.
func install(t *testing.T, server *kubetest.Cluster) (paths, versions map[string]string) {
	t.Helper()
	const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
	c := world.Catalog()
	paths, versions = map[string]string{}, map[string]string{}
	for _, d := range crd.All(c, "dev", crd.Bundles(c)...) {
		if status, got := server.Send(t, http.MethodPost, definitions, d); status != http.StatusCreated {
			t.Fatalf("%s: %d %v", d.Metadata.Name, status, got["message"])
		}
		version := d.Spec.Group + "/" + d.Spec.Versions[0].Name
		path := "/apis/" + version
		if d.Spec.Scope == "Namespaced" {
			path += "/namespaces/default"
		}
		paths[d.Spec.Names.Kind], versions[d.Spec.Names.Kind] = path+"/"+d.Spec.Names.Plural, version
	}
	deadline := time.Now().Add(time.Minute)
	for kind, path := range paths {
		for status := 0; status != http.StatusOK; time.Sleep(20 * time.Millisecond) {
			if status, _ = server.Send(t, http.MethodGet, path, nil); time.Now().After(deadline) {
				t.Fatalf("%s is not served: %d", kind, status)
			}
		}
	}
	return paths, versions
}

// anonymous is a document as somebody sends it who creates it: in the version that is served,
// with a name that every kind may have, and without status.
func anonymous(document map[string]any, version string) map[string]any {
	out := maps.Clone(document)
	delete(out, "status")
	out["apiVersion"], out["metadata"] = version, map[string]any{"name": "d"}
	return out
}

// number is a document with the numbers that reading JSON gives.
func number(t *testing.T, document map[string]any) (out map[string]any) {
	t.Helper()
	text, err := json.Marshal(document)
	if err == nil {
		err = json.Unmarshal(text, &out)
	}
	if err != nil {
		t.Fatal(err)
	}
	return out
}

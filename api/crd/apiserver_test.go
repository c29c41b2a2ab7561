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
	paths := install(t, server)
	taken, refused := 0, 0
	for _, d := range corpus.Documents(t, world.Catalog(), "../..") {
		doc := anonymous(d.JSON)
		version, _ := doc["apiVersion"].(string)
		path := paths[d.Type.Name+" "+version]
		if path == "" { // of a version that an API server would not know
			doc["apiVersion"] = d.Type.APIVersion()
			path = paths[d.Type.Name+" "+d.Type.APIVersion()]
		}
		want := served()[d.Type.Name].Ask(doc)
		status, got := server.Send(t, http.MethodPost, path+"?dryRun=All&fieldValidation=Ignore", doc)
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

// install creates the definitions, and returns the paths of their collections by kind and
// version.
func install(t *testing.T, server *kubetest.Cluster) map[string]string {
	t.Helper()
	const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
	c := world.Catalog()
	paths := map[string]string{}
	for _, d := range crd.All(c, "dev", crd.Bundles(c)...) {
		if status, got := server.Send(t, http.MethodPost, definitions, d); status != http.StatusCreated {
			t.Fatalf("%s: %d %v", d.Metadata.Name, status, got["message"])
		}
		for _, v := range d.Spec.Versions {
			version := d.Spec.Group + "/" + v.Name
			path := "/apis/" + version
			if d.Spec.Scope == "Namespaced" {
				path += "/namespaces/default"
			}
			paths[d.Spec.Names.Kind+" "+version] = path + "/" + d.Spec.Names.Plural
		}
	}
	deadline := time.Now().Add(time.Minute)
	for kind, path := range paths {
		for status := 0; status != http.StatusOK; time.Sleep(20 * time.Millisecond) {
			if status, _ = server.Send(t, http.MethodGet, path, nil); time.Now().After(deadline) {
				t.Fatalf("%s is not served: %d", kind, status)
			}
		}
	}
	return paths
}

// anonymous is a document as somebody sends it who creates it: with a name that every kind
// may have, and without status.
func anonymous(document map[string]any) map[string]any {
	out := maps.Clone(document)
	delete(out, "status")
	out["metadata"] = map[string]any{"name": "d"}
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

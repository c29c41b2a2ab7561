package webhook_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/crd"
	"github.com/weftmesh/weft/api/decode"
	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/internal/corpus"
	"github.com/weftmesh/weft/internal/kubetest"
)

// mostOfKind bounds how many documents of one kind are applied.
const mostOfKind = 6

// unchanged: who applies the same text again changes nothing, be it by server-side apply, by PUT or
// as a dry run: what was sent stays to the letter, beside it stand the defaults of the
// definition alone, which the API server fills in, and weft says no more of what is stored than of
// what was sent. For every kind of custom resource, and the examples for Kubernetes.
func (b *bed) unchanged(t *testing.T) {
	known, namespaced := map[string]int{}, map[string]bool{}
	for _, d := range crd.All(world.Catalog(), "dev") {
		known[d.Spec.Names.Kind], namespaced[d.Spec.Names.Kind] = 0, d.Spec.Scope == "Namespaced"
	}
	var all []corpus.Document
	for _, folder := range []string{"api", "policies", "route", "examples", "testdata", "resolve"} {
		all = append(all, corpus.Documents(t, catalog, "../../"+folder)...)
	}
	for n, doc := range all {
		kind := doc.Type.Name
		if count, defined := known[kind]; !defined || count >= mostOfKind || !b.takes(t, n, namespaced[kind], doc.JSON) {
			continue
		}
		known[kind]++
		b.twice(t, doc.Place, doc.JSON)
	}
	for kind, count := range known {
		if count == 0 {
			t.Errorf("no document of kind %s was applied", kind)
		}
	}
	files, err := filepath.Glob("../../examples/kubernetes/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for n, doc := range kubetest.Documents(t, text) {
			kind, _ := doc["kind"].(string)
			if _, defined := known[kind]; !defined || !b.takes(t, 10_000+n, namespaced[kind], doc) {
				continue
			}
			if said := said(t, b.twice(t, file, doc)); len(said) > 0 {
				t.Errorf("%s: %s: %q", file, kind, said)
			}
		}
	}
}

// takes gives a document a name and a namespace of its own, and reports whether the API server
// takes it with all of its fields.
func (b *bed) takes(t *testing.T, n int, namespaced bool, doc map[string]any) bool {
	meta, _ := doc["metadata"].(map[string]any)
	if meta == nil {
		return false
	}
	labels, _ := meta["labels"].(map[string]any)
	if mesh, ok := labels[api.LabelMesh]; ok && mesh != "default" {
		return false
	}
	delete(doc, "status")
	doc["metadata"] = meta
	meta["name"] = fmt.Sprintf("twice-%d", n)
	if !namespaced {
		delete(meta, "namespace")
		return b.dry(t, doc)
	}
	for _, namespace := range []string{"on", "weft-system"} {
		if meta["namespace"] = namespace; b.dry(t, doc) {
			return true
		}
	}
	return false
}

func (b *bed) dry(t *testing.T, doc map[string]any) bool {
	text, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	if _, wrong := decode.Objects(catalog, "", text); wrong != nil { // warnings too: fields that are not known
		return false
	}
	path := filepath.Dir(b.Path(t, doc))
	status, _ := b.Send(t, http.MethodPost, path+"?dryRun=All&fieldValidation=Strict", doc)
	return status == http.StatusCreated
}

// twice applies a document twice and more, and is what is stored of it.
func (b *bed) twice(t *testing.T, place string, doc map[string]any) map[string]any {
	t.Helper()
	first := b.bare(b.ApplyWarned(t, doc, ""))
	if !holds(first["spec"], plain(t, doc)["spec"]) {
		t.Errorf("%s: sent was\n%v\nstored is\n%v", place, doc["spec"], first["spec"])
	}
	if again := b.bare(b.ApplyWarned(t, doc, "")); !reflect.DeepEqual(again, first) {
		t.Errorf("%s: applied again\n%v\nwas\n%v", place, again, first)
	}
	if dry := b.bare(b.ApplyWarned(t, doc, "dryRun=All")); !reflect.DeepEqual(dry, first) {
		t.Errorf("%s: as a dry run\n%v\nwas\n%v", place, dry, first)
	}
	status, put := b.Send(t, http.MethodPut, b.Path(t, doc), plain(t, doc, "resourceVersion", first["metadata"].(map[string]any)["resourceVersion"]))
	if put := b.bare(put, nil); status != http.StatusOK || !reflect.DeepEqual(put, first) {
		t.Errorf("%s: PUT again %d\n%v\nwas\n%v", place, status, put, first)
	}
	if before, after := said(t, doc), said(t, first); !slices.Equal(before, after) {
		t.Errorf("%s: of what was sent is said %q, of what is stored %q", place, before, after)
	}
	return first
}

// holds reports whether a stored value is the one that was sent, but for fields beside those.
func holds(stored, sent any) bool {
	switch sent := sent.(type) {
	case map[string]any:
		all, ok := stored.(map[string]any)
		for key, value := range sent {
			ok = ok && holds(all[key], value)
		}
		return ok
	case []any:
		all, ok := stored.([]any)
		return ok && slices.EqualFunc(all, sent, holds)
	}
	return reflect.DeepEqual(stored, sent)
}

// bare is an object without who manages which field.
func (b *bed) bare(object map[string]any, _ []string) map[string]any {
	meta, _ := object["metadata"].(map[string]any)
	delete(meta, "managedFields")
	return object
}

// plain is a document as JSON has it, with more in its metadata.
func plain(t *testing.T, doc map[string]any, more ...any) (out map[string]any) {
	t.Helper()
	text, err := json.Marshal(doc)
	if err == nil {
		err = json.Unmarshal(text, &out)
	}
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(more); i += 2 {
		out["metadata"].(map[string]any)[more[i].(string)] = more[i+1]
	}
	return out
}

// said is what weft says of a document by itself.
func said(t *testing.T, doc map[string]any) (out []string) {
	t.Helper()
	text, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	_, err = decode.Objects(catalog, "", text)
	for _, v := range api.Violations(err) {
		out = append(out, string(v.Field)+": "+v.Message)
	}
	return out
}

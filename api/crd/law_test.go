package crd_test

import (
	"encoding/json"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/crd"
	"github.com/weftmesh/weft/api/decode"
	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/internal/corpus"
	"github.com/weftmesh/weft/internal/crdtest"
)

// served are all definitions, as an API server has them.
var served = sync.OnceValue(func() map[string]*crdtest.Resource {
	c := world.Catalog()
	return crdtest.Resources(fatal{}, crd.All(c, "dev", crd.Bundles(c)...))
})

// fatal is for what another test says in words.
type fatal struct{ testing.TB }

func (fatal) Helper()               {}
func (fatal) Errorf(string, ...any) {}
func (fatal) Fatal(args ...any)     { panic(args) }

// What our validation accepts an API server accepts too, and drops nothing of it but
// what we warned of; and what it stores means what was sent.
func agree(t interface{ Errorf(string, ...any) }, place string, doc map[string]any) (crdtest.Answer, bool) {
	text, err := json.Marshal(doc)
	if err != nil {
		t.Errorf("%s: %v", place, err)
		return crdtest.Answer{}, false
	}
	sent, unknown := read(text)
	answer := served()[doc["kind"].(string)].Ask(doc)
	if sent == nil {
		return answer, false
	}
	for _, e := range answer.Errors {
		t.Errorf("%s: an API server refuses what we accept: %v\n%s", place, e, text)
	}
	for _, p := range answer.Pruned {
		if !unknown[p] && !strings.HasPrefix(p, "status.") {
			t.Errorf("%s: an API server drops %s, which we accept\n%s", place, p, text)
		}
	}
	if len(answer.Errors) > 0 {
		return answer, true
	}
	kept, err := json.Marshal(answer.Stored)
	if err != nil {
		t.Errorf("%s: %v", place, err)
	}
	stored, _ := read(kept)
	if stored == nil {
		t.Errorf("%s: we refuse what an API server makes of what we accept\n%s\n%s", place, text, kept)
	} else if diff := cmp.Diff(printed(sent), printed(stored)); diff != "" {
		t.Errorf("%s: what is stored is not what was sent (-sent +stored):\n%s", place, diff)
	}
	return answer, true
}

// read is the object of a text; nil where we refuse it. Unknown are the fields that we
// warn of.
func read(text []byte) (o *api.Object, unknown map[string]bool) {
	objects, err := decode.Objects(world.Catalog(), "", text)
	if len(objects) != 1 {
		return nil, nil
	}
	unknown = map[string]bool{}
	for _, v := range api.Violations(err) {
		if v.Code == "UnknownField" {
			unknown[string(v.Field)] = true
		}
	}
	return objects[0], unknown
}

func printed(o *api.Object) string {
	text, err := decode.PrintKubernetes(world.Catalog(), o)
	if err != nil {
		panic(err)
	}
	return string(text)
}

func TestCorpusIsKept(t *testing.T) {
	t.Parallel()
	accepted := map[string]int{}
	for _, d := range corpus.Documents(t, world.Catalog(), "../..") {
		if _, ours := agree(t, d.Place, d.JSON); ours {
			accepted[d.Type.Name]++
		}
	}
	for kind := range served() {
		if accepted[kind] == 0 {
			t.Errorf("no document of kind %s was accepted", kind)
		}
	}
}

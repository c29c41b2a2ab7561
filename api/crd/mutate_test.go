package crd_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/internal/corpus"
	"github.com/weftmesh/weft/internal/crdtest"
)

// words are values that stand at edges of what fields take.
var words = []any{
	nil, true, false, "", "x", "X", "*", "/", "/a/", "a", "a.b", "-", "0", "1", "80", "http", "Exact", "0s", "-1s", "1ms", "1us", "1h30m", "+.5h", "900000h", "5",
	int64(0), int64(1), int64(-1), int64(80), int64(65535), int64(65536), int64(1 << 32), 1.5, []any{}, map[string]any{}, map[string]any{"a": "b"},
	strings.Repeat("a", 64), strings.Repeat("a", 254), strings.Repeat("é", 1024), strings.Repeat("a", 1025), strings.Repeat("/a", 9000),
}

// The law holds for documents that are nearly right too: those of the corpus with a few
// values taken away, repeated, or put in the place of others.
func TestMutationsAgree(t *testing.T) {
	t.Parallel()
	all := corpus.Documents(t, world.Catalog(), "../..")
	byKind, values := map[string][]corpus.Document{}, map[string][]any{}
	for _, d := range all {
		byKind[d.Type.Name] = append(byKind[d.Type.Name], d)
		collect(d.JSON["spec"], values)
	}
	kinds := slices.Sorted(maps.Keys(byKind))
	accepted, refused := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		d := rapid.SampledFrom(byKind[rapid.SampledFrom(kinds).Draw(t, "kind")]).Draw(t, "document")
		doc := map[string]any{"spec": crdtest.Copy(d.JSON["spec"])}
		for key, v := range d.JSON {
			if key != "spec" {
				doc[key] = v
			}
		}
		for range rapid.IntRange(1, 3).Draw(t, "changes") {
			doc["spec"] = mutated(t, doc["spec"], values)
		}
		answer, ours := agree(t, d.Place, doc)
		if ours {
			accepted++
		}
		if len(answer.Errors) > 0 {
			refused++
		}
	})
	least := 10
	if testing.Short() { // with a fifth of the documents
		least = 1
	}
	if accepted < least || refused < least {
		t.Errorf("%d documents were accepted and %d refused by an API server: too few of either", accepted, refused)
	}
}

// collect adds the values of members by their names.
func collect(v any, values map[string][]any) {
	switch v := v.(type) {
	case map[string]any:
		for key, e := range v {
			values[key] = append(values[key], e)
			collect(e, values)
		}
	case []any:
		for _, e := range v {
			collect(e, values)
		}
	}
}

// mutated is v with a change at one place in it.
func mutated(t *rapid.T, v any, values map[string][]any) any {
	switch v := v.(type) {
	case map[string]any:
		keys := slices.Sorted(maps.Keys(v))
		if len(keys) == 0 {
			return v
		}
		key := rapid.SampledFrom(keys).Draw(t, "key")
		switch rapid.IntRange(0, 7).Draw(t, "how") {
		case 0:
			delete(v, key)
		case 1:
			v[key] = crdtest.Copy(rapid.SampledFrom(words).Draw(t, "word"))
		case 2:
			v[key] = crdtest.Copy(rapid.SampledFrom(values[key]).Draw(t, "value"))
		case 3: // a member from elsewhere
			other := rapid.SampledFrom(slices.Sorted(maps.Keys(values))).Draw(t, "other")
			v[other] = crdtest.Copy(rapid.SampledFrom(values[other]).Draw(t, "value"))
		default:
			v[key] = mutated(t, v[key], values)
		}
	case []any:
		if len(v) == 0 {
			return v
		}
		i := rapid.IntRange(0, len(v)-1).Draw(t, "index")
		switch rapid.IntRange(0, 5).Draw(t, "how") {
		case 0:
			return slices.Delete(slices.Clone(v), i, i+1)
		case 1: // many of it
			for range rapid.SampledFrom([]int{1, 10, 16, 32, 256}).Draw(t, "times") {
				v = append(v, crdtest.Copy(v[i]))
			}
			return v
		default:
			v[i] = mutated(t, v[i], values)
		}
	default:
		return crdtest.Copy(rapid.SampledFrom(words).Draw(t, "word"))
	}
	return v
}

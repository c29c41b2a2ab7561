package webhook

import (
	"encoding/json"
	"testing"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	"pgregory.net/rapid"
)

// drawn is a document: members, and lists of things with names, with the same names, and without.
func drawn(t *rapid.T, depth int) any {
	kinds := []string{"text", "number"}
	if depth > 0 {
		kinds = append(kinds, "members", "list", "named")
	}
	switch kind := rapid.SampledFrom(kinds).Draw(t, "kind"); kind {
	case "text":
		return rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "text")
	case "members":
		out := map[string]any{}
		for _, name := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"name", "x", "a/b", "~"}), 0, 3, rapid.ID[string]).Draw(t, "members") {
			out[name] = drawn(t, depth-1)
		}
		return out
	case "list", "named":
		out := []any{}
		for range rapid.IntRange(0, 4).Draw(t, "items") {
			item := drawn(t, depth-1)
			if m, ok := item.(map[string]any); kind == "named" {
				if !ok {
					m = map[string]any{"x": item}
				}
				m["name"] = rapid.SampledFrom([]string{"a", "b", "c", "d", "e"}).Draw(t, "name")
				item = m
			}
			out = append(out, item)
		}
		return out
	}
	return rapid.Float64Range(0, 3).Draw(t, "number")
}

// TestAPatchMakesWhatItIsOf: whatever two documents are, the first one is the second after the patch.
func TestAPatchMakesWhatItIsOf(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		before, after := map[string]any{"spec": drawn(t, 3)}, map[string]any{"spec": drawn(t, 3)}
		operations, err := patchOf(before, after)
		if err != nil {
			t.Fatal(err)
		}
		text := func(v any) []byte {
			out, err := json.Marshal(v)
			if err != nil {
				t.Fatal(err)
			}
			return out
		}
		got := text(before)
		if len(operations) > 0 {
			patch, err := jsonpatch.DecodePatch(text(operations))
			if err != nil {
				t.Fatal(err)
			}
			if got, err = patch.Apply(got); err != nil {
				t.Fatalf("%s to %s: %v", text(operations), text(before), err)
			}
		}
		if !jsonpatch.Equal(got, text(after)) {
			t.Fatalf("%s after %s is %s, not %s", text(before), text(operations), got, text(after))
		}
	})
}

package decode

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
	"pgregory.net/rapid"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/syntax"
)

// What a change does not concern stays as it is written.
func TestEdit(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ text, before, after, want string }{
		"order, comments and unknown fields stay": {
			"# head\nb: 1 # one\nunknown: [x]\na: {c: 2}\n", `{"a":{"c":2},"b":1}`, `{"a":{"c":3},"b":1,"d":"on"}`,
			"# head\nb: 1 # one\nunknown: [x]\na: {c: 3}\nd: \"on\"\n",
		},
		"items are followed by name": {
			"l:\n  - name: x # kept\n    u: 1\n", `{"l":[{"name":"x"}]}`, `{"l":[{"name":"new"},{"name":"x","z":2}]}`,
			"l:\n  - name: new\n  - name: x # kept\n    u: 1\n    z: 2\n",
		},
		"what goes, goes": {
			"p:\n  tcp: {port: 1}\n  every: 2\n", `{"p":{"tcp":{"port":1},"every":2}}`, `{"p":{"http":{"port":9},"every":2}}`,
			"p:\n  every: 2\n  http:\n    port: 9\n",
		},
		"others of an anchor stay": {
			"x: &a {n: 1}\ny: *a\nz: {<<: *a, m: 2}\n", `{"x":{"n":1},"y":{"n":1},"z":{"n":1,"m":2}}`, `{"x":{"n":1},"y":{"n":5},"z":{"n":1,"m":3}}`,
			"x: {n: 1}\ny: {n: 5}\nz: {m: 3, n: 1}\n",
		},
		"defaults of the program are not written": {
			"a: 1\n", `{"a":1,"status":{}}`, `{"a":2,"status":{}}`, "a: 2\n",
		},
		"JSON becomes YAML": {`{"a": "yes", "b": []}`, `{"a":"yes"}`, `{"a":"yes","c":1}`, "a: \"yes\"\nb: []\nc: 1\n"},
		"nothing to do":     {"a:   1\n", `{"a":1}`, `{"a":1}`, "a:   1\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := syntax.Edit(api.Source{Text: []byte(c.text), Line: 1}, []byte(c.before), []byte(c.after))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, string(got)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Where a program read everything, the changed document says what it is to say.
func TestEditArrives(t *testing.T) {
	t.Parallel()
	key := rapid.SampledFrom([]string{"a", "b", "name", "on", "<<x"})
	var value func(depth int) *rapid.Generator[any]
	value = func(depth int) *rapid.Generator[any] {
		leaf := rapid.OneOf(rapid.Just[any]("no"), rapid.Just[any](1.5), rapid.Just[any](true), rapid.Map(rapid.String(), func(s string) any { return s }))
		if depth == 0 {
			return leaf
		}
		return rapid.OneOf(leaf,
			rapid.Map(rapid.MapOfN(key, value(depth-1), 0, 3), func(m map[string]any) any { return m }),
			rapid.Map(rapid.SliceOfN(value(depth-1), 0, 3), func(l []any) any { return l }))
	}
	rapid.Check(t, func(t *rapid.T) {
		before := rapid.MapOfN(key, value(3), 1, 4).Draw(t, "before")
		after := rapid.MapOfN(key, value(3), 1, 4).Draw(t, "after")
		b, _ := json.Marshal(before)
		a, _ := json.Marshal(after)
		text, err := ToYAML(b)
		if err != nil {
			t.Fatal(err)
		}
		got, err := syntax.Edit(api.Source{Text: text, Line: 1}, b, a)
		if err != nil {
			t.Fatal(err)
		}
		var back map[string]any
		if err := yaml.Unmarshal(got, &back); err != nil {
			t.Fatalf("%v in\n%s", err, got)
		}
		if diff := cmp.Diff(after, back); diff != "" {
			t.Fatalf("%s\n%s", diff, got)
		}
	})
}

// Aliases that stand for very much are refused.
func TestEditOfManyAliases(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	text.WriteString("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n")
	for i := range 6 {
		n, m := string(rune('0'+i+1)), string(rune('0'+i))
		text.WriteString("a" + n + ": &a" + n + " [" + strings.Repeat("*a"+m+", ", 10) + "]\n")
	}
	if _, err := syntax.Edit(api.Source{Text: []byte(text.String()), Line: 1}, []byte(`{}`), []byte(`{"b":1}`)); err == nil || !strings.Contains(err.Error(), "too many aliases") {
		t.Errorf("%v", err)
	}
}

// Settings are read strictly, with places, all mistakes at once.
func TestInto(t *testing.T) {
	t.Parallel()
	var s struct {
		Name  string            `json:"name"`
		Ports []int             `json:"ports"`
		Free  any               `json:"free"`
		Env   map[string]string `json:"env"`
	}
	if err := Into("f.yaml", []byte("# only a comment\n"), "", &s); err != nil {
		t.Fatal(err)
	}
	if err := Into("f.yaml", []byte("name: x\nports: [1]\nfree: {a: [1]}\n"), "", &s); err != nil || s.Name != "x" || s.Free == nil {
		t.Fatal(err, s)
	}
	var got []string
	for _, v := range api.Violations(Into("f.yaml", []byte("nam: x\nports: [a]\nenv: {A: 1}\n"), "", &s)) {
		got = append(got, v.Error())
	}
	want := []string{
		`f.yaml:1:1: nam: unknown field; did you mean name?`,
		`f.yaml:2:9: ports[0]: "a" is not what belongs here; write a whole number up to 9223372036854775807`,
		`f.yaml:3:10: env["A"]: 1 is not a text; put it in quotes: "1"`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if err := Into("", []byte("a: [\n"), "metadata.annotations[x]", &s); err == nil || !strings.Contains(err.Error(), "metadata.annotations[x]: the text is not valid YAML") {
		t.Error(err)
	}
}

// Each document of a stream is as it is written.
func TestParts(t *testing.T) {
	t.Parallel()
	var got []string
	for s, wrong := range Parts("f", []byte("# a\nkind: A\n---\n# nothing\n--- \nkind: List\nitems: []\n---\n{\"kind\":\"B\"} {\"kind\":\"C\"}\n")) {
		if wrong != nil {
			t.Fatal(wrong)
		}
		got = append(got, string(s.Text))
	}
	if diff := cmp.Diff([]string{"# a\nkind: A\n", "kind: List\nitems: []\n", `{"kind":"B"}`, `{"kind":"C"}`}, got); diff != "" {
		t.Error(diff)
	}
}

package kuma_test

import (
	"encoding/json"
	"testing"

	"pgregory.net/rapid"

	"github.com/weftmesh/weft/route/kuma"
)

// The keys that Kuma gives (spec/kuma.md 2.1).
func TestKeyIsKumas(t *testing.T) {
	t.Parallel()
	for key, match := range map[string]kuma.PathMatch{
		"JNNc6//C3P17nUsOJm5f4kqG+U3v8pXhS0od9C3+oss=": {Value: "/", Type: kuma.Exact},
		kuma.ImplicitKey: {Value: "/", Type: kuma.Prefix},
		"waFsoIISmZDTfFWYqxvY265/GASHYEWvHQTwMh/bpuU=": {Value: "/api", Type: kuma.Prefix},
	} {
		if got := kuma.Key([]kuma.Match{{Path: &match}}); got != key {
			t.Errorf("%+v: got %s, want %s", match, got, key)
		}
	}
}

// Two rules meet when their matches are equal, in equal order, and only then.
func TestKeysAreEqualIffMatchesAre(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a := rapid.SliceOfN(rapid.Custom(keyMatch), 0, 3).Draw(t, "a")
		b := rapid.SliceOfN(rapid.Custom(keyMatch), 0, 3).Draw(t, "b")
		same := string(text(t, a)) == string(text(t, b))
		if got := kuma.Key(a) == kuma.Key(b); got != same {
			t.Fatalf("keys equal: %v, matches equal: %v", got, same)
		}
	})
}

func text(t *rapid.T, matches []kuma.Match) []byte {
	out, err := json.Marshal(matches)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// keyMatch draws from few values, so that two draws are often equal.
func keyMatch(t *rapid.T) kuma.Match {
	var m kuma.Match
	word := rapid.SampledFrom([]string{"/", "/a", "<", "a"})
	typ := rapid.SampledFrom([]string{"Exact", "RegularExpression"})
	if rapid.Bool().Draw(t, "path") {
		m.Path = &kuma.PathMatch{Value: word.Draw(t, "value"), Type: rapid.SampledFrom([]kuma.PathType{kuma.Exact, kuma.Prefix}).Draw(t, "type")}
	}
	m.Method = rapid.SampledFrom([]string{"", "", "GET"}).Draw(t, "method")
	for range rapid.IntRange(0, 2).Draw(t, "queries") {
		m.Query = append(m.Query, kuma.QueryMatch{Type: typ.Draw(t, "type"), Name: word.Draw(t, "name"), Value: word.Draw(t, "value")})
	}
	for range rapid.IntRange(0, 2).Draw(t, "headers") {
		m.Headers = append(m.Headers, kuma.HeaderMatch{Type: typ.Draw(t, "type"), Name: word.Draw(t, "name"), Value: word.Draw(t, "value")})
	}
	return m
}

// FuzzMatchKey: what moves between the fields of a match changes its key.
func FuzzMatchKey(f *testing.F) {
	f.Add("/", "GET", "a", "b")
	f.Add("", "", "", "<&>\u2028")
	f.Fuzz(func(t *testing.T, path, method, name, value string) {
		as := func(m kuma.Match) string { return kuma.Key([]kuma.Match{m}) }
		p := &kuma.PathMatch{Value: path, Type: kuma.Exact}
		keys := map[string]string{}
		for what, m := range map[string]kuma.Match{
			"path":   {Path: p},
			"prefix": {Path: &kuma.PathMatch{Value: path, Type: kuma.Prefix}},
			"query":  {Path: p, Query: []kuma.QueryMatch{{Type: "Exact", Name: name, Value: value}}},
			"header": {Path: p, Headers: []kuma.HeaderMatch{{Type: "Exact", Name: name, Value: value}}},
			"method": {Path: p, Method: "x" + method},
		} {
			key := as(m)
			if len(key) != 44 || as(m) != key {
				t.Errorf("key %q of %+v", key, m)
			}
			if other, taken := keys[key]; taken {
				t.Errorf("%s and %s have one key", what, other)
			}
			keys[key] = what
		}
	})
}

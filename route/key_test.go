package route_test

import (
	"encoding/json"
	"testing"

	"pgregory.net/rapid"

	"github.com/weftmesh/weft/route"
)

// The keys that Kuma gives (spec/kuma.md 2.1).
func TestKeyIsKumas(t *testing.T) {
	t.Parallel()
	for key, match := range map[string]route.PathMatch{
		"JNNc6//C3P17nUsOJm5f4kqG+U3v8pXhS0od9C3+oss=": {Value: "/", Type: route.Exact},
		"9Zuf5Tg79OuZcQITwBbQykxAk2u4fRKrwYn3//AL4Yo=": {Value: "/", Type: route.Prefix},
		"waFsoIISmZDTfFWYqxvY265/GASHYEWvHQTwMh/bpuU=": {Value: "/api", Type: route.Prefix},
	} {
		if got := route.Key([]route.Match{{Path: &match}}); got != key {
			t.Errorf("%+v: got %s, want %s", match, got, key)
		}
	}
}

// Two rules meet when their matches are equal, in equal order, and only then.
func TestKeysAreEqualIffMatchesAre(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a := rapid.SliceOfN(rapid.Custom(match), 0, 3).Draw(t, "a")
		b := rapid.SliceOfN(rapid.Custom(match), 0, 3).Draw(t, "b")
		same := string(text(t, a)) == string(text(t, b))
		if got := route.Key(a) == route.Key(b); got != same {
			t.Fatalf("keys equal: %v, matches equal: %v", got, same)
		}
	})
}

func text(t *rapid.T, matches []route.Match) []byte {
	out, err := json.Marshal(matches)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// match draws from few values, so that two draws are often equal.
func match(t *rapid.T) route.Match {
	var m route.Match
	word := rapid.SampledFrom([]string{"/", "/a", "<", "a"})
	typ := rapid.SampledFrom([]string{"Exact", "RegularExpression"})
	if rapid.Bool().Draw(t, "path") {
		m.Path = &route.PathMatch{Value: word.Draw(t, "value"), Type: rapid.SampledFrom([]route.PathType{route.Exact, route.Prefix}).Draw(t, "type")}
	}
	m.Method = rapid.SampledFrom([]string{"", "", "GET"}).Draw(t, "method")
	for range rapid.IntRange(0, 2).Draw(t, "queries") {
		m.Query = append(m.Query, route.QueryMatch{Type: typ.Draw(t, "type"), Name: word.Draw(t, "name"), Value: word.Draw(t, "value")})
	}
	for range rapid.IntRange(0, 2).Draw(t, "headers") {
		m.Headers = append(m.Headers, route.HeaderMatch{Type: typ.Draw(t, "type"), Name: word.Draw(t, "name"), Value: word.Draw(t, "value")})
	}
	return m
}

// FuzzMatchKey: what moves between the fields of a match changes its key.
func FuzzMatchKey(f *testing.F) {
	f.Add("/", "GET", "a", "b")
	f.Add("", "", "", "<&>\u2028")
	f.Fuzz(func(t *testing.T, path, method, name, value string) {
		as := func(m route.Match) string { return route.Key([]route.Match{m}) }
		p := &route.PathMatch{Value: path, Type: route.Exact}
		keys := map[string]string{}
		for what, m := range map[string]route.Match{
			"path":   {Path: p},
			"prefix": {Path: &route.PathMatch{Value: path, Type: route.Prefix}},
			"query":  {Path: p, Query: []route.QueryMatch{{Type: "Exact", Name: name, Value: value}}},
			"header": {Path: p, Headers: []route.HeaderMatch{{Type: "Exact", Name: name, Value: value}}},
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

package derive_test

import (
	"strings"
	"testing"

	"github.com/weftmesh/weft/resolve/derive"
)

// TestMisuseIsNoFailure: a program that breaks the rules of the package stops, and
// does not pass for an input that failed.
func TestMisuseIsNoFailure(t *testing.T) {
	t.Parallel()
	var kept *derive.Reader
	var later *derive.Collection[value]
	s := &derive.Schema{}
	source := derive.Source(s, "source", derive.Values[value]{})
	early := derive.Derive(s, "early", source, derive.Values[value]{}, func(r *derive.Reader, key string) *value {
		switch kept = r; key {
		case "later":
			later.Get(r, key)
		case "before":
			later.Before(r)
		}
		return nil
	})
	later = derive.Derive(s, "late", source, derive.Values[value]{}, func(r *derive.Reader, key string) *value {
		for range source.All(kept) {
		}
		return nil
	})
	stranger := derive.Source(&derive.Schema{}, "stranger", derive.Values[value]{})
	for want, f := range map[string]func(){
		"early reads late, which does not come before it": func() { s.New().Update(source.Put("later", &value{})) },
		"a derivation of early asks what late was":        func() { s.New().Update(source.Put("before", &value{})) },
		"a derivation of early kept its Reader":           func() { s.New().Update(source.Put("x", &value{})) },
		"early is derived":                                func() { early.Put("x", &value{}) },
		"stranger is a collection of another schema":      func() { s.New().Update(stranger.Put("x", &value{})) },
	} {
		if got := panics(f); !strings.Contains(got, want) {
			t.Errorf("want a panic with %q, got %q", want, got)
		}
	}
}

func panics(f func()) (text string) {
	defer func() {
		if p := recover(); p != nil {
			text = p.(string)
		}
	}()
	f()
	return ""
}

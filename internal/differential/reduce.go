package differential

import (
	"encoding/json"
	"strings"
	"testing"
)

// reduce takes away from p what is not needed for a disagreement of the same kind: documents,
// entries and fields, one at a time, all possible ones in one Envoy.
func reduce(t testing.TB, r *room, p Pair, said string) Report {
	t.Helper()
	for {
		var smaller []Pair
		for n := range parts(p.Documents) + parts(p.Routes) {
			q := p
			if at := n - parts(p.Documents); at < 0 {
				q.Documents = without(t, p.Documents, n)
			} else {
				q.Routes = without(t, p.Routes, at)
			}
			if _, err := compile(r.place(q.Source, 1)); err == nil && (len(q.Routes) > 0) == (len(p.Routes) > 0) {
				smaller = append(smaller, q)
			}
		}
		for name := range p.Request.Headers {
			q := p
			q.Request.Headers = map[string]string{}
			for k, v := range p.Request.Headers {
				if k != name {
					q.Request.Headers[k] = v
				}
			}
			smaller = append(smaller, q)
		}
		if p.Request.Answers != "" {
			q := p
			q.Request.Answers = ""
			smaller = append(smaller, q)
		}
		if len(smaller) == 0 {
			return Report{p, said}
		}
		found := false
		for i, s := range Replay(t, r, smaller) {
			if kind, _, _ := strings.Cut(said, ":"); strings.HasPrefix(s, kind) {
				p, said, found = smaller[i], s, true
				break
			}
		}
		if !found {
			return Report{p, said}
		}
	}
}

// parts is how many entries of lists and maps there are below v.
func parts(v any) int {
	n := 0
	walk(v, func() bool { n++; return false })
	return n
}

// without is a copy of a list that lacks its nth part.
func without(t testing.TB, of []m, n int) []m {
	t.Helper()
	text, err := json.Marshal(of)
	if err != nil {
		t.Fatal(err)
	}
	var fresh any
	if err := json.Unmarshal(text, &fresh); err != nil {
		t.Fatal(err)
	}
	out := walk(fresh, func() bool { n--; return n == -1 }).([]any)
	list := make([]m, len(out))
	for i, d := range out {
		list[i] = d.(m)
	}
	return list
}

// walk visits every part below v in a fixed order and drops those for which
// drop holds.
func walk(v any, drop func() bool) any {
	switch v := v.(type) {
	case []m:
		for _, d := range v {
			if !drop() {
				walk(d, drop)
			}
		}
	case []any:
		var kept []any
		for _, x := range v {
			if !drop() {
				kept = append(kept, walk(x, drop))
			}
		}
		if kept == nil {
			kept = []any{}
		}
		return kept
	case m:
		for _, k := range sortedKeys(v) {
			if drop() {
				delete(v, k)
			} else {
				v[k] = walk(v[k], drop)
			}
		}
	}
	return v
}

package match_test

import (
	"testing"

	"github.com/weftmesh/weft/route/match"
)

// BenchmarkHolds asks conditions of every legal cell of one request, and BenchmarkImplies of each
// other: what the simulator and the search for shadowed rules do most.
func BenchmarkHolds(b *testing.B) {
	cs := oneOfEachCell(b)
	r := &match.Request{Method: "GET", Authority: "web:8080", Path: "/a/b/c", Query: "x=abc&y=1", Draw: 7,
		Header: func(name string) []string { return benchHeaders[name] }}
	for b.Loop() {
		for i := range cs {
			cs[i].Holds(r)
		}
	}
}

var benchHeaders = map[string][]string{"x": {"/a/b/c", "5"}, "cookie": {"y=1; x=2"}}

func BenchmarkImplies(b *testing.B) {
	cs := oneOfEachCell(b)
	for b.Loop() {
		for i := range cs {
			for k := range cs {
				cs[i].Implies(&cs[k])
			}
		}
	}
}

// oneOfEachCell has two conditions of each legal cell.
func oneOfEachCell(b *testing.B) match.Conditions {
	b.Helper()
	b.ReportAllocs()
	var out match.Conditions
	for cell := range match.Cells {
		for _, value := range []string{"/a", "/a/b"} {
			c, err := condition(cell, "x", value, 1, 9)
			if err != nil {
				b.Fatal(err)
			}
			out = append(out, c)
		}
	}
	return out
}

package main

import (
	"bytes"
	"go/format"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
)

// module writes the module of testdata/module.txtar, and is what is wanted of it.
func module(t *testing.T) (root, want string) {
	t.Helper()
	a, err := txtar.ParseFile("testdata/module.txtar")
	if err != nil {
		t.Fatal(err)
	}
	root = t.TempDir()
	for _, f := range a.Files {
		if f.Name == "want" {
			want = string(f.Data)
			continue
		}
		path := filepath.Join(root, f.Name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, f.Data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return root, want
}

var numbered = regexp.MustCompile(`(?m)^ *\d+ +\d+s (.*)$`)

// Every defect of a module ends as it must: caught by the tests of its own or of
// another package, by a process that they start, by a test that hangs, or not
// at all, be it unreached or met by a test that fails only once.
func TestEveryOutcome(t *testing.T) {
	t.Parallel()
	root, want := module(t)
	var out bytes.Buffer
	err := run(t.Context(), &out, options{root: root, count: 100, least: 97, seeds: []uint64{1}, workers: 4, timeout: 5 * time.Second})
	if err == nil || err.Error() != "fewer than 97 of 100 are caught" {
		t.Errorf("%v", err)
	}
	var got []string
	for _, m := range numbered.FindAllStringSubmatch(out.String(), -1) {
		got = append(got, m[1]+"\n")
	}
	slices.Sort(got)
	if diff := cmp.Diff(want, strings.Join(got, "")); diff != "" {
		t.Errorf("-want +got:\n%s\n%s", diff, &out)
	}
	if !strings.Contains(out.String(), "seed 1: 11 of 17 defects caught, 1 of them because a test hangs\n  not caught: ALIVE") {
		t.Errorf("the report says:\n%s", &out)
	}
}

// The same seed chooses the same defects, another one others; -only those of a place.
func TestDefectsAreThoseOfTheSeed(t *testing.T) {
	t.Parallel()
	root, _ := module(t)
	chosen := func(seed uint64, only string) (out []string) {
		_, defects, err := plan(t.Context(), options{root: root, count: 6, seeds: []uint64{seed}, only: only})
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range defects {
			out = append(out, d.String())
		}
		return out
	}
	first := chosen(1, "")
	if diff := cmp.Diff(first, chosen(1, "")); diff != "" || len(first) != 6 {
		t.Errorf("%q, and again: %s", first, diff)
	}
	if slices.Equal(first, chosen(2, "")) {
		t.Errorf("seed 2 chooses what seed 1 does: %q", first)
	}
	if got := chosen(1, "rain/rain.go:4"); len(got) != 1 || got[0] != "rain/rain.go:4: < -> >=" {
		t.Errorf("%q", got)
	}
}

func TestSeveralSeedsAreCountedEach(t *testing.T) {
	t.Parallel()
	root, _ := module(t)
	var out bytes.Buffer
	err := run(t.Context(), &out, options{root: root, count: 2, least: 97, seeds: []uint64{3, 4}, workers: 2, timeout: 5 * time.Second, only: "price.go:16:"})
	if err != nil {
		t.Error(err)
	}
	if !strings.HasSuffix(out.String(), "\nseed 3: 2 of 2 defects caught, 0 of them because a test hangs\nseed 4: 2 of 2 defects caught, 0 of them because a test hangs\n") {
		t.Errorf("the report says:\n%s", &out)
	}
}

func TestSeedsAreNumbers(t *testing.T) {
	t.Parallel()
	if got, err := seeds("1,22"); err != nil || !slices.Equal(got, []uint64{1, 22}) {
		t.Error(got, err)
	}
	if _, err := seeds("1,x"); err == nil || err.Error() != `"x" is no number; write -seed 1 or -seed 1,2` {
		t.Error(err)
	}
}

func TestNowhereToPlant(t *testing.T) {
	t.Parallel()
	root, _ := module(t)
	if _, _, err := plan(t.Context(), options{root: root, only: "no such place"}); err == nil || !strings.Contains(err.Error(), "nowhere to plant") {
		t.Error(err)
	}
}

// A run after a change is about the same defects, but for those of what changed.
func TestDefectsStayWhenOthersChange(t *testing.T) {
	t.Parallel()
	root, _ := module(t)
	o := options{root: root, count: 8, seeds: []uint64{1}}
	tried := func() (out []string) {
		_, defects, err := plan(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range defects {
			out = append(out, d.id)
		}
		return out
	}
	before := tried()
	for _, file := range []string{"price/price.go", "rain/rain.go"} {
		path := filepath.Join(root, file)
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		at := bytes.Index(text, []byte("\n//"))
		text = slices.Concat(text[:at], []byte("\n\nfunc added(a, b, c int) bool { return a < b && b < c }\n"), text[at:])
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	o.count = 100
	after := slices.DeleteFunc(tried(), func(id string) bool { return strings.Contains(id, " added ") })
	if diff := cmp.Diff(before, after[:len(before)]); diff != "" {
		t.Error(diff)
	}
}

// A woven file keeps the intact body, after the damaged ones.
func TestWeave(t *testing.T) {
	t.Parallel()
	const source = `package p // of a shop

func f(a bool, b int) {
	if a {
		g()
	} else if b > 1 {
		g()
	}
	switch {
	case b > 2:
		g()
	}
}
`
	const want = `package p

import plantedDefect "q" // of a shop

func f(a bool, b int) {
	if plantedDefect.Is(1) {
		{
			if a {
				g()
			} else if b > 9 {
				g()
			}
			switch {
			case b > 2:
				g()
			}
		}
		return
	}

	if plantedDefect.Is(2) {
		{
			if a {
				g()
			} else if b > 1 {
				g()
			}
			switch {
			case b > 2:
				h()
			}
		}
		return
	}

	plantedDefect.Reached(1)
	if a {
		g()
	} else if b > 1 {
		g()
	}
	switch {
	case b > 2:
		plantedDefect.Reached(2)
		g()
	}
}
`
	one, two := strings.Index(source, "1 {"), strings.LastIndex(source, "g()")
	got, err := weave([]byte(source), []defect{{number: 1, from: one, to: one + 1, text: "9"}, {number: 2, from: two, to: two + 3, text: "h()"}}, "q")
	if err != nil {
		t.Fatal(err)
	}
	pretty, err := format.Source(got)
	if err != nil {
		t.Fatalf("%v\n%s", err, got)
	}
	if diff := cmp.Diff(want, string(pretty)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

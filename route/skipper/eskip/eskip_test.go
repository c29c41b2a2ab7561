package eskip_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/weftmesh/weft/route/skipper/eskip"
)

func text(s string) eskip.Arg    { return eskip.Arg{Kind: eskip.String, Text: s} }
func number(n float64) eskip.Arg { return eskip.Arg{Kind: eskip.Number, Number: n} }

func TestCallsAreRead(t *testing.T) {
	t.Parallel()
	for source, want := range map[string][]eskip.Call{
		`Cookie("canary", "A")`:                 {{Name: "Cookie", Args: []eskip.Arg{text("canary"), text("A")}}},
		`True()`:                                {{Name: "True"}},
		" Traffic ( .1 ) // a tenth":            {{Name: "Traffic", Args: []eskip.Arg{number(.1)}}},
		`a(-1,1e3,+2)`:                          {{Name: "a", Args: []eskip.Arg{number(-1), number(1000), number(2)}}},
		"inline(`a\"\\n`)":                      {{Name: "inline", Args: []eskip.Arg{text(`a"\n`)}}},
		`b("\"\\\n\.")`:                         {{Name: "b", Args: []eskip.Arg{text("\"\\\n\\.")}}},
		`P(/^\/a\.b\\/)`:                        {{Name: "P", Args: []eskip.Arg{{Kind: eskip.Regexp, Text: `^/a\.b\\`}}}},
		`setPath("/a") -> status(404)`:          {{Name: "setPath", Args: []eskip.Arg{text("/a")}}, {Name: "status", Args: []eskip.Arg{number(404)}}},
		"first() // of two\n-> second_2(\"ü\")": {{Name: "first"}, {Name: "second_2", Args: []eskip.Arg{text("ü")}}},
	} {
		got, err := eskip.Parse(source, eskip.Then)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%s: %v\n%s", source, err, diff)
		}
	}
}

func TestMistakesNameTheirPlace(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]string{
		`redirectTo(308, "https://login.example.org/)`: "at character 17: the string that begins here does not end",
		"a(`x":          "at character 3: the string that begins here does not end",
		`P(/x)`:         "at character 3: the regular expression that begins here does not end",
		`P(/x\`:         "at character 3: the regular expression that begins here does not end",
		`a("x\`:         "at character 3: the string that begins here does not end",
		`True`:          "at character 5: the end of the text follows the name True",
		`a(1 2)`:        "at character 5: '2' follows an argument of a",
		`a(1,)`:         "at character 5: ')' begins no argument",
		`a(1-2)`:        "at character 3: 1-2 is no number",
		`a(1e999)`:      "at character 3: 1e999 is no number",
		`a() && b()`:    "at character 5: '&' does not belong here; write ->",
		`a() -> `:       "at character 8: the end of the text begins no name",
		``:              "at character 1: the end of the text begins no name",
		`ü()`:           "at character 1: 'ü' begins no name",
		`a(b)`:          "at character 3: 'b' begins no argument",
		`a("x") b("y")`: "at character 8: 'b' does not belong here",
	} {
		_, err := eskip.Parse(source, eskip.Then)
		var wrong *eskip.Error
		if !errors.As(err, &wrong) || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v, want %s", source, err, want)
		}
	}
}

// anyCall draws a call. Expressions are such as reading gives them: no backslash is
// the last character, and none stands before a slash but as the second of a pair; an empty one would be a comment.
func anyCall(t *rapid.T) eskip.Call {
	c := eskip.Call{Name: rapid.StringMatching(`[a-zA-Z_][a-zA-Z0-9_]{0,8}`).Draw(t, "name")}
	for range rapid.IntRange(0, 3).Draw(t, "args") {
		a := eskip.Arg{Kind: rapid.SampledFrom([]eskip.Kind{eskip.String, eskip.Number, eskip.Regexp}).Draw(t, "kind")}
		switch a.Kind {
		case eskip.String:
			a.Text = rapid.OneOf(rapid.String(), rapid.StringMatching("[\"\\\\`\n\t/a]{0,5}")).Draw(t, "text")
		case eskip.Number:
			a.Number = rapid.Float64Range(-1e9, 1e9).Draw(t, "number")
		case eskip.Regexp:
			a.Text = rapid.StringMatching(`([/a^$.\[\]]|\\\\|\\\.){1,6}`).Draw(t, "expression")
		}
		c.Args = append(c.Args, a)
	}
	return c
}

func TestPrintAndParseAreInverse(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		want := []eskip.Call{anyCall(t), anyCall(t)}
		for _, joint := range []string{eskip.And, eskip.Then} {
			source := fmt.Sprintf("%s %s %s", want[0], joint, want[1])
			got, err := eskip.Parse(source, joint)
			if diff := cmp.Diff(want, got); err != nil || diff != "" {
				t.Fatalf("%s: %v\n%s", source, err, diff)
			}
		}
	})
}

func FuzzParse(f *testing.F) {
	for _, source := range []string{`Cookie("canary", "A")`, "a(`x`, .1, /a\\/b/)", `a("\`, `a(-`, "x() // y"} {
		f.Add(source)
	}
	f.Fuzz(func(t *testing.T, source string) {
		calls, err := eskip.Parse(source, eskip.Then)
		if err != nil {
			var wrong *eskip.Error
			if !errors.As(err, &wrong) || wrong.At < 0 || wrong.At > len(source) {
				t.Fatalf("%q: %v", source, err)
			}
			return
		}
		for _, c := range calls {
			again, err := eskip.Parse(c.String(), eskip.Then)
			if diff := cmp.Diff([]eskip.Call{c}, again); err != nil || diff != "" {
				t.Fatalf("%q printed as %s: %v\n%s", source, c, err, diff)
			}
		}
	})
}

package skipper

import (
	"errors"
	"slices"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/route/skipper/eskip"
)

// call is one predicate or filter at its place in the document.
type call struct {
	eskip.Call
	at api.Path
}

// readCall reads one item of a list of predicates or filters; what says which.
func readCall(text string, at api.Path, joint, what string) (call, error) {
	calls, err := eskip.Parse(text, joint)
	var wrong *eskip.Error
	switch {
	case errors.As(err, &wrong):
		return call{}, refused(at, invalidEskip, "%s", wrong)
	case len(calls) != 1:
		return call{}, refused(at, invalidEskip, "single %s expected, and here are %d; write each as an item of its own", what, len(calls))
	}
	return call{calls[0], at}, nil
}

// check wants the arguments of a signature: words string, number, regexp and duration (a
// text as 1s, or milliseconds), of
// which those with a question mark may be missing and the last, with dots, may come any
// number of times.
func (c *call) check(signature string) error {
	words := strings.Fields(signature)
	for i, a := range c.Args {
		word := ""
		switch {
		case i < len(words):
			word = words[i]
		case len(words) > 0 && strings.HasSuffix(words[len(words)-1], "..."):
			word = words[len(words)-1]
		default:
			return refused(c.at, invalidEskip, "%s has %d arguments; it takes (%s)", c.Name, len(c.Args), spoken(signature))
		}
		want := map[string][]eskip.Kind{"string": {eskip.String}, "number": {eskip.Number}, "regexp": {eskip.String, eskip.Regexp}, "duration": {eskip.String, eskip.Number}}[strings.TrimRight(word, "?.")]
		if !slices.Contains(want, a.Kind) {
			return refused(c.at, invalidEskip, "argument %d of %s is a %s; it takes (%s)", i+1, c.Name, a.Kind, spoken(signature))
		}
	}
	for _, word := range words[min(len(c.Args), len(words)):] {
		if !strings.HasSuffix(word, "?") && !strings.HasSuffix(word, "...") {
			return refused(c.at, invalidEskip, "%s has %d arguments; it takes (%s)", c.Name, len(c.Args), spoken(signature))
		}
	}
	return nil
}

// spoken is a signature as pages and messages show it.
func spoken(signature string) string {
	return strings.ReplaceAll(signature, " ", ", ")
}

// text is argument i, or nothing.
func (c *call) text(i int) string {
	if i < len(c.Args) {
		return c.Args[i].Text
	}
	return ""
}

// texts are the arguments from i on.
func (c *call) texts(i int) []string {
	var out []string
	for ; i < len(c.Args); i++ {
		out = append(out, c.Args[i].Text)
	}
	return out
}

// names wants a name that a check takes.
func (c *call) names(check func(api.Path, string) error, name string) error {
	if name == "" {
		return c.wrong("the name is missing; write it before the value")
	}
	if err := check("", name); err != nil {
		return c.wrong("%v", err)
	}
	return nil
}

// wrong refuses the call for what its arguments say.
func (c *call) wrong(format string, args ...any) error {
	return refused(c.at, invalidEskip, c.Name+": "+format, args...)
}

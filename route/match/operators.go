package match

import (
	"fmt"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"
)

// operator is all that this package knows of one Op. The literals of the table have no
// keys, so that the compiler refuses one in which something is missing.
//
// No function of a row calls a method that looks a row up: the table would be
// initialized by itself. What needs the row of another condition is given it.
type operator struct {
	name string // in messages
	word string // in documents and views: Kuma's, or one like it where Kuma has none
	// holds and fails stand between a subject and the operand in texts, sign between a
	// name and a value in short ones; without a sign there is no short one.
	holds, fails, sign string
	operand            func(c *Condition) string
	made               constructor
	on                 subjects
	// fits compares the value v with want, which is the condition's Value. Both are in
	// lower case where case is ignored.
	fits func(c *Condition, v, want string) bool
	// expression matches the values that fit; value is the expression of Value. False
	// where there is none.
	expression func(c *Condition, value string) (string, bool)
	// only are the values that fit, but for their case; nil where others do too.
	only func(c *Condition) []string
	// samples are values that may fit: the least of them, and one beyond it.
	samples func(c *Condition) []string
	// begin is how every path begins that fits; in segments if a slash follows or nothing.
	begin func(c *Condition) (text string, segments bool)
	// replaced is what of a path a rewrite of the prefix replaces; false if nothing.
	replaced func(c *Condition) (string, bool)
	// implies reports whether the first condition of the pair holds wherever the second
	// one does, which has this operator.
	implies func(p pair) bool
	covers  coverage
}

// constructor is the function that makes conditions of an operator.
type constructor uint8

const (
	byCompare constructor = iota + 1
	byMatchAll
	byHas
	byAmong
	byWithin
)

// subjects are those that an operator is asked of, with the modifiers that it takes
// there. All of them are the whole algebra: there is a language for each cell, and Envoy
// can say each of them; what stands in no cell cannot be made.
type subjects map[Subject]Modifier

// coverage tells of which values a condition holds all: want is its Value.
type coverage struct {
	begin    func(text, want string) bool // of those that begin with text
	end      func(text, want string) bool // of those that end with it
	part     func(text, want string) bool // of those that contain it
	segments func(text, want string) bool // of the path text and those below it
	numbers  func(c *Condition, from, until int64) bool
}

// pair is a condition and another one on the same value, which may imply it. The values
// are in lower case where c ignores it.
type pair struct {
	c, d       *Condition
	row        *operator // of c
	want, have string    // the values of c and d
}

// takes reports whether c holds of a value.
func (p pair) takes(v string) bool { return p.c.compare(p.row, v) }

const headerText = Not | IgnoreCase | MissingIsEmpty

var operators = NewPerOp(
	operator{
		"equal", "Exact", "is", "is not", "=", quotedValue, byCompare,
		subjects{OnPath: 0, OnMethod: 0, OnHeader: headerText, OnQuery: IgnoreCase, OnCookie: Not, OnAuthority: IgnoreCase, OnClaim: 0},
		func(_ *Condition, v, want string) bool { return v == want },
		func(_ *Condition, value string) (string, bool) { return value, true },
		func(c *Condition) []string { return []string{c.Value} },
		func(c *Condition) []string { return []string{c.Value} },
		plainValue,
		func(c *Condition) (string, bool) { return c.Value, true },
		func(p pair) bool { return p.takes(p.d.Value) },
		coversNone,
	},
	operator{
		"segment prefix", "PathPrefix", "is under prefix", "is not under prefix", "", quotedValue, byCompare,
		subjects{OnPath: 0},
		func(_ *Condition, v, want string) bool { return underSegment(v, want) },
		func(c *Condition, _ string) (string, bool) { return segmentExpression(c.Value), true },
		anyNumber,
		func(c *Condition) []string {
			at := strings.TrimSuffix(c.Value, "/")
			return []string{at, c.Value, at + "/x"}
		},
		func(c *Condition) (string, bool) { return strings.TrimSuffix(c.Value, "/"), true },
		withoutSlash,
		func(p pair) bool { return p.row.covers.segments(p.have, p.want) },
		coverage{
			func(text, want string) bool { return strings.HasPrefix(text, strings.TrimSuffix(want, "/")+"/") },
			never, never,
			func(text, want string) bool { return want == "/" || underSegment(text, want) },
			noNumbers,
		},
	},
	operator{
		"byte prefix", "Prefix", "begins with", "does not begin with", "^=", quotedValue, byCompare,
		subjects{OnPath: 0, OnHeader: headerText, OnQuery: IgnoreCase},
		func(_ *Condition, v, want string) bool { return strings.HasPrefix(v, want) },
		func(_ *Condition, value string) (string, bool) { return value + ".*", true },
		anyNumber,
		func(c *Condition) []string { return []string{c.Value, c.Value + "x"} },
		plainValue,
		withoutSlash,
		func(p pair) bool { return p.row.covers.begin(p.have, p.want) },
		coverage{
			strings.HasPrefix,
			never, never,
			func(text, want string) bool {
				return want == "/" || strings.HasPrefix(strings.TrimSuffix(text, "/"), want)
			},
			noNumbers,
		},
	},
	operator{
		"suffix", "Suffix", "ends with", "does not end with", "$=", quotedValue, byCompare,
		subjects{OnHeader: headerText, OnQuery: IgnoreCase},
		func(_ *Condition, v, want string) bool { return strings.HasSuffix(v, want) },
		func(_ *Condition, value string) (string, bool) { return ".*" + value, true },
		anyNumber,
		func(c *Condition) []string { return []string{c.Value, "x" + c.Value} },
		anyBegin,
		nothingReplaced,
		func(p pair) bool { return p.row.covers.end(p.have, p.want) },
		coverage{never, strings.HasSuffix, never, never, noNumbers},
	},
	operator{
		"contains", "Contains", "contains", "does not contain", "*=", quotedValue, byCompare,
		subjects{OnHeader: headerText, OnQuery: IgnoreCase},
		func(_ *Condition, v, want string) bool { return strings.Contains(v, want) },
		func(_ *Condition, value string) (string, bool) { return ".*" + value + ".*", true },
		anyNumber,
		func(c *Condition) []string { return []string{c.Value, "x" + c.Value + "x"} },
		anyBegin,
		nothingReplaced,
		func(p pair) bool { return p.row.covers.part(p.have, p.want) },
		coverage{strings.Contains, strings.Contains, strings.Contains, never, noNumbers},
	},
	operator{
		"full match", "RegularExpression", "matches the expression", "does not match the expression", "~",
		func(c *Condition) string { return c.Value }, byMatchAll,
		subjects{OnPath: 0, OnHeader: Not | MissingIsEmpty, OnQuery: 0, OnCookie: Not, OnAuthority: 0, OnClaim: 0},
		func(c *Condition, v, _ string) bool { return c.expression.MatchString(Bytewise(v)) },
		func(c *Condition, _ string) (string, bool) { return c.Value, true },
		anyNumber,
		expressionSamples,
		func(c *Condition) (string, bool) { return c.literal, false },
		nothingReplaced,
		func(p pair) bool { return p.row.covers.begin(foldedFor(p.c, p.d.literal), p.want) },
		coversNone,
	},
	operator{
		"present", "Present", "is present", "is missing", "",
		func(*Condition) string { return "" }, byHas,
		subjects{OnHeader: Not, OnQuery: 0, OnCookie: Not},
		func(*Condition, string, string) bool { return true },
		func(*Condition, string) (string, bool) { return ".*", true },
		anyNumber,
		func(*Condition) []string { return []string{"1"} },
		anyBegin,
		nothingReplaced,
		func(pair) bool { return false },
		coversNone, // Implies asks of no value where it holds
	},
	operator{
		"one of", "OneOf", "is one of", "is none of", "",
		func(c *Condition) string { return strings.Join(c.Values, ", ") }, byAmong,
		subjects{OnMethod: 0},
		func(c *Condition, v, _ string) bool { return slices.Contains(c.Values, v) },
		func(c *Condition, _ string) (string, bool) { return choiceExpression(c.Values), true },
		func(c *Condition) []string { return c.Values },
		func(c *Condition) []string { return c.Values },
		anyBegin,
		nothingReplaced,
		func(p pair) bool {
			return !slices.ContainsFunc(p.d.Values, func(v string) bool { return !p.takes(v) })
		},
		coversNone,
	},
	operator{
		"in range", "Range", "is in", "is not in", "",
		func(c *Condition) string { return fmt.Sprintf("the range from %d until %d", c.From, c.Until) }, byWithin,
		subjects{OnHeader: 0, OnChance: 0},
		func(c *Condition, v, _ string) bool {
			n, err := strconv.ParseInt(strings.TrimSpace(v), 10, 64)
			return err == nil && c.From <= n && n < c.Until
		},
		func(*Condition, string) (string, bool) { return "", false },
		anyNumber,
		func(c *Condition) []string { return []string{strconv.FormatInt(c.From, 10)} },
		anyBegin,
		nothingReplaced,
		func(p pair) bool { return p.row.covers.numbers(p.c, p.d.From, p.d.Until) },
		coverage{never, never, never, never, func(c *Condition, from, until int64) bool { return c.From <= from && until <= c.Until }},
	},
)

// row is what the table says of an operator.
func (o Op) row() *operator { return &operators.of[o] }

// opOf is the operator that documents and views call by a word; 0 where none is.
func opOf(word string) Op {
	for o := Equal; o < endOfOps; o++ {
		if o.row().word == word {
			return o
		}
	}
	return 0
}

// coversNone holds of no such values for sure.
var coversNone = coverage{never, never, never, never, noNumbers}

func never(string, string) bool { return false }

func noNumbers(*Condition, int64, int64) bool { return false }

func anyNumber(*Condition) []string { return nil }

func anyBegin(*Condition) (string, bool) { return "", false }

func plainValue(c *Condition) (string, bool) { return c.Value, false }

func withoutSlash(c *Condition) (string, bool) { return strings.TrimSuffix(c.Value, "/"), true }

func nothingReplaced(c *Condition) (string, bool) { return c.Value, false }

// quotedValue is the value, in quotes where spaces and empty texts may stand.
func quotedValue(c *Condition) string {
	if !c.On.named() {
		return c.Value
	}
	return strconv.Quote(c.Value)
}

// underSubtree is what Expression puts behind the path of a segment prefix.
const underSubtree = "(?:/.*)?"

func segmentExpression(prefix string) string {
	if prefix == "/" {
		return "/.*"
	}
	return literal(strings.TrimSuffix(prefix, "/")) + underSubtree
}

func choiceExpression(values []string) string {
	words := make([]string, len(values))
	for i, v := range values {
		words[i] = literal(v)
	}
	return strings.Join(words, "|")
}

func expressionSamples(c *Condition) []string {
	re, err := syntax.Parse(c.Value, syntax.Perl)
	if err != nil {
		return nil
	}
	return matching(re)
}

// foldedFor is a text as c compares it.
func foldedFor(c *Condition, text string) string {
	if c.Mode&IgnoreCase != 0 {
		return lowerASCII(text)
	}
	return text
}

package match

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/weftmesh/weft/route/match/re2"
)

// Subject is the part of a request that a condition is about.
type Subject uint8

// The subjects. Header, Query, Cookie and Claim have a name beside them.
const (
	OnPath      Subject = iota + 1 // the path without its query
	OnMethod                       // the method
	OnHeader                       // each line of a request header
	OnQuery                        // the first query parameter of a name, as sent
	OnCookie                       // the first cookie of a name
	OnAuthority                    // the host that the client asks for, with its port if it wrote one
	OnClaim                        // a text claim of the bearer token, which nobody verified
	OnChance                       // the one random draw of a request, in millionths
)

var subjectNames = [...]string{"", "path", "method", "header", "query parameter", "cookie", "authority", "claim", "chance"}

// String is the subject as explanations print it.
func (s Subject) String() string { return subjectNames[s] }

func (s Subject) named() bool {
	return s == OnHeader || s == OnQuery || s == OnCookie || s == OnClaim
}

// Op is how a condition compares.
type Op uint8

// The operators. FullMatch is a regular expression that has to match the whole
// subject. InRange is half open: From <= n < Until. What each does stands in the table
// of operators.go.
const (
	Equal         Op = iota + 1
	SegmentPrefix    // /v1 is a prefix of /v1 and /v1/x, not of /v10
	BytePrefix       // /v1 is a prefix of /v10 too
	Suffix
	Contains
	FullMatch
	Present
	OneOf
	InRange
	endOfOps
)

// String is the operator's name.
func (o Op) String() string { return o.row().name }

// compares reports whether Compare makes conditions of the operator.
func (o Op) compares() bool { return o.row().made == byCompare }

// Modifier changes what an operator says.
type Modifier uint8

// The modifiers. Not is Envoy's: of a missing subject only Not Present holds,
// unless MissingIsEmpty reads a missing header as an empty one. (A cookie that
// is missing differs from every value: there Not holds.)
const (
	Not Modifier = 1 << iota
	IgnoreCase
	MissingIsEmpty
)

// Cell is one legal combination of subject, operator and modifiers.
type Cell struct {
	On   Subject
	Op   Op
	Mode Modifier
}

// Cells yields every legal combination, in a fixed order: what tests hold
// against a real Envoy.
func Cells(yield func(Cell) bool) {
	for s := OnPath; s <= OnChance; s++ {
		for o := Equal; o < endOfOps; o++ {
			allowed, ok := o.row().on[s]
			for m := Modifier(0); ok && m <= Not|IgnoreCase|MissingIsEmpty; m++ {
				if m&^allowed == 0 && (m&MissingIsEmpty == 0 || m&Not != 0) && !yield(Cell{s, o, m}) {
					return
				}
			}
		}
	}
}

// Chances is how many values a request's random draw has.
const Chances = 1_000_000

// Condition is one thing that has to hold of a request. It is made by one of the
// functions below and never changed.
type Condition struct {
	On   Subject
	Op   Op
	Mode Modifier
	Name string // of a header (lower case), query parameter, cookie or claim
	// Value is what is compared with; the source text of a FullMatch.
	Value  string
	Values []string // of OneOf: sorted, each once
	// From and Until bound InRange: From <= n < Until.
	From, Until int64

	expression *regexp.Regexp
	literal    string // with which every text begins that the expression matches
}

// Compare is a condition that compares a subject with one value.
func Compare(on Subject, name string, op Op, mode Modifier, value string) (Condition, error) {
	c := Condition{On: on, Name: name, Op: op, Mode: mode, Value: value}
	if err := c.check(); err != nil {
		return Condition{}, err
	}
	if on == OnHeader && value == "" && op != Equal && mode&Not == 0 { // every value has an empty prefix
		return Condition{On: on, Name: strings.ToLower(name), Op: Present}, nil
	}
	if on == OnQuery && value == "" && op != Equal {
		return Condition{On: on, Name: name, Op: Present}, nil
	}
	switch {
	case !op.compares():
		return Condition{}, fmt.Errorf("%s compares with no value", op)
	case value == "" && op != Equal:
		return Condition{}, fmt.Errorf("%s needs a value", op)
	case (on == OnPath) && !strings.HasPrefix(value, "/"):
		return Condition{}, fmt.Errorf("the path %q does not begin with a slash", value)
	}
	return c.canonical(), nil
}

// MatchAll is a condition that the expression, in RE2 syntax, matches the whole
// subject. It takes what CheckRegex takes: Envoy refuses the rest.
func MatchAll(on Subject, name string, mode Modifier, expression string) (Condition, error) {
	c := Condition{On: on, Name: name, Op: FullMatch, Mode: mode, Value: expression}
	if err := c.check(); err != nil {
		return Condition{}, err
	}
	if err := CheckRegex("", expression); err != nil {
		return Condition{}, errors.New(err.Error()) // no violation: it has no place in a document
	}
	re, err := regexp.Compile(`\A(?s:` + re2.FoldASCII(expression) + `)\z`)
	if err != nil {
		return Condition{}, fmt.Errorf("%w", err)
	}
	begins, _ := canonical(expression)
	c.expression, c.literal = re, beginOf(begins)
	return c.canonical(), nil
}

// Has is a condition that the subject is there; with Not, that it is not.
func Has(on Subject, name string, mode Modifier) (Condition, error) {
	c := Condition{On: on, Name: name, Op: Present, Mode: mode}
	if err := c.check(); err != nil {
		return Condition{}, err
	}
	return c.canonical(), nil
}

// Among is a condition that the subject is one of the values.
func Among(on Subject, name string, values ...string) (Condition, error) {
	c := Condition{On: on, Name: name, Op: OneOf, Values: slices.Compact(slices.Sorted(slices.Values(values)))}
	if err := c.check(); err != nil {
		return Condition{}, err
	}
	switch len(c.Values) {
	case 0:
		return Condition{}, fmt.Errorf("%s needs a value", OneOf)
	case 1:
		return Compare(on, name, Equal, 0, c.Values[0])
	}
	return c.canonical(), nil
}

// Within is a condition on the number that a header holds, or on the request's
// random draw: from <= n < until.
func Within(on Subject, name string, from, until int64) (Condition, error) {
	c := Condition{On: on, Name: name, Op: InRange, From: from, Until: until}
	if err := c.check(); err != nil {
		return Condition{}, err
	}
	if from >= until || on == OnChance && (from < 0 || until > Chances) || until == math.MaxInt64 {
		return Condition{}, fmt.Errorf("the range from %d until %d holds nothing that is possible", from, until)
	}
	return c.canonical(), nil
}

// check refuses what stands in no cell of the table.
func (c *Condition) check() error {
	if c.On < OnPath || c.On > OnChance {
		return fmt.Errorf("there is no subject %d", c.On)
	}
	if c.Op >= endOfOps {
		return fmt.Errorf("there is no operator %d", uint8(c.Op))
	}
	allowed, ok := c.Op.row().on[c.On]
	switch {
	case !ok:
		return fmt.Errorf("no route can ask %q of a %s", c.Op, c.On)
	case c.Mode&^allowed != 0:
		return fmt.Errorf("%q of a %s does not take that modifier", c.Op, c.On)
	case c.Mode&MissingIsEmpty != 0 && c.Mode&Not == 0:
		return fmt.Errorf("a missing %s can only be read as empty where the condition is negated", c.On)
	case c.On.named() != (c.Name != ""):
		return fmt.Errorf("a condition on a %s has a name if and only if there may be several", c.On)
	}
	return nil
}

// canonical spells equal conditions alike.
func (c Condition) canonical() Condition {
	if c.On == OnHeader {
		c.Name = strings.ToLower(c.Name)
	}
	return c
}

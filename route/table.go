package route

import (
	"fmt"
	"slices"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/route/match"
)

// Table is what holds where clients ask, as a language prints it: the rows of a
// Composition, with what a printer needs beside them.
type Table struct {
	// Ref says of what mesh, namespace and name the documents are to be; a printer that
	// writes several numbers them.
	Ref    api.Ref
	Labels map[string]string
	// To are the places, all hosts or all ports of services: a service has its namespace,
	// and its port, or the port's name, as section where the rows are for one port.
	To []api.TargetRef
	// Gateway is where hosts are to be served, for a language in which that is said.
	Gateway api.Ref
	// Port and Listener are those of the listener of the Gateway which serves them, where it has
	// several; 0 is all, empty any of the port. Secure says that clients speak TLS there.
	Port     uint32
	Listener string
	TLS      bool
	Lines    []Line
}

// Line is one row to print. Lines with one MergedRule are of one rule as it was written.
type Line struct {
	match.Match
	*MergedRule
	// Expression asks for a path by an expression, which moves the line to another place
	// in the order of the language; Rank is its place among those that are so moved: the
	// greater is tried first. Zero is none.
	Expression bool
	Rank       int
	// Alone prints the line as a rule of its own, at its place in the order.
	Alone bool
}

// Printed is a table as documents.
type Printed struct {
	Objects []*api.Object
	// From are the lines behind a rule of an object.
	From map[RuleRef][]int
	// Unsaid is what the language cannot say. A line with an error is in no rule; one with
	// a warning is in one, but for what is named.
	Unsaid []Unsaid
}

// RuleRef is a rule of a document, by the field at which it stands.
type RuleRef struct {
	api.Ref
	Field api.Path
}

// RuleRefOf is where an origin stands, whichever object it was read from.
func RuleRefOf(o *api.Origin) RuleRef { return RuleRef{o.Ref, o.Field} }

// Unsaid is a part of a line that a language has no words for.
type Unsaid struct {
	Line     int // -1: the table as a whole
	Severity api.Severity
	Code     string
	Message  string
}

// The codes of what is unsaid.
const (
	UnsaidMatch   = "MatchNotExpressible"
	UnsaidAction  = "ActionNotExpressible"
	UnsaidFilter  = "FilterNotExpressible"
	UnsaidBackend = "BackendNotExpressible"
	UnsaidPlace   = "PlaceNotExpressible"
	// UnsaidPart is of a part of what a line takes, which no rule takes then.
	UnsaidPart = "PartNotExpressible"
)

// Fail says that a line cannot be printed.
func (p *Printed) Fail(line int, code, message string) {
	p.Unsaid = append(p.Unsaid, Unsaid{line, api.Error, code, message})
}

// Put says that a rule has come of lines.
func (p *Printed) Put(ref api.Ref, at api.Path, lines ...int) {
	if p.From == nil {
		p.From = map[RuleRef][]int{}
	}
	p.From[RuleRef{ref, at}] = lines
}

// RuleGroup is lines that a language which has several matches in a rule writes as one rule.
type RuleGroup struct {
	*MergedRule
	Lines []int
}

// Groups are the lines by the rules of which they are, in the order of their first
// lines. Where a rule replaces a part of the path, which depends on the match, each match
// is a group of its own, and so is a line that wants to be alone.
func (t *Table) Groups() []RuleGroup {
	var out []RuleGroup
	at := map[*MergedRule]int{}
	for i := range t.Lines {
		c := t.Lines[i].MergedRule
		n, seen := at[c]
		if !seen || c.replaces() || t.Lines[i].Alone {
			n = len(out)
			out, at[c] = append(out, RuleGroup{MergedRule: c}), n
		}
		out[n].Lines = append(out[n].Lines, i)
	}
	return out
}

// Divided reports whether Groups has several groups for a rule.
func (t *Table) Divided(c *MergedRule) bool {
	n, alone := 0, false
	for i := range t.Lines {
		if t.Lines[i].MergedRule == c {
			n, alone = n+1, alone || t.Lines[i].Alone
		}
	}
	return n > 1 && (alone || c.replaces())
}

// replaces reports whether a rule replaces a part of the path.
func (c *MergedRule) replaces() bool {
	if d, ok := c.Do.(*Redirect); ok && d.Path != nil && d.Path.Full == nil {
		return true
	}
	w := LastRewrite(c.Filters)
	return w != nil && w.Path != nil && w.Path.Full == nil
}

// Spelled is the expression of a line that is moved, as long as its rank wants it: of
// two the longer is tried first.
func (t *Table) Spelled(line int) (string, bool) {
	l := &t.Lines[line]
	text, ok := l.Path().Expression()
	if !ok || l.Rank == 0 {
		return text, ok
	}
	text = match.TrimPadding(text)
	longest := 0
	for i := range t.Lines {
		if other, ok := t.Lines[i].Path().Expression(); ok && t.Lines[i].Expression {
			longest = max(longest, len(match.TrimPadding(other)))
		}
	}
	return match.Padded(text, longest+len(match.Padding)*l.Rank), true
}

// RuleName is the name that the writer gave the rule, where one rule is behind it.
func (c *MergedRule) RuleName() string {
	if len(c.Origins) != 1 {
		return ""
	}
	return c.Origins[0].RuleName
}

// NameOf is the name that the writer gave a rule, for one that is printed as one rule; of
// several rules with one name, which were in several documents, the first has it.
func (t *Table) NameOf(c *MergedRule) string {
	name := c.RuleName()
	if name == "" || t.Divided(c) {
		return ""
	}
	first := slices.IndexFunc(t.Lines, func(l Line) bool { return l.RuleName() == name })
	if first >= 0 && t.Lines[first].MergedRule != c {
		return ""
	}
	return name
}

// Replaced is what becomes of the path of a line, said as a whole path or as what stands
// for the segments of a prefix; nil where neither says it.
func (t *Table) Replaced(line int, r *PathRewrite) *PathRewrite {
	on := t.Lines[line].Path()
	switch {
	case r == nil || r.Full != nil:
		return r
	case on.Op == match.Equal:
		if to, ok := r.Of(on, on.Value); ok {
			return &PathRewrite{Full: &to}
		}
	case on.Op == match.SegmentPrefix || on.Op == match.BytePrefix && on.Value == "/" || t.InSegments(line):
		prefix, ok := r.Of(on, on.Value)
		of := *on
		if t.InSegments(line) {
			of.Op = match.SegmentPrefix
		}
		for _, to := range []string{prefix, prefix + "/"} { // one that ends in a slash is written with one more
			plain := &PathRewrite{Prefix: &to}
			if ok && !t.Lines[line].Expression && r.Outcome(on, &of) == plain.Outcome(&of, &of) {
				return plain
			}
		}
	}
	return nil
}

// InSegments reports whether a language that replaces prefixes of whole segments alone prints a
// line for these: one that replaces what paths begin with, wherever that ends in them. The rest
// of its paths is unsaid then.
func (t *Table) InSegments(line int) bool {
	on := t.Lines[line].Path()
	return on.Op == match.BytePrefix && !strings.HasSuffix(on.Value, "/") && !t.Lines[line].Expression && t.Lines[line].replaces()
}

// Outcome is what comes of the paths of which of holds where the match asks on: the same
// text for rewrites that do the same to them.
func (r *PathRewrite) Outcome(on, of *match.Condition) string {
	if r == nil {
		return ""
	}
	if r.Full != nil {
		return Absolute(*r.Full)
	}
	if to, ok := r.Of(on, of.Value); ok && of.Op == match.Equal {
		return Absolute(to)
	}
	var b strings.Builder
	if r.Each != nil && of.Op != match.Equal && !r.Each.begins(of.Value) { // no samples say all that it may find
		return r.Each.Expression + " " + r.Each.With
	}
	for _, path := range samples(of) {
		to, ok := r.Of(on, path)
		fmt.Fprintf(&b, "%q %t ", to, ok)
	}
	return b.String()
}

// samples are paths that on asks for, of every kind that a rewrite tells apart; none
// where nobody knows.
func samples(on *match.Condition) []string { return samplesOf.Of(on.Op)(on.Value) }

var samplesOf = match.NewPerOp(
	func(v string) []string { return []string{v} }, // Equal
	func(v string) []string { // SegmentPrefix
		if v = strings.TrimSuffix(v, "/"); v == "" {
			return []string{"/", "/x", "/x/", "/x/y", "//x"}
		}
		return []string{v, v + "/", v + "/x", v + "/x/", v + v, v + "/x" + v, v + "//x"}
	},
	func(v string) []string { return []string{v, v + "x", v + "/x", v + "x" + v, v + v} }, // BytePrefix
	noSamples, // Suffix
	noSamples, // Contains
	noSamples, // FullMatch
	noSamples, // Present
	noSamples, // OneOf
	noSamples, // InRange
)

func noSamples(string) []string { return nil }

// Partly reports whether a line is printed but for a part that is unsaid.
func (p *Printed) Partly(line int) bool {
	return slices.ContainsFunc(p.Unsaid, func(u Unsaid) bool { return u.Line == line })
}

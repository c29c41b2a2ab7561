package match

import (
	"regexp/syntax"
	"strings"
)

// canonical is an expression in one spelling, and the text of that: without groups that only
// capture, and with a dot for every character, as expressions are compared here. One that does not
// parse stays. Its text is what takes longest: package syntax looks at every letter that has
// two forms.
func canonical(expression string) (re *syntax.Regexp, text string) {
	text = "(?s:" + expression + ")"
	for range 3 { // what is printed and read again flattens what was nested
		next, err := syntax.Parse(text, syntax.Perl)
		if err != nil {
			re = &syntax.Regexp{Op: syntax.OpLiteral, Rune: []rune(expression)}
			return re, re.String()
		}
		re = flat(next)
		before := text
		if text = re.String(); text == before {
			break
		}
	}
	return re, text
}

// anyBelow is the text of an expression for every path.
var _, anyBelow = canonical("/.*")

func flat(re *syntax.Regexp) *syntax.Regexp {
	for i := range re.Sub {
		re.Sub[i] = flat(re.Sub[i])
	}
	switch re.Op {
	case syntax.OpAnyCharNotNL:
		re.Op = syntax.OpAnyChar
	case syntax.OpCapture:
		return re.Sub[0]
	case syntax.OpConcat:
		var sub []*syntax.Regexp
		for _, s := range re.Sub {
			if s.Op != syntax.OpEmptyMatch {
				sub = append(sub, s)
			}
		}
		if re.Sub = sub; len(sub) == 0 {
			return &syntax.Regexp{Op: syntax.OpEmptyMatch}
		}
	}
	return re
}

// beginOf is the plain text with which every text begins that an expression matches as a whole:
// in ASCII, for an expression counts characters where Envoy counts bytes.
func beginOf(re *syntax.Regexp) string {
	var b strings.Builder
	for re.Op == syntax.OpCapture {
		re = re.Sub[0]
	}
	list := []*syntax.Regexp{re}
	if re.Op == syntax.OpConcat {
		list = re.Sub
	}
	for _, x := range list {
		switch {
		case x.Op == syntax.OpBeginText || x.Op == syntax.OpEmptyMatch:
		case x.Op == syntax.OpLiteral && x.Flags&syntax.FoldCase == 0 && IsASCII(string(x.Rune)):
			b.WriteString(string(x.Rune))
		default:
			return b.String()
		}
	}
	return b.String()
}

// subtree is the path of an expression that asks for it and all below; false where it
// does not end so.
func subtree(re *syntax.Regexp) (path string, ok bool) {
	if re.Op != syntax.OpConcat || len(re.Sub) < 2 {
		return "", false
	}
	last := re.Sub[len(re.Sub)-1]
	if last.Op != syntax.OpQuest || last.Sub[0].String() != anyBelow {
		return "", false
	}
	head := *re
	head.Sub = re.Sub[:len(re.Sub)-1]
	return head.String(), true
}

// Simplified are conditions that ask the same, without expressions where other words say
// it: a path that begins with a text, a header that contains one.
func (cs Conditions) Simplified() Conditions {
	out := make(Conditions, len(cs))
	for i := range cs {
		out[i] = cs[i].simplified()
	}
	return out
}

func (c Condition) simplified() Condition {
	if c.Op != FullMatch {
		return c
	}
	op, value := Op(0), ""
	re, _ := canonical(c.Value)
	if path, ok := subtree(re); ok && c.On == OnPath {
		op = SegmentPrefix
		re, _ = canonical(path)
	}
	before, behind := false, false
	if re.Op == syntax.OpConcat && op == 0 {
		parts := re.Sub
		if before = anything(parts[0]); before {
			parts = parts[1:]
		}
		if behind = len(parts) > 0 && anything(parts[len(parts)-1]); behind {
			parts = parts[:len(parts)-1]
		}
		if len(parts) != 1 {
			return c
		}
		re = parts[0]
	}
	if value = string(re.Rune); re.Op != syntax.OpLiteral || re.Flags&syntax.FoldCase != 0 || !IsASCII(value) {
		return c
	}
	switch {
	case op != 0:
	case before && behind:
		op = Contains
	case before:
		op = Suffix
	case behind:
		op = BytePrefix
	default:
		op = Equal
	}
	if plain, err := Compare(c.On, c.Name, op, c.Mode, value); err == nil {
		return plain
	}
	return c
}

// anything reports whether an expression matches every text.
func anything(re *syntax.Regexp) bool {
	return re.Op == syntax.OpStar && re.Sub[0].Op == syntax.OpAnyChar
}

package re2

import (
	"fmt"
	"regexp/syntax"
	"strings"
	"unicode"
)

// Envoy's RE2 takes (?i) for the letters of ASCII alone, where Go's packages take
// it for all of Latin-1: (?i)\xC9 does not match \xE9 (measured on 1.40).

// FoldASCII is an expression that compiles, written so that Go takes (?i) as Envoy
// does: what reaches beyond ASCII where case is ignored becomes a class of its own.
// It ends what it quotes.
func FoldASCII(source string) string {
	var out strings.Builder
	ignores := []bool{false} // case, in each open group
	for source != "" {
		n, last := element(source), len(ignores)-1
		text := source[:n]
		switch {
		case text[0] == '(' && strings.HasSuffix(text, ")"): // flags for the rest of the group
			ignores[last] = ignoresCase(text, ignores[last])
		case text[0] == '(':
			ignores = append(ignores, ignoresCase(text, ignores[last]))
		case text == ")":
			ignores = ignores[:last]
		case strings.HasPrefix(text, `\Q`) && !strings.HasSuffix(text, `\E`):
			text += `\E` // for what is put behind it
		case ignores[last]:
			text = ownClass(text)
		}
		out.WriteString(text)
		source = source[n:]
	}
	return out.String()
}

// element is the length of what source begins with: the opening of a group or flags,
// a class, an escape, or one byte.
func element(source string) int {
	switch {
	case strings.HasPrefix(source, "(?P<"), strings.HasPrefix(source, "(?<"):
		return strings.IndexByte(source, '>') + 1
	case strings.HasPrefix(source, "(?"):
		return strings.IndexAny(source, ":)") + 1
	case strings.HasPrefix(source, `\Q`):
		before, _, ended := strings.Cut(source, `\E`)
		if !ended {
			return len(source)
		}
		return len(before) + len(`\E`)
	case source[0] == '\\':
		return escape(source)
	case source[0] == '[':
		return class(source)
	}
	return 1
}

// escape is the length of the escape that source begins with.
func escape(source string) int {
	switch c := source[1]; {
	case strings.HasPrefix(source[2:], "{") && strings.IndexByte("xpP", c) >= 0:
		return strings.IndexByte(source, '}') + 1
	case c == 'x':
		return len(`\xFF`)
	case c == 'p' || c == 'P':
		return len(`\pL`)
	case '0' <= c && c <= '7':
		digits := source[1:min(len(source), len(`\377`))]
		return len(`\`) + len(digits) - len(strings.TrimLeft(digits, "01234567"))
	}
	return 2
}

// class is the length of the class in brackets that source begins with.
func class(source string) int {
	n := 1
	if source[n] == '^' {
		n++
	}
	for first := true; first || source[n] != ']'; first = false {
		rest := source[n:]
		switch named, _, ok := strings.Cut(rest, ":]"); {
		case rest[0] == '\\':
			n += escape(rest)
		case ok && strings.HasPrefix(rest, "[:"):
			n += len(named) + len(":]")
		default:
			n++
		}
	}
	return n + 1
}

// ignoresCase is what the flags in the opening of a group make of was.
func ignoresCase(opening string, was bool) bool {
	if strings.HasSuffix(opening, ">") { // a name
		return was
	}
	on, off, _ := strings.Cut(opening, "-")
	return (was || strings.Contains(on, "i")) && !strings.Contains(off, "i")
}

// ownClass is a class or an escape that reaches beyond ASCII as a class whose
// letters of ASCII alone are without case; other text stays.
func ownClass(text string) string {
	if text[0] != '[' && text[0] != '\\' {
		return text
	}
	plain, folded := characters(text, syntax.Perl), characters(text, syntax.Perl|syntax.FoldCase)
	beyond := clipped(plain, 0x80, 0xFF)
	if beyond == "" && clipped(folded, 0x80, 0xFF) == "" {
		return text // no character, or none that matters
	}
	return "(?-i:[" + clipped(folded, 0, unicode.MaxASCII) + beyond + "])"
}

// characters are the ranges of one class or escape; none where it is neither.
func characters(text string, flags syntax.Flags) []rune {
	re, err := syntax.Parse(text, flags)
	if err != nil {
		return nil // expressions compile, so each part does
	}
	switch {
	case re.Op == syntax.OpCharClass:
		return re.Rune
	case re.Op == syntax.OpLiteral && len(re.Rune) == 1: // also a class of two cases
		r := re.Rune[0]
		out := []rune{r, r}
		if re.Flags&syntax.FoldCase != 0 {
			for other := unicode.SimpleFold(r); other != r; other = unicode.SimpleFold(other) {
				out = append(out, other, other)
			}
		}
		return out
	}
	return nil
}

// clipped are the parts of ranges from low to high, as they stand in a class.
func clipped(ranges []rune, low, high rune) string {
	var out strings.Builder
	for i := 0; i < len(ranges); i += 2 {
		if from, to := max(ranges[i], low), min(ranges[i+1], high); from <= to {
			fmt.Fprintf(&out, `\x%02X-\x%02X`, from, to)
		}
	}
	return out.String()
}

package match

import (
	"fmt"
	"regexp/syntax"
	"strconv"
	"strings"
)

// Envoy compares bytes: its RE2 reads an expression as Latin-1, so é is two
// characters, é? repeats the second one, and there is none above \xFF.

// beyondBytes says what of an expression cannot be compared byte by byte; what to
// write. It is empty where everything can.
func beyondBytes(source string, tree *syntax.Regexp) string {
	if text := firstBeyondASCII(source); text != "" {
		return fmt.Sprintf("%q is more than one byte, and Envoy compares bytes; write %s in a path or query, and %s in a header",
			text, PercentEncoded(text), hexEscaped(text))
	}
	if escape := wideEscape(source); escape != "" {
		return fmt.Sprintf(`%s is above \xFF, and Envoy compares bytes; write the character percent-encoded in a path or query, and its bytes as \xE2 in a header`, escape)
	}
	if matchesNoByte(tree) {
		return "it has a class of characters that are all above \\xFF, and Envoy compares bytes; write the characters percent-encoded in a path or query, and their bytes as \\xE2 in a header"
	}
	return ""
}

// firstBeyondASCII is the first run of characters that are no ASCII.
func firstBeyondASCII(text string) string {
	beyond := func(r rune) bool { return r >= 0x80 }
	start := strings.IndexFunc(text, beyond)
	if start < 0 {
		return ""
	}
	text = text[start:]
	if end := strings.IndexFunc(text, func(r rune) bool { return !beyond(r) }); end >= 0 {
		text = text[:end]
	}
	return text
}

// wideEscape is the first escape of a character above \xFF.
func wideEscape(source string) string {
	for {
		at := strings.IndexByte(source, '\\')
		if at < 0 || at+1 == len(source) {
			return ""
		}
		source = source[at:]
		digits, base := "", 8
		end := 2
		switch c := source[1]; {
		case c == 'Q':
			if _, rest, ok := strings.Cut(source, `\E`); ok {
				source = rest
				continue
			}
			return ""
		case strings.HasPrefix(source, `\x{`):
			hex, _, _ := strings.Cut(source[3:], "}")
			digits, base, end = hex, 16, min(len(source), 4+len(hex))
		case c >= '0' && c <= '7':
			for end < len(source) && end < 4 && source[end] >= '0' && source[end] <= '7' {
				end++
			}
			digits = source[1:end]
		}
		if n, err := strconv.ParseUint(digits, base, 32); err == nil && n > 0xFF {
			return source[:end]
		}
		source = source[end:]
	}
}

// matchesNoByte reports whether a class in tree has no character up to \xFF.
func matchesNoByte(tree *syntax.Regexp) bool {
	if tree.Op == syntax.OpCharClass && len(tree.Rune) > 0 && tree.Rune[0] > 0xFF {
		return true
	}
	for _, sub := range tree.Sub {
		if matchesNoByte(sub) {
			return true
		}
	}
	return false
}

// PercentEncoded is text with every byte that is no ASCII as %XX, as it stands in
// the path of a request.
func PercentEncoded(text string) string { return encoded(text, "%%%02X") }

func hexEscaped(text string) string { return encoded(text, `\x%02X`) }

func encoded(text, format string) string {
	var b strings.Builder
	for i := range len(text) {
		if text[i] < 0x80 {
			b.WriteByte(text[i])
		} else {
			fmt.Fprintf(&b, format, text[i])
		}
	}
	return b.String()
}

// IsASCII reports whether text has no other characters.
func IsASCII(text string) bool { return firstBeyondASCII(text) == "" }

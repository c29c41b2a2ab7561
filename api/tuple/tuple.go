// Package tuple makes one text of several, from which they can be told again whatever they
// contain: the keys of collections and maps that stand for more than one name.
package tuple

import "strings"

// The separator of parts, and what begins one of the two texts that stand for it and for itself in a part.
const (
	separator = '\x00'
	escape    = '\x01'
)

var (
	escaper   = strings.NewReplacer("\x00", "\x01\x02", "\x01", "\x01\x03")
	unescaper = strings.NewReplacer("\x01\x02", "\x00", "\x01\x03", "\x01")
)

// Join is a text that no other parts have. One part that has no control characters is its own.
func Join(parts ...string) string { return Append("", parts...)[min(1, len(parts)):] }

// Append is the text of the parts of joined with more; joined is of Join.
func Append(joined string, parts ...string) string {
	size := len(joined)
	for _, p := range parts {
		size += 1 + len(p)
	}
	out := append(make([]byte, 0, size), joined...)
	for _, p := range parts {
		out = append(out, separator)
		if plain(p) {
			out = append(out, p...)
		} else {
			out = append(out, escaper.Replace(p)...)
		}
	}
	return string(out)
}

// Split are the parts of a text of Join.
func Split(joined string) []string {
	parts := strings.Split(joined, string(separator))
	for i, p := range parts {
		parts[i] = unescaped(p)
	}
	return parts
}

// CutLast is the text of all parts but the last one, and that; not ok where there is only one, which rest is then.
func CutLast(joined string) (rest, last string, ok bool) {
	i := strings.LastIndexByte(joined, separator)
	if i < 0 {
		return joined, "", false
	}
	return joined[:i], unescaped(joined[i+1:]), true
}

func unescaped(part string) string {
	if strings.IndexByte(part, escape) < 0 {
		return part
	}
	return unescaper.Replace(part)
}

func plain(part string) bool {
	for i := range len(part) {
		if part[i] <= escape {
			return false
		}
	}
	return true
}

package lint

import (
	"bytes"
	"slices"
	"strings"

	"github.com/weftmesh/weft/api"
)

// LabelIgnore is the label of an object of which codes are not told, separated by dots.
const LabelIgnore = "weft.io/lint-ignore"

// comment begins a comment by which codes are not told: on the line of the finding, in the
// comment right above that, or for the whole document in the one that it begins with.
const comment = "# weft:ignore "

// silenced reports whether the document of a finding says not to tell it.
func silenced(o *api.Object, v *api.Violation) bool {
	if o == nil || v.Severity == api.Error { // what is refused is refused
		return false
	}
	if slices.Contains(strings.Split(o.Labels[LabelIgnore], "."), v.Code) {
		return true
	}
	if o.Source.Item != "" || !bytes.Contains(o.Source.Text, []byte(comment)) {
		return false
	}
	lines := strings.Split(string(o.Source.Text), "\n")
	at := v.Line - o.Source.Line
	if at >= 0 && at < len(lines) && names(lines[at], v.Code) {
		return true
	}
	for i := min(at, len(lines)) - 1; i >= 0 && comments(lines[i]); i-- {
		if names(lines[i], v.Code) {
			return true
		}
	}
	for _, line := range lines {
		if !comments(line) && strings.TrimSpace(line) != "" {
			return false
		}
		if names(line, v.Code) {
			return true
		}
	}
	return false
}

func comments(line string) bool { return strings.HasPrefix(strings.TrimSpace(line), "#") }

// names reports whether a comment of a line names a code.
func names(line, code string) bool {
	_, rest, ok := strings.Cut(line, comment)
	codes, _, _ := strings.Cut(rest, ":") // a reason may follow
	return ok && slices.Contains(strings.FieldsFunc(codes, func(r rune) bool { return r == ',' || r == ' ' }), code)
}

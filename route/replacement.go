package route

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/weftmesh/weft/route/match"
	"github.com/weftmesh/weft/route/match/re2"
)

// Replacement puts With in the place of every match of an expression that
// CheckRegex takes. In With \1 to \9 stand for groups, \0 for the match and \\ for a
// backslash.
type Replacement struct{ Expression, With string }

// Check wants a With that names groups of the expression.
func (r *Replacement) Check() error {
	re, err := r.compiled()
	if err != nil {
		return err
	}
	for i := 0; i < len(r.With); i++ {
		if r.With[i] != '\\' {
			continue
		}
		if i++; i == len(r.With) || r.With[i] != '\\' && (r.With[i] < '0' || int(r.With[i]-'0') > re.NumSubexp()) {
			return fmt.Errorf("the replacement %q names no group of the expression; write \\1 for the first, and \\\\ for a backslash", r.With)
		}
	}
	return nil
}

func (r *Replacement) compiled() (*regexp.Regexp, error) {
	if err := match.CheckRegex("", r.Expression); err != nil {
		return nil, err
	}
	return regexp.Compile(re2.FoldASCII(r.Expression))
}

// begins reports whether the replacement changes the begin of the path alone, of paths that begin
// with text: its expression is plain text with which that begins, with the slash after it or
// without.
func (r *Replacement) begins(text string) bool {
	plain, anchored := strings.CutPrefix(strings.TrimSuffix(r.Expression, "/?"), "^")
	literal := strings.ReplaceAll(plain, `\`, "")
	return anchored && literal != "" && regexp.QuoteMeta(literal) == plain && strings.HasPrefix(text, literal) && !strings.Contains(r.With, `\`)
}

// In is path after the replacement, as Envoy makes it. A replacement that Check does
// not take changes nothing.
func (r *Replacement) In(path string) string {
	re, err := r.compiled()
	if err != nil || r.Check() != nil {
		return path
	}
	var b strings.Builder
	end := 0
	for _, m := range re.FindAllStringSubmatchIndex(path, -1) {
		b.WriteString(path[end:m[0]])
		end = m[1]
		for i := 0; i < len(r.With); i++ {
			c := r.With[i]
			if c != '\\' {
				b.WriteByte(c)
				continue
			}
			i++
			if c = r.With[i]; c == '\\' {
				b.WriteByte(c)
			} else if n := 2 * int(c-'0'); m[n] >= 0 {
				b.WriteString(path[m[n]:m[n+1]])
			}
		}
	}
	return b.String() + path[end:]
}

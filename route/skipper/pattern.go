package skipper

import (
	"cmp"
	"errors"
	"regexp"
	"strings"

	"github.com/weftmesh/weft/route/match"
)

// pattern is a path as Skipper's tree has it: segments that are literal, :name for
// any one segment, or at the end ** for one or more.
type pattern []segment

type segment struct {
	kind segmentKind
	text string // of a literal
	name string // of a parameter, by which filters know it
}

// segmentKind is in the order in which the tree is searched.
type segmentKind uint8

const (
	literal segmentKind = iota
	param
	rest
)

// parsePattern reads a path. The one of a subtree is the same with and without a
// slash at its end.
func parsePattern(path string, subtree bool) (pattern, error) {
	if !strings.HasPrefix(path, "/") {
		return nil, errors.New("the path does not begin with a slash; write one")
	}
	if strings.ContainsAny(path, "?# ") {
		return nil, errors.New("a path has no query, fragment or space; remove it")
	}
	if subtree {
		path = strings.TrimRight(path, "/")
		if path == "" {
			return nil, nil
		}
	}
	words := strings.Split(path[1:], "/")
	var out pattern
	for i, w := range words {
		last := i == len(words)-1
		switch {
		case w == "" && !last:
			return nil, errors.New("the path has two slashes in a row, which no request keeps; remove one")
		case strings.HasPrefix(w, "*"):
			if w == "*" {
				return nil, errors.New("a bare * is not defined; write ** for everything below, or :name for one segment")
			}
			if !last || subtree {
				return nil, errors.New("free wildcard param should be last; remove what follows it, and use path and not pathSubtree")
			}
			out = append(out, segment{kind: rest, name: w[1:]})
		case w == ":":
			return nil, errors.New("a : has no name behind it; write one, such as :id")
		case strings.HasPrefix(w, ":"):
			out = append(out, segment{kind: param, name: w[1:]})
		case strings.ContainsAny(w, ":*"):
			return nil, errors.New("a : or * stands inside of a segment; write it directly behind a slash")
		default:
			out = append(out, segment{text: w})
		}
	}
	return out, nil
}

// with is p with one more segment.
func (p pattern) with(s segment) pattern { return append(p[:len(p):len(p)], s) }

// compare orders patterns as the tree is searched: segment by segment literal, one
// segment, several. It is zero for patterns that are one leaf.
func (p pattern) compare(q pattern) int {
	for i := range min(len(p), len(q)) {
		if c := cmp.Or(cmp.Compare(p[i].kind, q[i].kind), cmp.Compare(p[i].text, q[i].text)); c != 0 {
			return c
		}
	}
	return cmp.Compare(len(p), len(q))
}

// text is the path that p alone takes; false where it takes several.
func (p pattern) text() (string, bool) {
	var b strings.Builder
	for _, s := range p {
		if s.kind != literal {
			return "", false
		}
		b.WriteByte('/')
		b.WriteString(s.text)
	}
	return b.String(), true
}

// expression matches what p takes.
func (p pattern) expression() string {
	var b strings.Builder
	for _, s := range p {
		b.WriteByte('/')
		b.WriteString([...]string{regexp.QuoteMeta(s.text), "[^/]+", ".+"}[s.kind])
	}
	return b.String()
}

// condition is what p asks of the path.
func (p pattern) condition() (match.Condition, error) {
	if text, ok := p.text(); ok {
		return match.Compare(match.OnPath, "", match.Equal, 0, text)
	}
	return match.MatchAll(match.OnPath, "", 0, p.expression())
}

// subtreeCondition is what the subtree of p asks of the path, as a whole.
func (p pattern) subtreeCondition() (match.Condition, error) {
	if text, ok := p.text(); ok {
		return match.Compare(match.OnPath, "", match.SegmentPrefix, 0, cmp.Or(text, "/"))
	}
	return match.MatchAll(match.OnPath, "", 0, p.expression()+"(/.*)?")
}

// belowCondition is what lies below the slash at the end of p. It takes p with that
// slash too, which is another leaf of the subtree and stands before this one.
func (p pattern) belowCondition() (match.Condition, error) {
	if text, ok := p.text(); ok {
		return match.Compare(match.OnPath, "", match.BytePrefix, 0, text+"/")
	}
	return match.MatchAll(match.OnPath, "", 0, p.expression()+"/.*")
}

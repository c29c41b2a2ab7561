package contour

import (
	"regexp"
	"slices"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/route/match"
)

// chain is how a request comes to an object: the conditions of the includes on the way
// from the root. It is never changed.
type chain struct {
	path    string // a prefix, / where nobody asks for one
	exact   bool   // or the whole path
	headers []header
	queries []parameter
	via     []*api.Origin // the includes, outermost first
	visited []api.Ref     // the objects, the root first
}

// below is the chain through one more include; not ok where the two contradict each
// other, of which the including object is told.
func (c *chain) below(r *report, e *edge, from *api.Origin) (next *chain, ok bool) {
	b := e.block
	next = &chain{path: c.path, exact: c.exact, headers: slices.Concat(c.headers, b.headers), queries: slices.Concat(c.queries, b.queries),
		via: append(slices.Clone(c.via), from), visited: append(slices.Clone(c.visited), from.Ref)}
	if b.path != nil {
		if c.exact {
			r.errs(includeError, badPath, b.path.at, "the path is fixed by the exact condition of an including object; leave it out")
			return nil, false
		}
		next.path, next.exact = joined(c.path, b.path.value), b.path.kind == byExact
	}
	return next, next.consistent(r)
}

// consistent reports whether the conditions of the chain can hold together.
func (c *chain) consistent(r *report) bool {
	if at, why := contradiction(c.headers); why != "" {
		r.errs(routeError, badHeader, at, "%s", why)
		return false
	}
	if at, why := contradictionOf(c.queries); why != "" {
		r.errs(routeError, badParameter, at, "%s", why)
		return false
	}
	return true
}

// rootChain is the chain to an object that nobody includes.
func rootChain() *chain { return &chain{path: "/"} }

// path is what is asked of the path of a request, all included.
type path struct {
	kind  pathKind
	value string // of a regex without what bounds it
	// under is the prefix that a regex has to stay below where its own text may leave it.
	under string
}

var slashes = regexp.MustCompile(`/{2,}`)

// joined are two parts of a path, one after the other.
func joined(prefix, rest string) string { return slashes.ReplaceAllString(prefix+rest, "/") }

// with is the path of a route that asks own of what comes by the chain; it may be nil.
func (c *chain) with(own *ownPath) path {
	switch {
	case own == nil && c.exact:
		return path{kind: byExact, value: c.path}
	case own == nil:
		return path{kind: byPrefix, value: c.path}
	case own.kind != byRegex:
		return path{kind: own.kind, value: joined(c.path, own.value)}
	}
	bound := strings.TrimSuffix(c.path, "/")
	if bound == "" {
		return path{kind: byRegex, value: own.value}
	}
	out := path{kind: byRegex, value: regexp.QuoteMeta(bound) + "(?:" + own.value + ")"}
	if bound != c.path {
		out.under = c.path
	}
	return out
}

// wild reports whether the path is a prefix with wildcards.
func (p *path) wild() bool { return p.kind == byPrefix && strings.Contains(p.value, "*") }

// conditions are what it asks. A wildcard is one or more characters, slashes included.
func (p *path) conditions() (match.Conditions, error) {
	var c match.Condition
	var err error
	switch {
	case p.kind == byExact:
		c, err = match.Compare(match.OnPath, "", match.Equal, 0, p.value)
	case p.kind == byRegex:
		c, err = match.MatchAll(match.OnPath, "", 0, p.value)
	case p.wild():
		pieces := strings.Split(p.value, "*")
		for i := range pieces {
			pieces[i] = regexp.QuoteMeta(pieces[i])
		}
		c, err = match.MatchAll(match.OnPath, "", 0, strings.Join(pieces, ".+")+".*")
	default:
		c, err = match.Compare(match.OnPath, "", match.BytePrefix, 0, p.value)
	}
	out := match.Conditions{c}
	if err == nil && p.under != "" {
		c, err = match.Compare(match.OnPath, "", match.BytePrefix, 0, p.under)
		out = append(out, c)
	}
	return out, err
}

// fixed is how many bytes stand before the first wildcard, literal how many there are
// without the wildcards.
func (p *path) fixed() int {
	if at := strings.IndexByte(p.value, '*'); at >= 0 {
		return at
	}
	return len(p.value)
}

func (p *path) literal() int { return len(p.value) - strings.Count(p.value, "*") }

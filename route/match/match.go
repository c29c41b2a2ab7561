package match

import (
	"cmp"
	"slices"
)

// Match is one alternative of a rule: it takes the requests of which all its
// conditions hold. The dialect makes it once, when it reads the object.
//
// A path prefix of / asks nothing, for every path has it: a match that says it
// and one without a path are one to Implies, Everything and Path, and so to every
// order, renderer and rewrite. Views alone tell them apart; they show what was written.
type Match struct{ Conditions }

// CatchAll takes every request.
var CatchAll = Match{Conditions{AnyPath}}

// AnyPath is the condition that every path meets.
var AnyPath = Condition{On: OnPath, Op: SegmentPrefix, Value: "/"}

// Trivial reports whether c holds of every path that begins with a slash, as
// all do that a proxy routes.
func (c *Condition) Trivial() bool {
	return c.On == OnPath && c.Value == "/" && (c.Op == SegmentPrefix || c.Op == BytePrefix)
}

// Path is what cs ask of the path: the first condition on it, and without one the
// prefix that every path has.
func (cs Conditions) Path() *Condition {
	for i := range cs {
		if cs[i].On == OnPath {
			return &cs[i]
		}
	}
	return &AnyPath
}

// Everything reports whether cs hold of every request.
func (cs Conditions) Everything() bool {
	for i := range cs {
		if !cs[i].Trivial() {
			return false
		}
	}
	return true
}

// Count is how many conditions cs have on a subject.
func (cs Conditions) Count(on Subject) int {
	n := 0
	for i := range cs {
		if cs[i].On == on {
			n++
		}
	}
	return n
}

// MoreSpecific orders single matches, the more specific first: by how they compare the
// path, in the order of paths, in which those of others come last; by its length unless
// it is a whole path; then by how many conditions there are on the method, on headers and
// on the query. It is a strict weak order.
func MoreSpecific(a, b *Match, paths ...Op) int {
	p, q := a.Path(), b.Path()
	rank := func(c *Condition) int {
		if i := slices.Index(paths, c.Op); i >= 0 {
			return i
		}
		return len(paths)
	}
	if c := cmp.Compare(rank(p), rank(q)); c != 0 {
		return c
	}
	if c := cmp.Compare(len(q.Value), len(p.Value)); c != 0 && p.Op != Equal {
		return c
	}
	return cmp.Or(
		cmp.Compare(min(b.Count(OnMethod), 1), min(a.Count(OnMethod), 1)),
		cmp.Compare(b.Count(OnHeader), a.Count(OnHeader)),
		cmp.Compare(b.Count(OnQuery), a.Count(OnQuery)),
	)
}

// FalseFirst orders truth values.
func FalseFirst(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// Replaces is the part of a path that a rewrite of the prefix replaces where c
// holds: what c names, without a slash behind it. False where c
// names none, and then such a rewrite changes nothing: dialects refuse it.
func (c *Condition) Replaces() (segments string, ok bool) {
	if c.On != OnPath {
		return "", false
	}
	return c.Op.row().replaced(c)
}

package match

import (
	"slices"
	"strings"
)

// Disjoint reports whether no request satisfies both. It is sound, not complete: true is
// certain, false says nothing.
func (cs Conditions) Disjoint(ds Conditions) bool {
	for i := range cs {
		for j := range ds {
			if cs[i].contradicts(&ds[j]) || ds[j].contradicts(&cs[i]) {
				return true
			}
		}
	}
	return false
}

// contradicts reports whether c asks for what d refuses.
func (c *Condition) contradicts(d *Condition) bool {
	if c.On != d.On || c.Name != d.Name {
		return false
	}
	if c.On == OnHeader {
		return c.Op == Present && c.Mode == Not && d.Mode&^IgnoreCase == 0
	}
	if c.Mode != 0 {
		return false
	}
	var q func(value string) *Request
	switch c.On {
	case OnPath:
		if c.disjointPrefixes(d) {
			return true
		}
		q = func(v string) *Request { return &Request{Path: v} }
	case OnMethod:
		q = func(v string) *Request { return &Request{Method: v} }
	case OnCookie:
		q = func(v string) *Request {
			return &Request{Header: func(string) []string { return []string{c.Name + "=" + v} }}
		}
	default:
		return false
	}
	only := c.Op.row().only(c)
	return only != nil && !slices.ContainsFunc(only, func(v string) bool { return d.Holds(q(v)) })
}

// disjointPrefixes reports whether no path begins as both want it to.
func (c *Condition) disjointPrefixes(d *Condition) bool {
	p, segments := c.Op.row().begin(c)
	q, others := d.Op.row().begin(d)
	if strings.HasPrefix(p, q) || strings.HasPrefix(q, p) {
		return segments && len(q) > len(p) && q[len(p)] != '/' || others && len(p) > len(q) && p[len(q)] != '/'
	}
	return true
}

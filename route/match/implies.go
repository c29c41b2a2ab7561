package match

import (
	"strings"
)

// Implies reports whether c holds of every request of which d holds. It is sound
// and not complete: true is certain, false says nothing.
func (c *Condition) Implies(d *Condition) bool {
	if c.same(d) {
		return true
	}
	if c.On != d.On || c.Name != d.Name || d.Mode&MissingIsEmpty != 0 {
		return false
	}
	if c.Op == Present { // what says something of a value needs one, but where Not of a cookie holds
		return c.Mode == 0 && (d.Mode == 0 || d.Mode == IgnoreCase || d.Mode&Not != 0 && d.Op != Present && d.On != OnCookie)
	}
	if c.Mode != 0 && c.Mode != IgnoreCase || d.Mode != 0 && d.Mode != IgnoreCase {
		return false
	}
	if d.Mode == IgnoreCase && c.Mode == 0 {
		return false
	}
	return c.impliesValue(d)
}

// impliesValue is Implies where both speak of one value, c perhaps ignoring case.
func (c *Condition) impliesValue(d *Condition) bool {
	p := pair{c, d, c.Op.row(), c.Value, d.Value}
	if c.Mode == IgnoreCase {
		p.want, p.have = lowerASCII(p.want), lowerASCII(p.have)
	}
	return d.Op.row().implies(p)
}

// Conditions are several, all of which have to hold.
type Conditions []Condition

// Holds reports whether all hold of a request.
func (cs Conditions) Holds(r *Request) bool {
	for i := range cs {
		if !cs[i].Holds(r) {
			return false
		}
	}
	return true
}

// WhyNot is the first reason why not all hold, empty if they do.
func (cs Conditions) WhyNot(r *Request) string {
	for i := range cs {
		if reason := cs[i].WhyNot(r); reason != "" {
			return reason
		}
	}
	return ""
}

// Implies reports whether cs hold of every request of which ds hold: sound and
// not complete, as for one condition.
func (cs Conditions) Implies(ds Conditions) bool {
	for i := range cs {
		if !cs[i].Trivial() && !cs[i].coversOneOf(ds) {
			return false
		}
	}
	return true
}

func (c *Condition) coversOneOf(ds Conditions) bool {
	for i := range ds {
		if c.Implies(&ds[i]) {
			return true
		}
	}
	return false
}

// And are conditions that hold where both do, without those that others among them imply.
func (cs Conditions) And(ds Conditions) Conditions {
	var out Conditions
	add := func(c *Condition, others Conditions, last bool) {
		for i := range others {
			if c.Implies(&others[i]) && (last || !others[i].Implies(c)) {
				return
			}
		}
		if !c.Trivial() {
			out = append(out, *c)
		}
	}
	for i := range cs {
		add(&cs[i], ds, false)
	}
	for i := range ds {
		add(&ds[i], cs, true)
	}
	if len(out) == 0 {
		return CatchAll.Conditions
	}
	return out
}

// Short joins the short texts: the method first, as requests are written.
func (cs Conditions) Short() string {
	parts := make([]string, 0, len(cs))
	for i := range cs {
		if cs[i].On == OnMethod {
			parts = append(parts, cs[i].Short())
		}
	}
	for i := range cs {
		if cs[i].On != OnMethod {
			parts = append(parts, cs[i].Short())
		}
	}
	if len(parts) == 0 {
		return "any path"
	}
	return strings.Join(parts, " ")
}

// Text joins what each says.
func (cs Conditions) Text() string {
	parts := make([]string, len(cs))
	for i := range cs {
		parts[i] = cs[i].Text()
	}
	return strings.Join(parts, " and ")
}

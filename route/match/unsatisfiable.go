package match

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/redact"
	"github.com/weftmesh/weft/route/match/re2"
)

// Unmet is why no request meets conditions, and what to write instead; empty where one may. It is
// sound: what is said is certain.
func (cs Conditions) Unmet(how PathNormalization) string {
	for i := range cs {
		if why := cs[i].unmet(how); why != "" {
			return why
		}
	}
	if cs.Disjoint(cs) {
		return "its conditions contradict each other; write each as a rule of its own"
	}
	for i := range cs {
		if why := cs.contradicted(i, how); why != "" {
			return why
		}
	}
	return ""
}

// UnmetAt reports whether no request for a host meets conditions; a name that begins with * stands
// for all hosts below it, and AnyHost for all. It is sound, as Unmet is.
func (cs Conditions) UnmetAt(host string, how PathNormalization) bool {
	if host == api.AnyHost {
		return false
	}
	expression := regexp.QuoteMeta(host)
	if below, wild := strings.CutPrefix(host, "*"); wild {
		expression = "[^:]+" + regexp.QuoteMeta(below)
	}
	asked, err := MatchAll(OnAuthority, "", 0, "(?i:"+expression+`)\.?(:[0-9]+)?`)
	return err == nil && append(slices.Clip(cs), asked).Unmet(how) != ""
}

// unmet is Unmet of a condition by itself.
func (c *Condition) unmet(how PathNormalization) string {
	if why := c.unnamed(); why != "" {
		return why
	}
	if c.Mode&Not != 0 {
		if c.On == OnPath && (&Condition{On: c.On, Op: c.Op, Value: c.Value}).Trivial() {
			return "every path begins with /; leave it out"
		}
		return ""
	}
	if c.possible(how) {
		return ""
	}
	return fmt.Sprintf("no request has %s %s: %s", c.part(), redact.Clip(fmt.Sprintf("%q", strings.Join(c.written(), ", "))), c.instead(how))
}

// written are the values that c compares with.
func (c *Condition) written() []string {
	if only := c.Op.row().only(c); only != nil {
		return only
	}
	return []string{c.Value}
}

// part names what c is about.
func (c *Condition) part() string {
	if c.On.named() {
		return fmt.Sprintf("the %s %s:", c.On, c.Name)
	}
	return fmt.Sprintf("the %s", c.On)
}

// unnamed says why nothing of the name of c is there, whatever its value.
func (c *Condition) unnamed() string {
	absent := c.Op == Present && c.Mode&Not != 0 || c.Mode&MissingIsEmpty != 0
	switch {
	case c.On == OnHeader && !absent && slices.Contains(ControlHeaders, c.Name):
		return fmt.Sprintf("sidecars remove the header %s before they match; match another one", c.Name)
	case c.On == OnQuery && strings.ContainsAny(c.Name, "&=#"):
		return fmt.Sprintf("no query parameter is called %q: & and = part them, and # ends the query; write it as requests do: %s", redact.Clip(c.Name), redact.Clip(queryEncoded(c.Name)))
	case c.On == OnQuery && !onTheWire(OnQuery, Read, c.Name):
		return fmt.Sprintf("no query parameter is called %q; write it as requests do: %s", redact.Clip(c.Name), redact.Clip(queryEncoded(c.Name)))
	}
	return ""
}

// possible reports whether a request may have a value of which c holds.
func (c *Condition) possible(how PathNormalization) bool {
	if len(onWire[c.On]) == 0 {
		return true
	}
	if only := c.Op.row().only(c); only != nil {
		return slices.ContainsFunc(only, func(v string) bool { return onTheWire(c.On, how, v) })
	}
	if slices.ContainsFunc(c.Samples(), func(v string) bool { return onTheWire(c.On, how, v) }) {
		return true
	}
	l := c.language()
	return l == nil || !disjointOnWire(c.On, how, l)
}

// disjointOnWire reports whether no request has a text that is in all languages.
func disjointOnWire(on Subject, how PathNormalization, all ...*re2.Language) bool {
	if re2.Disjoint(all...) {
		return true
	}
	for _, w := range wires()[wireKey{on, how}] { // one after the other costs less than all at once
		if re2.Disjoint(append(slices.Clip(all), w.Language)...) {
			return true
		}
	}
	return false
}

// language is that of the values of which c holds; nil where that is not known.
func (c *Condition) language() *re2.Language {
	text, ok := c.Expression()
	if !ok {
		return nil
	}
	return re2.LanguageOf(text)
}

// instead is what to write in the place of a value that no request has.
func (c *Condition) instead(how PathNormalization) string {
	switch {
	case c.On == OnPath && c.Op == FullMatch:
		return c.expressionInstead(how)
	case c.On == OnPath && strings.Contains(c.Value, "?"):
		return fmt.Sprintf("what follows ? is no part of the path; write %s, and match the query by its parameters", redact.Clip(asRead(c.Value, how)))
	case c.On == OnPath:
		if to := asRead(c.Value, how); to != c.Value && onTheWire(OnPath, how, to) {
			return fmt.Sprintf("paths are matched decoded, and without dot segments%s; write %s", map[PathNormalization]string{Merged: ", with one slash for several", AtPermissions: ", with one slash for several"}[how], redact.Clip(to))
		}
		return "requests with such a path are refused; write one as it is matched"
	case c.On == OnHeader && c.Op != FullMatch && strings.Trim(c.Value, " \t") != c.Value:
		return fmt.Sprintf("spaces around values are no part of them; write %s", redact.Clip(fmt.Sprintf("%q", strings.Trim(c.Value, " \t"))))
	case c.On == OnQuery && c.Op != FullMatch:
		return fmt.Sprintf("the query is compared as it is sent, encoded; write %s", redact.Clip(queryEncoded(c.Value)))
	case c.On == OnCookie:
		return "a semicolon ends the value of a cookie; write what stands before it"
	case c.Op == FullMatch:
		return "the expression has to match a whole value as requests send it; write one that does"
	}
	return "write a value as requests have it"
}

// expressionInstead is instead for an expression on the path.
func (c *Condition) expressionInstead(how PathNormalization) string {
	bare := strings.TrimSuffix(strings.TrimPrefix(c.Value, "^"), "$")
	if to, err := MatchAll(OnPath, "", 0, "/"+bare); err == nil && !strings.HasPrefix(bare, "/") && to.possible(how) {
		return fmt.Sprintf("it has to match the whole path, which begins with /; write /%s", redact.Clip(bare))
	}
	if before, _, asks := strings.Cut(bare, `\?`); asks {
		return fmt.Sprintf("what follows ? is no part of the path; write %s, and match the query by its parameters", redact.Clip(before))
	}
	return "it has to match the whole path, decoded, without dot segments and without the query; write one that does"
}

// queryEncoded is text as it stands in the query of a request.
func queryEncoded(text string) string {
	var b strings.Builder
	for i := range len(text) {
		if c := text[i]; c <= ' ' || c >= 0x7f || strings.IndexByte(`#&=+`, c) >= 0 {
			fmt.Fprintf(&b, "%%%02X", c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}

// contradicted says why the i-th condition and others on the same never hold together.
func (cs Conditions) contradicted(i int, how PathNormalization) string {
	c := &cs[i]
	var same Conditions // those that ask something of one value
	for k := range cs {
		if d := &cs[k]; d.On == c.On && d.Name == c.Name && d.Op != Present {
			same = append(same, *d)
		}
	}
	first := slices.IndexFunc(cs, func(d Condition) bool { return d.On == c.On && d.Name == c.Name && d.Op != Present })
	if len(same) < 2 || first != i || c.On == OnClaim || c.On == OnChance {
		return ""
	}
	if !same.oneValue() || same.meet(how) {
		return ""
	}
	return fmt.Sprintf("no %s meets all of its conditions on it (%s); write each as a rule of its own", strings.TrimSuffix(strings.TrimPrefix(c.part(), "the "), ":"), same.Text())
}

// oneValue reports whether conditions on one header or other part of requests have to hold of one
// value: a header that is sent twice has two, of which each may be for another condition.
func (cs Conditions) oneValue() bool {
	return cs[0].On != OnHeader
}

// meet reports whether one value may meet all of cs, which are about one part of requests.
func (cs Conditions) meet(how PathNormalization) bool {
	var all []*re2.Language
	for i := range cs {
		c := &cs[i]
		switch {
		case c.Mode&Not != 0:
			positive := *c
			positive.Mode &^= Not | MissingIsEmpty
			for k := range cs {
				if cs[k].Mode&Not == 0 && positive.Implies(&cs[k]) {
					return false
				}
			}
		case c.Mode == 0 && c.Op.row().only(c) != nil:
			return slices.ContainsFunc(c.written(), func(v string) bool {
				return !slices.ContainsFunc(cs, func(d Condition) bool { return d.fits(v) == (d.Mode&Not != 0) })
			})
		default:
			if l := c.language(); l != nil {
				all = append(all, l)
			}
		}
	}
	return len(all) < 2 || !disjointOnWire(cs[0].On, how, all...)
}

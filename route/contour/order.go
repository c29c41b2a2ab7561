package contour

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/weftmesh/weft/route/match"
)

// asked is what a rule asks of a request: what it is known by, and ordered by.
type asked struct {
	path
	headers []header    // sorted
	queries []parameter // sorted
}

// newAsked sorts what is asked.
func newAsked(p path, headers []header, queries []parameter) asked {
	a := asked{p, slices.Clone(headers), slices.Clone(queries)}
	slices.SortStableFunc(a.headers, func(x, y header) int { return compareHeaders(&x, &y) })
	slices.SortStableFunc(a.queries, func(x, y parameter) int { return compareParameters(&x, &y) })
	return a
}

var pathWords = map[pathKind]string{byPrefix: "prefix", byExact: "exact", byRegex: "regex"}

// key tells rules with different conditions apart; of those with one key the last holds.
func (a *asked) key() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s", pathWords[a.kind], a.value)
	if a.under != "" {
		fmt.Fprintf(&b, " under %s", a.under)
	}
	for _, h := range a.headers {
		fmt.Fprintf(&b, " header %s", h.text())
	}
	for _, q := range a.queries {
		fmt.Fprintf(&b, " query %s", q.text())
	}
	return b.String()
}

func (p *parameter) text() string {
	out := p.name + " " + comparisonWords[p.does]
	if p.does != isPresent {
		out += fmt.Sprintf(" %q", p.value)
	}
	if p.ignoreCase {
		out += " in any case"
	}
	return out
}

func (h *header) text() string {
	out := h.parameter.text()
	if h.not {
		out = "not " + out
	}
	if h.missingIsEmpty {
		out += " missing as empty"
	}
	return out
}

// classes are tried in this order.
var classes = map[pathKind]int{byExact: 0, byRegex: 1, byPrefix: 2}

// compare orders what is asked, most specific first (spec/httpproxy.md 8). It is a
// strict weak order.
func (a *asked) compare(b *asked) int {
	if c := cmp.Compare(classes[a.kind], classes[b.kind]); c != 0 {
		return c
	}
	switch a.kind {
	case byRegex:
		if c := cmp.Compare(len(b.value), len(a.value)); c != 0 {
			return c
		}
	case byPrefix:
		if c := cmp.Or(cmp.Compare(b.fixed(), a.fixed()), match.FalseFirst(b.wild(), a.wild()), cmp.Compare(b.literal(), a.literal())); c != 0 {
			return c
		}
	}
	methods, others := a.counts()
	methodsOfB, othersOfB := b.counts()
	return cmp.Or(
		cmp.Compare(b.value, a.value),
		cmp.Compare(min(methodsOfB, 1), min(methods, 1)),
		cmp.Compare(othersOfB, others),
		cmp.Compare(len(b.queries), len(a.queries)),
		slices.CompareFunc(a.headers, b.headers, func(x, y header) int { return compareHeaders(&x, &y) }),
		slices.CompareFunc(a.queries, b.queries, func(x, y parameter) int { return compareParameters(&x, &y) }),
		cmp.Compare(b.under, a.under),
	)
}

// counts are how many conditions there are on the method and on headers.
func (a *asked) counts() (methods, others int) {
	for _, h := range a.headers {
		if h.name == method {
			methods++
		} else {
			others++
		}
	}
	return methods, others
}

func compareHeaders(a, b *header) int {
	return cmp.Or(
		cmp.Compare(a.name, b.name), cmp.Compare(a.does, b.does), cmp.Compare(a.value, b.value), match.FalseFirst(a.not, b.not),
		match.FalseFirst(a.ignoreCase, b.ignoreCase), match.FalseFirst(a.missingIsEmpty, b.missingIsEmpty),
	)
}

func compareParameters(a, b *parameter) int {
	return cmp.Or(cmp.Compare(a.name, b.name), cmp.Compare(a.does, b.does), cmp.Compare(a.value, b.value), match.FalseFirst(a.ignoreCase, b.ignoreCase))
}

package skipper

import (
	"slices"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/route"
	"github.com/weftmesh/weft/route/match"
)

// change is a filter of the model. One with a choice acts where that holds.
type change struct {
	route.Filter
	in int // 1 more than the place of the choice among those of the effect; 0 is always
	at api.Path
}

// choice is what filters of a route ask of a request: some act where all of it holds, some
// where it does not, and the rows of the route are divided by it.
type choice struct {
	name string // for the names of rules
	is   match.Conditions
}

// maxChoices bounds how often the rows of one route are divided.
const maxChoices = 4

func (e *effect) add(c *call, f route.Filter) {
	e.changes = append(e.changes, change{Filter: f, at: c.at})
}

// addWhere adds a change that acts where all of is holds.
func (e *effect) addWhere(c *call, is match.Conditions, f route.Filter) error {
	var names []string
	for i := range is {
		names = append(names, is[i].Name)
	}
	in, err := e.choose(c, "header "+strings.Join(names, " and "), is)
	if err != nil {
		return err
	}
	e.changes = append(e.changes, change{f, in, c.at})
	for i := range e.reads {
		e.reads[i].chosen = e.reads[i].chosen || e.reads[i].at == c.at
	}
	return nil
}

// choose is 1 more than the place of a choice, which the route may have already.
func (e *effect) choose(c *call, name string, is match.Conditions) (int, error) {
	for i := range e.choices {
		if sameConditions(e.choices[i].is, is) {
			return i + 1, nil
		}
	}
	switch {
	case e.where == onLoopback:
		return 0, refused(c.at, unsupportedFilter, "%s acts on some requests and not on others, which weft does not work out for a loopback; the RouteGroup is not applied, so write it in the routes that the loopback leads to", c.Name)
	case len(e.choices) == maxChoices:
		return 0, refused(c.at, unsupportedFilter, "the filters of the route tell requests apart in more than %d ways; the RouteGroup is not applied, so write several routes", maxChoices)
	}
	e.choices = append(e.choices, choice{name, is})
	return len(e.choices), nil
}

// filters are the changes where the choices hold that holds says, in the order in which
// they are made: the filters of a route are passed forwards for the request, and backwards
// for the answer.
func (e *effect) filters(holds []bool) []route.Filter {
	var out, back []route.Filter
	for _, c := range e.changes {
		switch {
		case c.in > len(holds) || c.in > 0 && !holds[c.in-1]:
		case c.ResponseHeaders != nil:
			back = append(back, c.Filter)
		default:
			out = append(out, c.Filter)
		}
	}
	slices.Reverse(back)
	return append(out, back...)
}

// all are the changes where every choice holds.
func (e *effect) all() []route.Filter {
	holds := make([]bool, len(e.choices))
	for i := range holds {
		holds[i] = true
	}
	return e.filters(holds)
}

// reading is a header that a filter fills in.
type reading struct {
	route.Part
	at     api.Path
	answer bool // into an answer
	chosen bool // requests are told apart by it
	host   bool // it is the host that backends see
}

// checkReads wants Envoy to have for what is filled in what Skipper has: it fills a request
// by what came, but for what the route removes, and an answer by what went on.
func (e *effect) checkReads() (errs []error) {
	refuse := func(at api.Path, format string, args ...any) {
		errs = append(errs, refused(at, unsupportedFilter, format+"; the RouteGroup is not applied", args...))
	}
	for _, r := range e.reads {
		for _, c := range e.changes {
			name, m := r.Header, c.RequestHeaders
			if r.Answer != "" {
				name, m = r.Answer, c.ResponseHeaders
			}
			changed, removed := changes(m, name)
			switch {
			case !changed || c.at == r.at && c.RequestHeaders == nil:
			case r.Answer != "":
				refuse(r.at, "the header %s of the answer is changed at %s, and Envoy fills in what came; write a plain value, or remove that change", name, c.at)
			case r.answer && r.chosen:
				refuse(r.at, "the header %s is changed at %s, and weft tells requests apart by what came; write ${request.header.%s} alone", name, c.at, name)
			case r.host && c.at != r.at:
				refuse(c.at, "the header %s is the host at %s, and Envoy takes it as it is after all changes; write this filter before", name, r.at)
			case !r.answer && removed:
				refuse(c.at, "the header %s is filled in at %s, and Envoy removes headers before it fills others; leave it to the backend", name, r.at)
			}
		}
	}
	if to := e.moved; to != nil && (e.pathIn != "" && (to.Path != nil || e.path != nil) || e.hostIn != "" && to.Hostname != "") {
		refuse(e.origin.Field.Field("filters"), "the answer is filled in with the host or the path of the request, and Envoy has those of the location there; write plain text")
	}
	return append(errs, e.checkLines()...)
}

// changes reports whether a modifier changes a header, and removes it.
func changes(m *route.HeaderModifier, name string) (changed, removed bool) {
	if m == nil {
		return false, false
	}
	is := func(h route.Header) bool { return h.Name == name }
	removed = slices.Contains(m.Remove, name)
	return removed || slices.ContainsFunc(m.Set, is) || slices.ContainsFunc(m.Add, is) || slices.ContainsFunc(m.Fill, func(f route.Filled) bool { return f.Name == name }), removed
}

// checkLines wants no header to be filled to which a change before adds lines.
func (e *effect) checkLines() (errs []error) {
	type header struct {
		answer bool
		name   string
	}
	added := map[header]bool{}
	for _, f := range e.all() {
		m, answer := f.RequestHeaders, false
		if m == nil {
			m, answer = f.ResponseHeaders, true
		}
		if m == nil {
			continue
		}
		for i := range m.Fill {
			h := header{answer, m.Fill[i].Name}
			if added[h] && !m.Fill[i].Add {
				errs = append(errs, refused(e.origin.Field.Field("filters"), unsupportedFilter, "the header %s gets a line before it is set to %s, and Envoy sets first; the RouteGroup is not applied, so remove the filter that adds the line",
					h.name, spelled(m.Fill[i].Parts)))
			}
			added[h] = added[h] || m.Fill[i].Add
		}
		for _, h := range m.Add {
			added[header{answer, h.Name}] = true
		}
		for _, h := range m.Set {
			delete(added, header{answer, h.Name})
		}
		for _, name := range m.Remove {
			delete(added, header{answer, name})
		}
	}
	return errs
}

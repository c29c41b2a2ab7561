package skipper

import (
	"github.com/weftmesh/weft/route/match"
)

// predicate is one line of the table of predicates: the page for users, and what
// the code does, are made of it.
type predicate struct {
	name, takes string
	means       string // for the page; where read is nil, why weft has it not
	// read is what it asks; nil: it is refused.
	read func(c *call, o *asks) error
}

// asks is what the predicates of one route ask together.
type asks struct {
	all     match.Conditions // that have to hold
	options []option         // one of which has to hold
	weight  int              // by which routes of one leaf are tried
	never   bool
	token   bool        // it asks for claims that nobody verified
	segment *[2]float64 // the part of one draw
	// constraints counts those on cookies and headers.
	constraints int
}

// option is one way in which the predicates hold.
type option struct {
	conditions match.Conditions
	chance     float64 // in which it holds even so; 1 is always
}

// add wants c, which the constructors may have refused.
func (o *asks) add(x *call, c match.Condition, err error) error {
	if err != nil {
		return x.wrong("%v; write it otherwise", err)
	}
	o.all = append(o.all, c)
	return nil
}

// either wants one of several, on top of what is wanted already.
func (o *asks) either(more ...option) {
	var out []option
	for _, a := range o.options {
		for _, b := range more {
			both := append(a.conditions[:len(a.conditions):len(a.conditions)], b.conditions...)
			out = append(out, option{both, a.chance * b.chance})
		}
	}
	o.options = out
}

// maxOptions bounds what the predicates of one route come to.
const maxOptions = 64

// readPredicates reads those of a route; weight is what they count together.
func readPredicates(calls []call) (*asks, []error) {
	o := &asks{options: []option{{nil, 1}}}
	var errs []error
	for i := range calls {
		c := &calls[i]
		p := predicateNamed(c.Name)
		switch {
		case p == nil:
			errs = append(errs, refused(c.at, unsupportedPredicate, "there is no predicate %s; the page on RouteGroups lists those that there are", c.Name))
			continue
		case p.read == nil:
			errs = append(errs, refused(c.at, unsupportedPredicate, "weft does not have the predicate %s: %s; the RouteGroup is not applied, so remove it or route in another way", c.Name, p.means))
			continue
		}
		if err := c.check(p.takes); err != nil {
			errs = append(errs, err)
			continue
		}
		o.weight++
		if err := p.read(c, o); err != nil {
			errs = append(errs, err)
		} else if len(o.options) > maxOptions {
			return o, append(errs, c.wrong("with those before it, it holds in more than %d ways; write several routes", maxOptions))
		}
	}
	return o, errs
}

func predicateNamed(name string) *predicate {
	for i := range predicates {
		if predicates[i].name == name {
			return &predicates[i]
		}
	}
	return nil
}

package access

import (
	"slices"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/inspect/permissions"
	"github.com/weftmesh/weft/inspect/plan/step"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/sim/permission"
)

// decidedPair tells what was compared apart where no rule has permissions of its own: equal pairs
// have one verdict.
type decidedPair struct {
	was, is         string
	before, after   permission.Decider
	modeWas, modeIs mode
	spoken          [2]api.Protocol
}

// Bounds of what is compared: how many different decisions, and how many requests in all.
const (
	mostDecided = 100_000
	mostAsked   = 5_000_000
)

// compared is what was compared already.
type compared struct {
	of    map[decidedPair][]*Access
	asked int
	cut   int // pairs that were not looked at
}

// at is what changes of a caller's calls at a destination, one for each rule of a route.
func (x *compared) at(c *caller, d *callee) []*Access {
	if len(x.of) >= mostDecided || x.asked >= mostAsked {
		x.cut++
		return nil
	}
	if d.before == nil || d.after == nil || len(d.before.Rules)+len(d.after.Rules) > 0 {
		return x.compare(c, d)
	}
	pair := decidedPair{strings.Join(c.was, " "), strings.Join(c.is, " "), permission.DeciderOf(d.before), permission.DeciderOf(d.after), modeOf(d.before), modeOf(d.after), [2]api.Protocol{d.before.Protocol, d.after.Protocol}}
	list, ok := x.of[pair]
	if !ok {
		list = x.compare(c, d)
		x.of[pair] = list
	}
	return list
}

// comparison is an inbound before and after by requests that stand for all others, told apart by the
// rule that has a say about them.
type comparison struct {
	of    []*ruleComparison
	whole bool // the requests stand for all
}

type ruleComparison struct {
	rule   *effective.InboundRule // nil for what no such rule takes
	before []permission.Arrival
	after  []permission.Arrival
	probes []permission.SampleRequest
}

// comparison is of all requests, or of those about which not the same is decided of everybody.
func (d *callee) comparison(all bool) *comparison {
	kept := &d.differs
	if all {
		kept = &d.all
	}
	if *kept == nil {
		*kept = compareAt(d.before, d.after, all)
	}
	return *kept
}

func compareAt(before, after *effective.Inbound, all bool) *comparison {
	out := &comparison{}
	var probes []permission.SampleRequest
	probes, out.whole = permission.ProbesBetween(before, after, all)
	at := map[*effective.InboundRule]*ruleComparison{}
	for i := range probes {
		was, is := permission.Arrive(before, &probes[i]), permission.Arrive(after, &probes[i])
		if !all && was.Alike(&is) {
			continue
		}
		rule := is.Rule()
		if rule == nil {
			rule = was.Rule()
		}
		g := at[rule]
		if g == nil {
			g = &ruleComparison{rule: rule}
			at[rule] = g
			out.of = append(out.of, g)
		}
		g.before, g.after, g.probes = append(g.before, was), append(g.after, is), append(g.probes, probes[i])
	}
	return out
}

func (x *compared) compare(c *caller, d *callee) (out []*Access) {
	of := d.comparison(!slices.Equal(c.was, c.is))
	for _, g := range of.of {
		x.asked += len(g.probes)
		if a := g.access(c, of.whole); a.Change != "" {
			out = append(out, a)
		}
	}
	return out
}

// access is what becomes of the requests of a rule that a caller sends.
func (g *ruleComparison) access(c *caller, whole bool) *Access {
	was, _ := verdict(g.before, c.was)
	is, by := verdict(g.after, c.is)
	a := &Access{Before: was, After: is}
	if g.rule != nil {
		a.Rule = &AccessRule{Match: g.rule.Match.Short(), Origins: g.rule.Rules}
	}
	depends := was == permission.Some || is == permission.Some
	more, fewer := false, false
	for i := range g.probes {
		in, goesOn := g.before[i].LetsIn(c.was), g.after[i].LetsIn(c.is)
		if in == goesOn {
			continue
		}
		more, fewer = more || goesOn, fewer || in
		if depends && len(a.Requests) < step.Fewest {
			a.Requests = append(a.Requests, g.probes[i].String())
		}
	}
	switch {
	case more && fewer:
		a.Change = Both
	case more:
		a.Change = Widens
	case depends && !whole:
		a.Change = MayWiden
	case fewer:
		a.Change = Narrows
	}
	if by != nil {
		a.Reason = by.Reason
		if by.By != nil {
			a.By, a.Field = by.By.Origin, by.By.Field
		}
	}
	return a
}

// absentAccess is that of a port at which nobody listens.
const absentAccess = "absent"

// verdict is what becomes of what a caller of names sends, in a word, and whose word that is: the
// entry that decides, or the first that may.
func verdict(arrivals []permission.Arrival, names []string) (word string, by *permission.Permission) {
	for i := range arrivals {
		p := arrivals[i].Access(names)
		one := permissions.OpenAccess
		switch {
		case arrivals[i].Absent():
			one = absentAccess
		case p != nil && (p.Decision != permission.Allow || p.Tier != 0):
			one = p.Decision
		}
		switch word {
		case "":
			word, by = one, p
		case one:
		default:
			word = permission.Some
		}
	}
	return word, by
}

// of is the verdict of a caller at a destination.
func (p changedAccess) of(b *step.Budget) Access {
	a, c, d := *p.Access, p.caller, p.callee
	a.Mesh = c.mesh
	a.Destination = AccessAt{Service: d.service, Port: d.port(), Protocol: d.there().Protocol, Listed: b.Name(len(d.on), func(i int) api.Ref { return d.on[i] })}
	a.Caller = AccessCaller{Listed: b.Name(len(c.on), func(i int) api.Ref { return c.on[i] })}
	if len(c.is) > 0 {
		a.Caller.Identity = c.is[0]
	}
	if len(c.was) > 0 && !slices.Equal(c.was, c.is) {
		a.Caller.Was = c.was[0]
	}
	return a
}

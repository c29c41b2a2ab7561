package plan

import (
	"slices"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/inspect"
	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/sim"
)

// judgedPair tells what was compared apart: equal pairs have one verdict.
type judgedPair struct {
	was, is          string
	before, after    sim.Judge
	modeWas, modeIs  mode
	spoken, spokenIs api.Protocol
}

// mostJudged bounds how many different decisions are compared.
const mostJudged = 100_000

// accessAt compares what becomes of a caller before and after; nil where too much was compared
// already.
func accessAt(known map[judgedPair]*Access, c *caller, d *callee) *Access {
	pair := judgedPair{strings.Join(c.was, " "), strings.Join(c.is, " "), sim.JudgeOf(d.before), sim.JudgeOf(d.after), modeOf(d.before), modeOf(d.after), d.before.Protocol, d.after.Protocol}
	a, ok := known[pair]
	if !ok && len(known) < mostJudged {
		a = compareAccess(c, d)
		known[pair] = a
	}
	return a
}

func compareAccess(c *caller, d *callee) *Access {
	was, _ := verdict(d.before, c.was)
	is, by := verdict(d.after, c.is)
	a := &Access{Before: was, After: is}
	if by != nil {
		a.Reason = by.Reason
		if by.By != nil {
			a.By, a.Field = by.By.Origin, by.By.Field
		}
	}
	gets := map[string]int{sim.Deny: 0, sim.Some: 1, sim.Allow: 2, inspect.OpenAccess: 2}
	switch {
	case gets[was] < gets[is]:
		a.Change = Widens
	case gets[was] > gets[is]:
		a.Change = Narrows
	}
	if was == sim.Some || is == sim.Some {
		a.request(c, d)
	}
	return a
}

// request compares requests where the verdict depends on them.
func (a *Access) request(c *caller, d *callee) {
	probes, whole := sim.Probes(append(sim.AsksOf(d.before), sim.AsksOf(d.after)...))
	more, fewer := false, false
	for i := range probes {
		was := d.before.TLS == nil || sim.LetsIn(d.before, c.was, &probes[i])
		is := d.after.TLS == nil || sim.LetsIn(d.after, c.is, &probes[i])
		if was == is {
			continue
		}
		more, fewer = more || is, fewer || was
		if len(a.Requests) < fewestEach {
			a.Requests = append(a.Requests, probes[i].String())
		}
	}
	switch {
	case a.Change != "": // of all requests
	case more && fewer:
		a.Change = Both
	case more:
		a.Change = Widens
	case !whole:
		a.Change = MayWiden
	case fewer:
		a.Change = Narrows
	}
}

// verdict is what becomes of callers of names at an inbound, in a word.
func verdict(in *resolve.Inbound, names []string) (string, *sim.Permission) {
	p := sim.Access(in, names)
	if p == nil || p.Decision == sim.Allow && p.Tier == 0 {
		return inspect.OpenAccess, p
	}
	return p.Decision, p
}

// of is the verdict of a caller at a destination.
func (p changedAccess) of(b *budget) Access {
	a, c, d := *p.Access, p.caller, p.callee
	a.Mesh = c.mesh
	a.Destination = AccessAt{Service: d.service, Port: d.after.Port, Protocol: d.after.Protocol, On: b.on(len(d.on), func(i int) api.Ref { return d.on[i] })}
	a.Caller = AccessCaller{On: b.on(len(c.on), func(i int) api.Ref { return c.on[i] })}
	if len(c.is) > 0 {
		a.Caller.Identity = c.is[0]
	}
	if len(c.was) > 0 && !slices.Equal(c.was, c.is) {
		a.Caller.Was = c.was[0]
	}
	return a
}

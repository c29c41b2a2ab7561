package permission

import (
	"slices"

	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/route/match"
	"github.com/weftmesh/weft/sim/wire"
)

// mostRuleProbes bounds how many requests stand for all that two inbounds tell apart.
const mostRuleProbes = 8192

// ProbesBetween are requests by which to compare an inbound before and after a change: for all that
// is not decided alike, or for everything where all says so. Either may be nil, for none. Of what
// carries bytes there is one, which stands for connections.
func ProbesBetween(before, after *effective.Inbound, all bool) (list []SampleRequest, whole bool) {
	here := func(in *effective.Inbound) bool { return in != nil && in.TLS != nil && in.Protocol.HTTPLike() }
	both := []*effective.Inbound{before, after}
	var asks []match.Condition
	for _, in := range both {
		if here(in) {
			asks = append(asks, AsksOf(in)...)
		}
	}
	rest, whole := Probes(asks)
	if !slices.ContainsFunc(both, func(in *effective.Inbound) bool { return here(in) && len(in.Rules) > 0 }) {
		return rest, whole
	}
	list = rest // of what no rule takes, and by what the rules are not
	all = all || !here(before) || !here(after) || DeciderOf(before) != DeciderOf(after) || before.TLS.TakesPlain() != after.TLS.TakesPlain()
	for _, r := range differing(before, after, all) {
		more, sure := probesOf(r.Match.Conditions, append(slices.Clip(asks), r.asks...), r.beside)
		whole = whole && sure
		if len(list)+len(more) > mostRuleProbes {
			return append(list, more[:max(0, mostRuleProbes-len(list))]...), false
		}
		list = append(list, more...)
	}
	return list, whole
}

// differingRule is a rule of one of two inbounds by which something may be decided otherwise.
type differingRule struct {
	*effective.InboundRule
	asks   []match.Condition // of who decides about its requests
	beside []match.Condition // of the other rules
}

// differing are the rules of two inbounds between those with which both begin and end.
func differing(before, after *effective.Inbound, all bool) (out []differingRule) {
	rules := func(in *effective.Inbound) []effective.InboundRule {
		if in == nil || in.TLS == nil {
			return nil
		}
		return in.Rules
	}
	was, is := rules(before), rules(after)
	if !all {
		for len(was) > 0 && len(is) > 0 && was[0].Alike(&is[0]) {
			was, is = was[1:], is[1:]
		}
		for len(was) > 0 && len(is) > 0 && was[len(was)-1].Alike(&is[len(is)-1]) {
			was, is = was[:len(was)-1], is[:len(is)-1]
		}
	}
	var beside []match.Condition
	for _, list := range [][]effective.InboundRule{rules(before), rules(after)} {
		for i := range list {
			for _, c := range list[i].Match.Conditions {
				if len(beside) < mostBeside && !slices.ContainsFunc(beside, c.Equal) {
					beside = append(beside, c)
				}
			}
		}
	}
	for _, list := range [][]effective.InboundRule{was, is} {
		for i := range list {
			x := differingRule{InboundRule: &list[i], beside: beside}
			if by, ok := DeciderAt(&list[i]).(RequestDecider); ok {
				x.asks = by.Asks()
			}
			out = append(out, x)
		}
	}
	return out
}

// mostBeside is how many conditions of other rules are looked at.
const mostBeside = 64

// probesOf are requests that a rule takes, if none before it does, for all that conditions tell
// apart among them.
func probesOf(matched, asks, beside []match.Condition) (list []SampleRequest, whole bool) {
	base, own := SampleRequest{}, values{headers: []wire.Headers{nil}, all: wire.Headers{}, whole: true}
	for i := range matched {
		c := &matched[i]
		samples := c.Samples()
		if len(samples) == 0 {
			return nil, false
		}
		switch c.On {
		case match.OnPath:
			own.paths = append(own.paths, samples...)
		case match.OnMethod:
			own.methods = append(own.methods, samples...)
		case match.OnHeader, match.OnCookie:
			base.has(c, samples[0])
		case match.OnQuery:
			base.Path += map[bool]string{true: "?", false: "&"}[base.Path == ""] + c.Name + "=" + samples[0]
		case match.OnAuthority:
			base.Authority = samples[0]
		default:
			return nil, false
		}
	}
	for _, of := range [][]match.Condition{asks, beside} {
		v := valuesOf(of)
		own.paths, own.methods = append(own.paths, v.paths...), append(own.methods, v.methods...)
	}
	v := valuesOf(asks)
	own.headers, own.all, own.whole = v.headers, v.all, v.whole
	own.paths = append(own.paths, Elsewhere)
	own.methods = append(own.methods, other(own.methods))
	own.paths = slices.DeleteFunc(own.paths, func(p string) bool { return !holdsOf(matched, match.OnPath, &match.Request{Path: p}) })
	own.methods = slices.DeleteFunc(own.methods, func(m string) bool { return !holdsOf(matched, match.OnMethod, &match.Request{Method: m}) })
	return own.probes(base, own.whole)
}

// holdsOf reports whether the conditions on one part of requests hold of one.
func holdsOf(matched []match.Condition, on match.Subject, r *match.Request) bool {
	for i := range matched {
		if matched[i].On == on && !matched[i].Holds(r) {
			return false
		}
	}
	return true
}

// has gives the request a header, or a cookie, by which c holds.
func (p *SampleRequest) has(c *match.Condition, value string) {
	if p.Headers == nil {
		p.Headers = wire.Headers{}
	}
	if c.On == match.OnHeader {
		p.Headers[c.Name] = value
		return
	}
	pair := c.Name + "=" + value
	if before := p.Headers["cookie"]; before != "" {
		pair = before + "; " + pair
	}
	p.Headers["cookie"] = pair
}

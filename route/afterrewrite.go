package route

import (
	"fmt"
	"slices"
	"strings"

	"github.com/weftmesh/weft/route/match"
)

// AfterRewrite are conditions that hold of the requests of which cs hold, as the proxy of a backend
// reads them: after the filters of the rule have changed them, and those of its backends
// (spec/identity.md 4.5). Where that cannot be said exactly, why says so, and out is wider: it
// holds of all of them and of others.
func AfterRewrite(cs match.Conditions, rule []Filter, backends ...[]Filter) (out match.Conditions, why string) {
	path, rewrite := cs.Path(), LastRewrite(rule)
	var to *PathRewrite
	if rewrite != nil {
		to = rewrite.Path
	}
	changed := changedBy(rule, backends)
	because := func(text string) {
		if why == "" {
			why = text
		}
	}
	if at, exact := to.arriving(path); exact {
		out = append(out, at)
	} else {
		because("it rewrites the path by an expression, so that nobody knows what arrives")
	}
	for i := range cs {
		c := &cs[i]
		switch text := changed.speaksOf(c); {
		case c == path:
		case c.On == match.OnPath && to != nil:
			because("it compares the path more than once, and rewrites it")
		case text != "":
			because(text)
		default:
			out = append(out, *c)
		}
	}
	for i := range out {
		if c := &out[i]; c.On == match.OnPath && c.Op != match.FullMatch && !match.PlainlySpelled(c.Value) {
			because(fmt.Sprintf("inbounds read the path %s in another spelling", c.Value))
			*c = match.AnyPath
		}
	}
	return out, why
}

// arriving is what holds of the paths of which c holds after the rewrite; not exact where
// that cannot be said.
func (p *PathRewrite) arriving(c *match.Condition) (out match.Condition, exact bool) {
	switch {
	case p == nil:
		return *c, true
	case p.Full != nil:
		return match.Condition{On: match.OnPath, Op: match.Equal, Value: Absolute(*p.Full)}, true
	case p.Each != nil:
		return match.AnyPath, false
	}
	prefix, ok := c.Replaces()
	if p.Prefix == nil || !ok {
		return *c, true
	}
	if c.Op == match.Equal {
		path, _ := p.Of(c, c.Value)
		return match.Condition{On: match.OnPath, Op: match.Equal, Value: path}, true
	}
	if p.Literal && c.Op == match.BytePrefix && *p.Prefix != "" {
		return match.Condition{On: match.OnPath, Op: match.BytePrefix, Value: Absolute(*p.Prefix)}, true
	}
	with := p.Replacement()
	if c.Op == match.BytePrefix {
		// What follows the prefix goes on behind what stands for it; a slash at its end stays.
		if strings.HasSuffix(c.Value, "/") && prefix != "" || with == "" {
			with += "/"
		}
		return match.Condition{On: match.OnPath, Op: match.BytePrefix, Value: with}, true
	}
	return match.Condition{On: match.OnPath, Op: match.SegmentPrefix, Value: Absolute(with)}, true
}

// Changed is which parts of a request are others when it arrives than when it was sent, as far as
// conditions ask for them.
type Changed struct {
	path, host bool
	headers    []string // in lower case
}

func changedBy(rule []Filter, backends [][]Filter) (out Changed) {
	for _, filters := range append([][]Filter{rule}, backends...) {
		for i := range filters {
			if w := filters[i].Rewrite; w != nil {
				out.host = out.host || w.Hostname != "" || w.BackendsHost || w.HostHeader != ""
				out.path = out.path || w.Path != nil
			}
			m := filters[i].RequestHeaders
			if m == nil {
				continue
			}
			for _, h := range slices.Concat(m.Set, m.Add) {
				out.headers = append(out.headers, strings.ToLower(h.Name))
			}
			for _, f := range m.Fill {
				out.headers = append(out.headers, strings.ToLower(f.Name))
			}
			for _, name := range m.Remove {
				out.headers = append(out.headers, strings.ToLower(name))
			}
		}
	}
	return out
}

// ChangedBy is what the filters of a rule that asks for cs change of its requests, and those of its
// backends; that inbounds read their path in another spelling is a change too.
func ChangedBy(cs match.Conditions, rule []Filter, backends ...[]Filter) Changed {
	out := changedBy(rule, backends)
	for i := range cs {
		out.path = out.path || cs[i].On == match.OnPath && cs[i].Op != match.FullMatch && !match.PlainlySpelled(cs[i].Value)
	}
	return out
}

// Mirrored is c of requests of which some are copies: their host has another end.
func (c Changed) Mirrored() Changed {
	c.host = true
	return c
}

// Leaves reports whether cs hold of each request as it was sent of which they hold as it arrives.
func (c *Changed) Leaves(cs match.Conditions) bool {
	for i := range cs {
		if !cs[i].Trivial() && (cs[i].On == match.OnPath && c.path || c.speaksOf(&cs[i]) != "") {
			return false
		}
	}
	return true
}

// Equal reports whether both change the same.
func (c *Changed) Equal(o *Changed) bool {
	return c.path == o.path && c.host == o.host && slices.Equal(c.headers, o.headers)
}

// speaksOf says why a condition, on another part than the path, cannot be asked of what arrives; empty
// where it can.
func (c *Changed) speaksOf(d *match.Condition) string {
	switch {
	case d.On == match.OnChance:
		return "it takes a share of the requests by chance"
	case d.On == match.OnClaim:
		return "it asks for a claim of a token"
	case d.On == match.OnAuthority && c.host:
		return "it asks for the host, and rewrites it"
	case d.On == match.OnHeader && slices.Contains(c.headers, strings.ToLower(d.Name)):
		return "it asks for the header " + d.Name + ", and writes it"
	case d.On == match.OnHeader && ofTheWay(d.Name):
		return "it asks for the header " + d.Name + ", which proxies write"
	case d.On == match.OnCookie && slices.Contains(c.headers, "cookie"):
		return "it asks for a cookie, and writes cookies"
	}
	return ""
}

// ofTheWay reports whether proxies write a header, or take it away, between the one that looks for a
// route and the one before the workload.
func ofTheWay(name string) bool {
	switch name {
	case TagsHeader, "x-forwarded-client-cert", "keep-alive", "proxy-connection", "transfer-encoding", "te":
		return true
	}
	return strings.HasPrefix(name, "x-envoy-")
}

package convert

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/weftmesh/weft/api/redact"
	"github.com/weftmesh/weft/route"
	"github.com/weftmesh/weft/route/match"
)

// effect is what a rule that asks on of the path does to requests of which of holds, in
// one spelling: rules with one effect do the same in every language. How the endpoints of a
// backend are chosen, and what is answered where a backend is not there, are not part of
// it: languages differ there as a whole.
func effect(c *route.MergedRule, on, of *match.Condition, port uint32) string {
	var values []any
	for _, p := range parts(c, on, of, port) {
		values = append(values, p.value)
	}
	return text(values)
}

// doing is one of the things that a rule does, and a word for it.
type doing struct {
	word  string
	value any
}

// parts are all that a rule does, in one order.
//
// A location that keeps the host has the port at which clients call, whether it is said
// or not.
func parts(c *route.MergedRule, on, of *match.Condition, port uint32) []doing {
	plain := route.PlainOf(c.Filters)
	if plain.Rewrite == nil {
		plain.Rewrite = &route.Rewrite{}
	}
	does, path := doing{"the rule", "itself"}, plain.Rewrite.Path.Outcome(on, of)
	switch do := c.Do.(type) {
	case *route.Redirect:
		d := *do
		if d.Path = nil; d.Port == port && d.Hostname == "" && d.Scheme == "" {
			d.Port = 0
		}
		does = doing{"the redirect", []any{"redirect", d, do.Path.Outcome(on, of)}}
		plain.Rewrite, plain.Request, plain.Mirrors, path = &route.Rewrite{}, nil, nil, "" // no backend sees the request
	case *route.Respond:
		does = doing{"the answer", responds(do)}
		plain.Rewrite, plain.Request, plain.Mirrors, path = &route.Rewrite{}, nil, nil, ""
	case *route.Forward:
		does = doing{"where its requests go", forwards(do)}
	}
	w := *plain.Rewrite
	w.Path = nil
	return []doing{does, {"what changes the headers of requests", plain.Request}, {"what changes the headers of answers", plain.Answer},
		{"the host that services see", w}, {"the path that services see", path}, {"its mirrors", mirrors(plain.Mirrors)},
		{"the limit for each client", plain.ClientLimits}, {"its authorization", plain.Guards}, {"what it answers to preflights (CORS)", cors(plain.CORS)}, {"for how long requests wait", plain.Delay}}
}

// otherwise says in words which of two effects differs: what one rule does, and what came back of
// it.
func otherwise(was, is []doing) string {
	for i := range was {
		a, b := text(was[i].value), text(is[i].value)
		if a == b && was[i].word == is[i].word {
			continue
		}
		switch {
		case was[i].word != is[i].word:
			return fmt.Sprintf("%s comes back as %s", was[i].word, is[i].word)
		case a == "null" || a == `""`:
			return fmt.Sprintf("%s comes back as %s, and there was none", was[i].word, shown(b))
		case b == "null" || b == `""`:
			return fmt.Sprintf("%s is lost: %s", was[i].word, shown(a))
		}
		return fmt.Sprintf("%s comes back otherwise: %s, and was %s", was[i].word, shown(b), shown(a))
	}
	return "what it does comes back otherwise"
}

// shown is a value in JSON as messages show it.
func shown(value string) string {
	return redact.Clip(strings.NewReplacer(`\"`, `"`, `\\`, `\`).Replace(value))
}

// leadsNowhere is why a backend of a rule that came back cannot be used, though it could before;
// empty where there is none.
func leadsNowhere(was, is *route.MergedRule) string {
	lost := func(c *route.MergedRule) string {
		do, ok := c.Do.(*route.Forward)
		for i := 0; ok && i < len(do.Backends); i++ {
			if b := &do.Backends[i]; b.Unresolved != nil && b.Weight > 0 {
				return b.Unresolved.Message
			}
		}
		return ""
	}
	if lost(was) != "" {
		return ""
	}
	return lost(is)
}

// cors is a policy for preflights in one spelling.
func cors(c *route.CORS) any {
	if c == nil {
		return nil
	}
	var origins []string
	for i := range c.Origins {
		origins = append(origins, c.Origins[i].Means())
	}
	return []any{origins, c.Methods, c.Headers, c.Expose, c.Credentials, c.MaxAge}
}

// text is a value as JSON.
func text(v any) string {
	out, err := json.Marshal(v)
	if err != nil {
		panic(err) // texts, numbers and lists of them always marshal
	}
	return string(out)
}

// forwards is where requests go and in which shares.
func forwards(do *route.Forward) any {
	shares, common := map[string]uint32{}, uint32(0)
	for i := range do.Backends {
		b := &do.Backends[i]
		if b.Weight == 0 {
			continue
		}
		plain := route.PlainOf(b.Filters)
		shares[backend(b)+text([]any{plain.Request, plain.Answer, plain.Rewrite})] += b.Weight
	}
	for _, n := range shares {
		common = route.GCD(n, common)
	}
	if common == 0 {
		return responds(&do.NoBackend)
	}
	for k := range shares {
		shares[k] /= common
	}
	return shares // maps are sorted where they are written
}

// responds is an answer; Envoy says itself that a body is plain text.
func responds(do *route.Respond) any {
	headers := do.Headers
	if do.Body != "" && len(headers) == 1 && headers[0] == (route.Header{Name: "content-type", Value: "text/plain"}) {
		headers = nil
	}
	return []any{"respond", do.Status, do.Body, headers}
}

// backend is a ref in one spelling.
func backend(b *route.BackendRef) string {
	ref := b.Target.InMesh()
	section := ref.SectionName
	if b.Port != 0 {
		section = fmt.Sprint(b.Port)
	}
	lost := ""
	if b.Unresolved != nil {
		lost = b.Unresolved.Code
	}
	return text([]any{ref.Kind, cmp.Or(ref.Namespace, b.Home.Namespace), ref.Name, section, ref.Labels, ref.Tags, lost})
}

func mirrors(list []*route.Mirror) []string {
	var out []string
	for _, m := range list {
		out = append(out, fmt.Sprint(backend(&m.Backend), m.Percent, m.Host))
	}
	slices.Sort(out)
	return out
}

// balancing is how the endpoints of a rule's backends are chosen, in words; empty where
// by turns.
func balancing(c *route.MergedRule) string {
	do, ok := c.Do.(*route.Forward)
	if !ok {
		return ""
	}
	var words []string
	for i := range do.Backends {
		if w := do.Backends[i].Balance.String(); w != "" && do.Backends[i].Weight > 0 {
			words = append(words, w)
		}
	}
	slices.Sort(words)
	words = slices.Compact(words)
	if keys := route.HashText(do.Hash); keys != "" && len(words) > 0 {
		words = append(words, "by "+keys)
	}
	return strings.Join(words, ", ")
}

// inHTTP2 are the backends of a rule that it asks in HTTP/2 whatever their ports say, in
// words.
func inHTTP2(c *route.MergedRule) string {
	do, ok := c.Do.(*route.Forward)
	if !ok {
		return ""
	}
	var names []string
	for i := range do.Backends {
		if b := &do.Backends[i]; b.HTTP2 && b.Weight > 0 {
			names = append(names, b.Target.Name)
		}
	}
	slices.Sort(names)
	return strings.Join(slices.Compact(names), ", ")
}

// guards reports whether a rule keeps requests away from backends, so that it would
// open something if its requests came to another rule.
func guards(c *route.MergedRule) bool {
	plain := route.PlainOf(c.Filters)
	if len(plain.Guards)+len(plain.ClientLimits) > 0 {
		return true
	}
	switch do := c.Do.(type) {
	case *route.Respond:
		return do.Status >= 400
	case *route.Forward:
		return !slices.ContainsFunc(do.Backends, func(b route.BackendRef) bool { return b.Weight > 0 })
	}
	return false
}

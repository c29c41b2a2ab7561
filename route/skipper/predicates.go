package skipper

import (
	"math"
	"strings"

	"github.com/weftmesh/weft/route"
	"github.com/weftmesh/weft/route/match"
)

// predicates are all that Skipper has (spec/routegroup.md 5).
var predicates = []predicate{
	{"PathRegexp", "regexp", "the expression matches somewhere in the path; several have to match all", func(c *call, o *asks) error {
		return o.matches(c, match.OnPath, "", c.text(0))
	}},
	{"Method", "string", "the method, as written", func(c *call, o *asks) error {
		return o.methods(c, c.text(0))
	}},
	{"Methods", "string string...", "one of the methods, in any case", func(c *call, o *asks) error {
		return o.methods(c, strings.Fields(strings.ToUpper(strings.Join(c.texts(0), " ")))...)
	}},
	{"Host", "regexp", "the expression matches somewhere in the host that the client asks for, with its port", func(c *call, o *asks) error {
		return o.matches(c, match.OnAuthority, "", c.text(0))
	}},
	{"HostAny", "string string...", "one of the hosts, with the port where the client names it", func(c *call, o *asks) error {
		var any []option
		for _, host := range c.texts(0) {
			is, err := match.Compare(match.OnAuthority, "", match.Equal, 0, host)
			if err != nil {
				return c.wrong("%v; write a host", err)
			}
			any = append(any, option{match.Conditions{is}, 1})
		}
		o.either(any...)
		return nil
	}},
	{"Header", "string string", "the header has the value, in one of its lines; several on one name have all to hold, where Skipper keeps the last", func(c *call, o *asks) error {
		o.constraints++
		if err := c.names(route.CheckHeaderName, strings.ToLower(c.text(0))); err != nil {
			return err
		}
		is, err := match.Compare(match.OnHeader, c.text(0), match.Equal, 0, c.text(1))
		return o.add(c, is, err)
	}},
	{"HeaderRegexp", "string regexp", "the expression matches somewhere in a line of the header", func(c *call, o *asks) error {
		o.constraints++
		if err := c.names(route.CheckHeaderName, strings.ToLower(c.text(0))); err != nil {
			return err
		}
		return o.matches(c, match.OnHeader, c.text(0), c.text(1))
	}},
	{"Cookie", "string regexp", "the expression matches somewhere in the first cookie of that name: A matches BAD too, ^A$ does not", func(c *call, o *asks) error {
		o.constraints++
		if err := c.names(route.CheckCookieName, c.text(0)); err != nil {
			return err
		}
		return o.matches(c, match.OnCookie, c.text(0), c.text(1))
	}},
	{"QueryParam", "string regexp?", "the parameter is there, and the expression matches somewhere in its first value", func(c *call, o *asks) error {
		if c.text(0) == "" {
			return c.wrong("the name is missing; write that of the parameter")
		}
		if len(c.Args) == 1 {
			is, err := match.Has(match.OnQuery, c.text(0), 0)
			return o.add(c, is, err)
		}
		return o.matches(c, match.OnQuery, c.text(0), c.text(1))
	}},
	{"Traffic", "number string? string?", "the chance from 0 to 1; with a cookie and a group, clients that have the cookie keep to their group", traffic},
	{"TrafficSegment", "number number", "the part of one draw for each request; the segments of routes that are otherwise alike follow each other from 0", trafficSegment},
	{"Weight", "number", "the route is tried before those of the same path that weigh less", func(c *call, o *asks) error {
		n := c.Args[0].Number
		if n != math.Trunc(n) || math.Abs(n) > 1e6 {
			return c.wrong("%v is no weight; write a whole number", n)
		}
		o.weight += int(n) - 1 // it does not count itself
		return nil
	}},
	{"True", "", "always; counts for the order", func(*call, *asks) error { return nil }},
	{"False", "", "never", func(_ *call, o *asks) error { o.never = true; return nil }},
	{"ContentLengthBetween", "number number", "the length that the request says, from the first number to below the second", func(c *call, o *asks) error {
		is, err := match.Within(match.OnHeader, "content-length", int64(c.Args[0].Number), int64(c.Args[1].Number))
		return o.add(c, is, err)
	}},
	{"JWTPayloadAllKV", "string string string...", "the token, which nobody verifies, has all these text claims; of one name all values", func(c *call, o *asks) error {
		return o.claims(c, false, true)
	}},
	{"JWTPayloadAnyKV", "string string string...", "the token, which nobody verifies, has one of these text claims", func(c *call, o *asks) error {
		return o.claims(c, false, false)
	}},
	{"JWTPayloadAllKVRegexp", "string regexp regexp...", "as JWTPayloadAllKV, with expressions that match somewhere in the claim", func(c *call, o *asks) error {
		return o.claims(c, true, true)
	}},
	{"JWTPayloadAnyKVRegexp", "string regexp regexp...", "as JWTPayloadAnyKV, with expressions that match somewhere in the claim", func(c *call, o *asks) error {
		return o.claims(c, true, false)
	}},
	{"Path", "string", "it belongs into path, which stands beside predicates", nil},
	{"PathSubtree", "string", "it belongs into pathSubtree, which stands beside predicates", nil},
	{"HeaderSHA256", "string string...", "Envoy compares no digests", nil},
	{"Source", "string...", "Envoy's routes do not ask for addresses", nil},
	{"SourceFromLast", "string...", "Envoy's routes do not ask for addresses", nil},
	{"ClientIP", "string...", "Envoy's routes do not ask for addresses", nil},
	{"ForwardedHost", "regexp", "Envoy does not read the header Forwarded", nil},
	{"ForwardedProtocol", "string", "Envoy does not read the header Forwarded", nil},
	{"After", "string", "Envoy's routes do not ask for the time", nil},
	{"Before", "string", "Envoy's routes do not ask for the time", nil},
	{"Between", "string string", "Envoy's routes do not ask for the time", nil},
	{"Cron", "string", "Envoy's routes do not ask for the time", nil},
	{"Tee", "string", "it is of use with teeLoopback alone", nil},
	{"Shutdown", "", "it is about a process of Skipper", nil},
	{"OTelBaggage", "string string?", "Envoy does not read baggage", nil},
}

// matches wants an expression to match somewhere in a subject.
func (o *asks) matches(c *call, on match.Subject, name, expression string) error {
	whole, err := anywhere(expression)
	if err != nil {
		return c.wrong("%v; write the expression in RE2 syntax", err)
	}
	is, err := match.MatchAll(on, name, 0, whole)
	return o.add(c, is, err)
}

func (o *asks) methods(c *call, names ...string) error {
	for _, name := range names {
		if !isMethod(name) {
			return c.wrong("%q is no method; write one such as GET", name)
		}
	}
	is, err := match.Among(match.OnMethod, "", names...)
	return o.add(c, is, err)
}

func traffic(c *call, o *asks) error {
	p := c.Args[0].Number
	switch {
	case p < 0 || p > 1:
		return c.wrong("%v is no chance; write a number from 0 to 1", p)
	case len(c.Args) == 2:
		return c.wrong("the cookie %q has no group; write the group behind it", c.text(1))
	case len(c.Args) == 1:
		o.either(option{nil, p})
		return nil
	}
	o.constraints++
	if err := c.names(route.CheckCookieName, c.text(1)); err != nil {
		return err
	}
	is, err := match.Compare(match.OnCookie, c.text(1), match.Equal, 0, c.text(2))
	if err != nil {
		return c.wrong("%v; write a cookie and its value", err)
	}
	absent, err := match.Has(match.OnCookie, c.text(1), match.Not)
	if err != nil {
		return c.wrong("%v; write a cookie and its value", err)
	}
	o.either(option{match.Conditions{is}, 1}, option{match.Conditions{absent}, p})
	return nil
}

// claims wants pairs of names and values of the token: all, or one of them.
func (o *asks) claims(c *call, expressions, all bool) error {
	pairs := c.texts(0)
	if len(pairs)%2 != 0 {
		return c.wrong("the claim %q has no value; write pairs of names and values", pairs[len(pairs)-1])
	}
	o.token = true
	var any []option
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i] == "" {
			return c.wrong("the name of a claim is missing; write it before its value")
		}
		is, err := match.Compare(match.OnClaim, pairs[i], match.Equal, 0, pairs[i+1])
		if expressions {
			whole, bad := anywhere(pairs[i+1])
			if is, err = match.MatchAll(match.OnClaim, pairs[i], 0, whole); bad != nil {
				err = bad
			}
		}
		if err != nil {
			return c.wrong("%v; write it otherwise", err)
		}
		if all {
			o.all = append(o.all, is)
		}
		any = append(any, option{match.Conditions{is}, 1})
	}
	if !all {
		o.either(any...)
	}
	return nil
}

func trafficSegment(c *call, o *asks) error {
	from, until := c.Args[0].Number, c.Args[1].Number
	if from < 0 || until > 1 || from >= until {
		return c.wrong("from %v until %v is no part of a draw; write numbers from 0 to 1, the lesser first", from, until)
	}
	if o.segment != nil {
		return c.wrong("there is a segment already; write one")
	}
	o.weight-- // it does not count
	o.segment = &[2]float64{from, until}
	return nil
}

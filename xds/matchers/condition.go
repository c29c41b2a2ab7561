// Package matchers is Envoy's form of the conditions of a route.
package matchers

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"

	"github.com/weftmesh/weft/route/match"
	"github.com/weftmesh/weft/xds/envoy"
)

// Route is Envoy's form of conditions that all have to hold. The first one
// on the path becomes the path specifier, without one every path matches.
//
// Of a chance Envoy knows only the upper bound: a route whose range does not
// begin at 0 has to stand behind one with the same other conditions that takes
// everything below.
func Route(cs match.Conditions) *routev3.RouteMatch {
	out := &routev3.RouteMatch{}
	for i := range cs {
		switch c := &cs[i]; c.On {
		case match.OnPath:
			if out.PathSpecifier == nil {
				specifyPath(out, c)
			} else {
				out.Headers = append(out.Headers, header(":path", pathAndQuery(c)))
			}
		case match.OnMethod, match.OnAuthority, match.OnHeader:
			out.Headers = append(out.Headers, Header(c))
		case match.OnQuery:
			out.QueryParameters = append(out.QueryParameters, queryMatcher(c))
		case match.OnCookie:
			out.Cookies = append(out.Cookies, &routev3.CookieMatcher{Name: c.Name, StringMatch: Text(c), InvertMatch: c.Mode&match.Not != 0})
		case match.OnClaim:
			out.DynamicMetadata = append(out.DynamicMetadata, claimMatcher(c))
		case match.OnChance:
			out.RuntimeFraction = &corev3.RuntimeFractionalPercent{DefaultValue: &typev3.FractionalPercent{
				Numerator: uint32(c.Until), Denominator: typev3.FractionalPercent_MILLION}}
		default:
			panic(fmt.Sprintf("no subject %d", c.On))
		}
	}
	if out.PathSpecifier == nil {
		out.PathSpecifier = &routev3.RouteMatch_Prefix{Prefix: "/"}
	}
	return out
}

func specifyPath(out *routev3.RouteMatch, c *match.Condition) { pathSpecifiers.Of(c.Op)(out, c) }

var pathSpecifiers = match.NewPerOp(
	func(out *routev3.RouteMatch, c *match.Condition) { // Equal
		out.PathSpecifier = &routev3.RouteMatch_Path{Path: c.Value}
	},
	func(out *routev3.RouteMatch, c *match.Condition) { // SegmentPrefix
		if prefix := strings.TrimSuffix(c.Value, "/"); prefix != "" {
			out.PathSpecifier = &routev3.RouteMatch_PathSeparatedPrefix{PathSeparatedPrefix: prefix}
			return
		}
		out.PathSpecifier = &routev3.RouteMatch_Prefix{Prefix: "/"}
	},
	func(out *routev3.RouteMatch, c *match.Condition) { // BytePrefix
		out.PathSpecifier = &routev3.RouteMatch_Prefix{Prefix: c.Value}
	},
	noPath, // Suffix
	noPath, // Contains
	func(out *routev3.RouteMatch, c *match.Condition) { // FullMatch
		out.PathSpecifier = &routev3.RouteMatch_SafeRegex{SafeRegex: envoy.Regex(c.Value)}
	},
	noPath, // Present
	noPath, // OneOf
	noPath, // InRange
)

func noPath(_ *routev3.RouteMatch, c *match.Condition) {
	panic(fmt.Sprintf("no path is compared by %s", c.Op))
}

// pathAndQuery is a second condition on the path: Envoy has one path specifier,
// and the header :path has the query too.
func pathAndQuery(c *match.Condition) *matcherv3.StringMatcher {
	return envoy.FullMatch(withQuery(pathExpressions.Of(c.Op)(c.Value)))
}

// pathExpressions are the expressions of paths for their values. No path is compared by
// those of which it is the quoted value for want of another.
var pathExpressions = match.NewPerOp(
	regexp.QuoteMeta, // Equal
	func(v string) string { return regexp.QuoteMeta(strings.TrimSuffix(v, "/")) + "(?:/.*)?" }, // SegmentPrefix
	func(v string) string { return regexp.QuoteMeta(v) + ".*" },                                // BytePrefix
	regexp.QuoteMeta,                   // Suffix
	regexp.QuoteMeta,                   // Contains
	func(v string) string { return v }, // FullMatch
	regexp.QuoteMeta,                   // Present
	regexp.QuoteMeta,                   // OneOf
	regexp.QuoteMeta,                   // InRange
)

// pseudo are the headers that hold what is no header.
var pseudo = map[match.Subject]string{match.OnMethod: ":method", match.OnAuthority: ":authority"}

// Header is Envoy's form of a condition on a header, the method or the
// authority.
func Header(c *match.Condition) *routev3.HeaderMatcher { return headerMatchers.Of(c.Op)(c) }

var headerMatchers = match.NewPerOp(
	textHeader, // Equal
	textHeader, // SegmentPrefix
	textHeader, // BytePrefix
	textHeader, // Suffix
	textHeader, // Contains
	textHeader, // FullMatch
	func(c *match.Condition) *routev3.HeaderMatcher { // Present
		return &routev3.HeaderMatcher{Name: c.Name, HeaderMatchSpecifier: &routev3.HeaderMatcher_PresentMatch{PresentMatch: c.Mode&match.Not == 0}}
	},
	textHeader, // OneOf
	func(c *match.Condition) *routev3.HeaderMatcher { // InRange
		return &routev3.HeaderMatcher{Name: c.Name, HeaderMatchSpecifier: &routev3.HeaderMatcher_RangeMatch{
			RangeMatch: &typev3.Int64Range{Start: c.From, End: c.Until}}}
	},
)

func textHeader(c *match.Condition) *routev3.HeaderMatcher {
	out := header(cmp.Or(c.Name, pseudo[c.On]), Text(c))
	out.InvertMatch, out.TreatMissingHeaderAsEmpty = c.Mode&match.Not != 0, c.Mode&match.MissingIsEmpty != 0
	return out
}

func header(name string, text *matcherv3.StringMatcher) *routev3.HeaderMatcher {
	return &routev3.HeaderMatcher{Name: name, HeaderMatchSpecifier: &routev3.HeaderMatcher_StringMatch{StringMatch: text}}
}

func queryMatcher(c *match.Condition) *routev3.QueryParameterMatcher {
	if c.Op == match.Present {
		return &routev3.QueryParameterMatcher{Name: c.Name, QueryParameterMatchSpecifier: &routev3.QueryParameterMatcher_PresentMatch{PresentMatch: true}}
	}
	return &routev3.QueryParameterMatcher{Name: c.Name, QueryParameterMatchSpecifier: &routev3.QueryParameterMatcher_StringMatch{StringMatch: Text(c)}}
}

// ClaimsNamespace is the dynamic metadata that holds the text claims of a
// request's bearer token, on hosts of which a route asks for one.
const ClaimsNamespace = "weft.jwt"

func claimMatcher(c *match.Condition) *matcherv3.MetadataMatcher {
	return &matcherv3.MetadataMatcher{
		Filter: ClaimsNamespace,
		Path:   []*matcherv3.MetadataMatcher_PathSegment{{Segment: &matcherv3.MetadataMatcher_PathSegment_Key{Key: c.Name}}},
		Value:  &matcherv3.ValueMatcher{MatchPattern: &matcherv3.ValueMatcher_StringMatch{StringMatch: Text(c)}},
	}
}

// Text is Envoy's form of the comparison of c with one value, whatever Not says.
func Text(c *match.Condition) *matcherv3.StringMatcher {
	out := &matcherv3.StringMatcher{IgnoreCase: c.Mode&match.IgnoreCase != 0}
	textPatterns.Of(c.Op)(out, c)
	return out
}

var textPatterns = match.NewPerOp(
	func(out *matcherv3.StringMatcher, c *match.Condition) { // Equal
		out.MatchPattern = &matcherv3.StringMatcher_Exact{Exact: c.Value}
	},
	noText, // SegmentPrefix
	func(out *matcherv3.StringMatcher, c *match.Condition) { // BytePrefix
		out.MatchPattern = &matcherv3.StringMatcher_Prefix{Prefix: c.Value}
	},
	func(out *matcherv3.StringMatcher, c *match.Condition) { // Suffix
		out.MatchPattern = &matcherv3.StringMatcher_Suffix{Suffix: c.Value}
	},
	func(out *matcherv3.StringMatcher, c *match.Condition) { // Contains
		out.MatchPattern = &matcherv3.StringMatcher_Contains{Contains: c.Value}
	},
	func(out *matcherv3.StringMatcher, c *match.Condition) { // FullMatch
		out.MatchPattern = &matcherv3.StringMatcher_SafeRegex{SafeRegex: envoy.Regex(c.Value)}
	},
	func(out *matcherv3.StringMatcher, _ *match.Condition) { // Present
		out.MatchPattern = &matcherv3.StringMatcher_SafeRegex{SafeRegex: envoy.Regex("(?s:.*)")}
	},
	func(out *matcherv3.StringMatcher, c *match.Condition) { // OneOf
		quoted := make([]string, len(c.Values))
		for i, v := range c.Values {
			quoted[i] = regexp.QuoteMeta(v)
		}
		out.MatchPattern = &matcherv3.StringMatcher_SafeRegex{SafeRegex: envoy.Regex(strings.Join(quoted, "|"))}
	},
	noText, // InRange
)

func noText(_ *matcherv3.StringMatcher, c *match.Condition) {
	panic(fmt.Sprintf("no text is compared by %s", c.Op))
}

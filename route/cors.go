package route

import (
	"regexp"
	"slices"
	"strings"

	"github.com/weftmesh/weft/route/match"
)

// CORS lets scripts of other origins ask, as browsers understand it (fetch.spec.whatwg.org).
// It acts where a rule forwards: what a backend says of the kind itself is taken away.
type CORS struct {
	Origins []AllowedOrigin // one of them has to allow that of a request
	// Methods and Headers are those that a preflight learns, Expose those of an answer that
	// scripts may read. A * alone stands for those that the preflight asks for.
	Methods, Headers, Expose []string
	Credentials              bool
	MaxAge                   *uint32 // seconds for which a preflight holds
}

// AllowedOrigin is one of the origins, or many.
type AllowedOrigin struct {
	Text string // as the writer gave it
	Is   match.Condition
}

// RequestOrigin is the header of a request that says which origin its script is of, and
// PreflightMethod the one for whose method a preflight asks.
const (
	RequestOrigin   = "origin"
	PreflightMethod = "access-control-request-method"
	// PreflightHeaders are the headers for which it asks.
	PreflightHeaders = "access-control-request-headers"
)

// The headers of an answer by which scripts of other origins are permitted.
const (
	AllowOrigin      = "access-control-allow-origin"
	AllowCredentials = "access-control-allow-credentials"
	AllowMethods     = "access-control-allow-methods"
	AllowHeaders     = "access-control-allow-headers"
	ExposeHeaders    = "access-control-expose-headers"
	CORSMaxAge       = "access-control-max-age"
)

// withoutCORS takes away what a backend says itself.
var withoutCORS = &HeaderModifier{Remove: []string{AllowCredentials, AllowHeaders, AllowMethods, AllowOrigin, ExposeHeaders, CORSMaxAge}}

// usualPorts are those that browsers leave out of an origin.
var usualPorts = map[string]string{"http": "80", "https": "443"}

// Means is one text for origins that are the same to browsers, which never send the port that is
// usual for a scheme: whether it may be there is no difference.
func (o *AllowedOrigin) Means() string {
	if o.Is.Op != match.Equal && o.Is.Op != match.FullMatch || o.Is.Mode != 0 {
		return o.Is.Text()
	}
	scheme, _, _ := strings.Cut(o.Is.Value, "://")
	usual, plain := usualPorts[scheme], o.Is.Value
	if usual == "" {
		return o.Is.Text()
	}
	if o.Is.Op == match.FullMatch {
		quoted := strings.TrimSuffix(plain, "(:"+usual+")?")
		if plain = strings.ReplaceAll(quoted, `\`, ""); regexp.QuoteMeta(plain) != quoted {
			return o.Is.Text()
		}
	}
	return plain
}

// Same reports whether two policies, of which each may be nil, mean the same.
func (c *CORS) Same(o *CORS) bool {
	if c == nil || o == nil {
		return c == o
	}
	return slices.EqualFunc(c.Origins, o.Origins, func(x, y AllowedOrigin) bool { return x.Means() == y.Means() }) &&
		slices.Equal(c.Methods, o.Methods) && slices.Equal(c.Headers, o.Headers) && slices.Equal(c.Expose, o.Expose) && c.Credentials == o.Credentials &&
		(c.MaxAge == nil) == (o.MaxAge == nil) && (c.MaxAge == nil || *c.MaxAge == *o.MaxAge)
}

// Allows reports whether scripts of an origin may ask.
func (c *CORS) Allows(origin string) bool {
	q := &match.Request{Header: func(string) []string { return []string{origin} }}
	return origin != "" && slices.ContainsFunc(c.Origins, func(o AllowedOrigin) bool { return o.Is.Holds(q) })
}

// Anything reports whether a list stands for whatever a preflight asks for.
func Anything(list []string) bool { return len(list) == 1 && list[0] == "*" }

// CORSOf is that among filters; nil where there is none.
func CORSOf(filters []Filter) *CORS {
	return first(filters, func(f *Filter) *CORS { return f.CORS })
}

// Forwarding are the filters of a rule that forwards, with what they come to.
func Forwarding(filters []Filter) []Filter {
	if CORSOf(filters) == nil {
		return filters
	}
	return append([]Filter{{ResponseHeaders: withoutCORS}}, filters...)
}

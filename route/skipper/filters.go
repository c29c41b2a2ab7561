package skipper

import (
	"math"
	"net/http"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/route"
)

// filters are all that Skipper has (spec/routegroup.md 6).
var filters = slices.Concat(changing, limiting, guarding, balancing, lacking)

// changing are those that change requests and answers, or answer themselves.
var changing = []filter{
	{"modPath", "regexp string", "replaces every match in the path; an expression that is plain text and begins the path of the route replaces that begin alone",
		anywhereElse | onLoopback, modPath},
	{"setPath", "string", "replaces the path", anywhereElse | onLoopback, setPath},
	{"redirectTo", "number string?", "answers with a location; what the URL does not say is the request's, the scheme https", everywhere, redirectTo},
	{"status", "number", "the status of a shunt", onShunt, func(c *call, e *effect) error {
		n := c.Args[0].Number
		if n != math.Trunc(n) || n < 200 || n > 599 {
			return c.wrong("%v is no status; write one from 200 to 599", n)
		}
		e.status = uint32(n)
		return nil
	}},
	{"inlineContent", "string string?", "the body of a shunt, and its type", onShunt, inlineContent},
	{"setRequestHeader", "string string", "sets a header; Host is the host that the backend sees", anywhereElse, func(c *call, e *effect) error {
		return e.header(c, route.SetInRequest)
	}},
	{"appendRequestHeader", "string string", "adds a line of a header", anywhereElse, func(c *call, e *effect) error {
		return e.header(c, route.AddToRequest)
	}},
	{"dropRequestHeader", "string", "removes a header", anywhereElse, func(c *call, e *effect) error {
		return e.header(c, route.RemoveFromRequest)
	}},
	{"setResponseHeader", "string string", "sets a header of the answer", everywhere, func(c *call, e *effect) error {
		return e.header(c, route.SetInAnswer)
	}},
	{"appendResponseHeader", "string string", "adds a line of a header of the answer", everywhere, func(c *call, e *effect) error {
		return e.header(c, route.AddToAnswer)
	}},
	{"dropResponseHeader", "string", "removes a header of the answer", everywhere, func(c *call, e *effect) error {
		return e.header(c, route.RemoveFromAnswer)
	}},
	{"responseCookie", "string string number? string?", "sets a cookie for the domain of the host, for a time in seconds; with change-only where the request's is another", everywhere,
		func(c *call, e *effect) error { return e.setCookie(c, true) }},
	{"jsCookie", "string string number? string?", "as responseCookie, but scripts may read it", everywhere,
		func(c *call, e *effect) error { return e.setCookie(c, false) }},
	{"corsOrigin", "string...", "without arguments: answers may be read by every origin", everywhere, func(c *call, e *effect) error {
		if len(c.Args) > 0 {
			return refused(c.at, unsupportedFilter, "weft cannot answer with the origin of the request; the RouteGroup is not applied, so leave the origins out, or remove corsOrigin")
		}
		e.changes = append(e.changes, route.Filter{ResponseHeaders: &route.HeaderModifier{Set: []route.Header{{Name: "access-control-allow-origin", Value: "*"}}}})
		return nil
	}},
	{"preserveHost", "string", "\"true\": the backend sees the client's host, as a service does anyway; \"false\": the host of its own address", everywhere, preserveHost},
	{"setDynamicBackendUrl", "string", "where the backends of type dynamic are: scheme, host and port, the same for every request", anywhereElse, dynamicURL},
}

// limiting are those that are fields of policies, below those that people attach.
var limiting = []filter{
	{"ratelimit", "number string number?", "MeshRateLimit local.http.requestRate: so many in that time, for each proxy and route", anywhereElse | onShunt | limits, ratelimit},
	{"clientRatelimit", "number string string?", "so many in that time for each value of a header, or of several with commas between; X-Forwarded-For if none is named. Who has none is not limited. At most 10,000 clients of a route are told apart",
		anywhereElse | onShunt | limits, clientRatelimit},
	{"backendTimeout", "string", "MeshTimeout http.requestTimeout", anywhereElse | onLoopback, func(c *call, e *effect) error {
		d, err := duration(c, c.text(0), time.Millisecond)
		if err == nil {
			e.says(c, "MeshTimeout", map[string]any{"http.requestTimeout": d})
		}
		return err
	}},
}

func duration(c *call, text string, least time.Duration) (*api.Duration, error) {
	d, err := time.ParseDuration(text)
	if err != nil || d < least {
		return nil, c.wrong("%q is no duration of %s or more; write one such as 1m", text, least)
	}
	return new(api.Duration(d)), nil
}

// rate are the first two arguments of a limit.
func rate(c *call) (*uint32, *api.Duration, error) {
	n := c.Args[0].Number
	if n != math.Trunc(n) || n < 1 || n > math.MaxUint32 {
		return nil, nil, c.wrong("%v is no number of requests; write 1 or more", n)
	}
	d, err := duration(c, c.text(1), 100*time.Millisecond)
	return new(uint32(n)), d, err
}

// clientRatelimit limits each client by itself.
func clientRatelimit(c *call, e *effect) error {
	n, d, err := rate(c)
	if err != nil {
		return err
	}
	l := &route.ClientLimit{Requests: *n, Interval: *d, Headers: []string{"x-forwarded-for"}}
	if len(c.Args) > 2 {
		l.Headers = nil
		for _, name := range strings.Split(strings.ToLower(c.text(2)), ",") {
			name = strings.TrimSpace(name)
			if err := route.CheckHeaderName(c.at, name); err != nil {
				return err
			}
			l.Headers = append(l.Headers, name)
		}
	}
	if slices.ContainsFunc(e.changes, func(f route.Filter) bool { return f.ClientLimit != nil }) {
		return refused(c.at, unsupportedFilter, "the route limits clients already; remove one of the limits")
	}
	e.changes, e.counts = append(e.changes, route.Filter{ClientLimit: l}), append(e.counts, c.at)
	return nil
}

func ratelimit(c *call, e *effect) error {
	if e.limits++; e.limits > 1 {
		return refused(c.at, unsupportedFilter, "the route has a limit already, and weft counts by one; remove one of them")
	}
	n, d, err := rate(c)
	if err != nil {
		return err
	}
	fields := map[string]any{"local.http.requestRate": map[string]any{"num": n, "interval": d}}
	if len(c.Args) > 2 {
		status := c.Args[2].Number
		if status != math.Trunc(status) || status < 400 || status > 599 {
			return c.wrong("%v is no status of a refusal; write one from 400 to 599", status)
		}
		fields["local.http.onRateLimit.status"] = new(uint32(status))
	}
	e.says(c, "MeshRateLimit", fields)
	e.counts = append(e.counts, c.at)
	return nil
}

// plain refuses a template, of which weft fills in none.
func plain(c *call, text string) error {
	if strings.Contains(text, "${") {
		return refused(c.at, unsupportedFilter, "%s has a template ${…}, and weft fills in none; the RouteGroup is not applied, so write plain text", c.Name)
	}
	return nil
}

func modPath(c *call, e *effect) error {
	re, err := syntax.Parse(c.text(0), syntax.Perl)
	if err != nil {
		return c.wrong("%v; write the expression in RE2 syntax", err)
	}
	if err := route.CheckRegex(c.at, c.text(0)); err != nil {
		return err
	}
	with, err := substitution(c, c.text(1), re.MaxCap())
	if err != nil {
		return err
	}
	p := &pathChange{expression: c.text(0), with: with, at: c.at}
	if re.Op == syntax.OpConcat && len(re.Sub) == 2 && re.Sub[0].Op == syntax.OpBeginText {
		re = re.Sub[1]
	}
	if re.Op == syntax.OpLiteral && re.Flags&syntax.FoldCase == 0 && !strings.Contains(c.text(1), "$") {
		p.from = string(re.Rune)
	}
	return e.changePath(c, p)
}

var group = regexp.MustCompile(`\$(\$|[0-9]+|\{[0-9]+\})`)

// substitution is a replacement in Envoy's words: of $1 it makes \1.
func substitution(c *call, text string, groups int) (string, error) {
	var bad string
	out := group.ReplaceAllStringFunc(strings.ReplaceAll(text, `\`, `\\`), func(s string) string {
		if s == "$$" {
			return "$"
		}
		n := strings.Trim(s, "${}")
		if len(n) > 1 || int(n[0]-'0') > groups {
			bad = s
		}
		return `\` + n
	})
	if bad != "" || strings.Contains(group.ReplaceAllString(text, ""), "$") {
		return "", c.wrong("the replacement %q names a group that the expression does not have, or by a name; write $1 to $9", text)
	}
	return out, nil
}

func setPath(c *call, e *effect) error {
	path := c.text(0)
	if err := plain(c, path); err != nil {
		return err
	}
	if !strings.HasPrefix(path, "/") || !route.IsASCII(path) || strings.ContainsAny(path, "?# ") {
		return c.wrong("%q is no path; begin it with a slash and leave query and fragment out", path)
	}
	return e.changePath(c, &pathChange{full: &path, at: c.at})
}

func (e *effect) changePath(c *call, p *pathChange) error {
	if e.path != nil && p.full == nil {
		return refused(c.at, unsupportedFilter, "the path is changed already at %s, and weft changes it once; write one filter that does both", e.path.at)
	}
	e.path = p
	return nil
}

func inlineContent(c *call, e *effect) error {
	body := c.text(0)
	if len(body) > 4096 {
		return c.wrong("the body has %d bytes; at most 4096 are allowed", len(body))
	}
	e.body, e.typ = &body, c.text(1)
	if e.typ == "" {
		e.typ = http.DetectContentType([]byte(body))
	}
	return nil
}

// header changes one header, in one line of its own.
func (e *effect) header(c *call, change route.HeaderChange) error {
	h := route.Header{Name: strings.ToLower(c.text(0)), Value: c.text(1)}
	if err := plain(c, h.Value); err != nil {
		return err
	}
	if h.Name == "host" && change == route.SetInRequest {
		if err := api.ValidateHostname(c.at, h.Value); err != nil {
			return err
		}
		e.changes = append(e.changes, route.Filter{Rewrite: &route.Rewrite{Hostname: h.Value}})
		return nil
	}
	if err := route.CheckChangedHeader(c.at, change, h); err != nil {
		return err
	}
	if err := route.CheckHeaderValue(c.at, h.Value); err != nil {
		return err
	}
	e.changes = append(e.changes, headerFilter(change, h))
	return nil
}

func headerFilter(change route.HeaderChange, h route.Header) route.Filter {
	m := &route.HeaderModifier{}
	switch change {
	case route.SetInRequest, route.SetInAnswer:
		m.Set = []route.Header{h}
	case route.AddToRequest, route.AddToAnswer:
		m.Add = []route.Header{h}
	default:
		m.Remove = []string{h.Name}
	}
	if change >= route.SetInAnswer {
		return route.Filter{ResponseHeaders: m}
	}
	return route.Filter{RequestHeaders: m}
}

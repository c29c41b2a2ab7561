package skipper

import (
	"fmt"
	"math"
	"net/http"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/route"
	"github.com/weftmesh/weft/route/match"
	"github.com/weftmesh/weft/route/skipper/eskip"
)

// filters are all that Skipper has (spec/routegroup.md 6).
var filters = slices.Concat(changing, limiting, guarding, balancing, lacking)

// changing are those that change requests and answers, or answer themselves.
var changing = []filter{
	{"modPath", "regexp string", "replaces every match in the path; an expression that is plain text and begins the path of the route replaces that begin alone",
		anywhereElse | onLoopback, modPath},
	{"setPath", "string", "replaces the path; `${id}` is a parameter of the path of the route, as in /users/:id", anywhereElse | onLoopback, setPath},
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
	{"setRequestHeader", "string string", "sets a header; Host is the host that the backend sees. Values may have templates, see above", anywhereElse, func(c *call, e *effect) error {
		return e.header(c, route.SetInRequest)
	}},
	{"appendRequestHeader", "string string", "adds a line of a header", anywhereElse, func(c *call, e *effect) error {
		return e.header(c, route.AddToRequest)
	}},
	{"dropRequestHeader", "string", "removes a header", anywhereElse, func(c *call, e *effect) error {
		return e.header(c, route.RemoveFromRequest)
	}},
	{"copyRequestHeader", "string string", "sets the second header to what the first has, if it has something", anywhereElse, copyHeader(route.SetInRequest)},
	{"setResponseHeader", "string string", "sets a header of the answer", everywhere, func(c *call, e *effect) error {
		return e.header(c, route.SetInAnswer)
	}},
	{"appendResponseHeader", "string string", "adds a line of a header of the answer", everywhere, func(c *call, e *effect) error {
		return e.header(c, route.AddToAnswer)
	}},
	{"dropResponseHeader", "string", "removes a header of the answer", everywhere, func(c *call, e *effect) error {
		return e.header(c, route.RemoveFromAnswer)
	}},
	{"copyResponseHeader", "string string", "sets the second header of the answer to what the first has, if it has something", anywhereElse, copyHeader(route.SetInAnswer)},
	{"responseCookie", "string string number? string?", "sets a cookie for the domain of the host, for a time in seconds; with change-only where the request's is another", everywhere,
		func(c *call, e *effect) error { return e.setCookie(c, true) }},
	{"jsCookie", "string string number? string?", "as responseCookie, but scripts may read it", everywhere,
		func(c *call, e *effect) error { return e.setCookie(c, false) }},
	{"corsOrigin", "string...", "scripts of these origins, or without any of all, may read answers; preflights are the backend's, or those of a route for OPTIONS", everywhere, corsOrigin},
	{"latency", "duration", "lets a request wait, behind limits and who may pass, in place of its answer; 120 is 120 milliseconds", everywhere, latency},
	{"tee", "string", "sends a copy of each request, with the path to which it goes on, to an address: scheme, host and port. Copies that are answered with a redirect end there", anywhereElse, tee},
	{"teenf", "string", "as tee", anywhereElse, tee},
	{"fadeIn", "duration number?", "gives new endpoints their part of the requests slowly: by their part of that time, to the power of the exponent (1), where the algorithm is roundRobin or powerOfRandomNChoices",
		anywhereElse, fadeIn},
	{"preserveHost", "string", "\"true\": the backend sees the client's host, as a service does anyway; \"false\": the host of its own address", anywhereElse, preserveHost},
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
			e.says(c, &route.Timeouts{Request: d})
		}
		return err
	}},
	{"disableAccessLog", "number...", "MeshAccessLog backends, an empty list: no lines are written of these requests. With statuses it is refused, since a MeshAccessLog asks for none", everywhere,
		func(c *call, e *effect) error { return e.logs(c, false) }},
	{"enableAccessLog", "number...", "lines are written where MeshAccessLogs say, though disableAccessLog stands before; nowhere where none says so. With statuses it is refused", everywhere,
		func(c *call, e *effect) error { return e.logs(c, true) }},
}

// logs has lines of requests written or not. Of filters of a request the last one holds, also behind a loopback.
func (e *effect) logs(c *call, on bool) error {
	if len(c.Args) > 0 {
		return refused(c.at, unsupportedFilter, "weft does not have %s with statuses: a MeshAccessLog writes lines whatever the answer is, or none; write the filter without arguments, and choose by status where lines are read", c.Name)
	}
	off := !on
	e.says(c, &route.AccessLines{Off: &off})
	return nil
}

// lastLog leaves of what is said of lines what holds: the last, and nothing where that is that they are written.
func lastLog(list []route.Inline) []route.Inline {
	lines := route.InlineOf(list).AccessLines
	last := -1
	for i := range list {
		if _, ok := list[i].Policy.(*route.AccessLines); ok {
			last = i
		}
	}
	out := list[:0:0]
	for i := range list {
		if _, ok := list[i].Policy.(*route.AccessLines); !ok || i == last && *lines.Off {
			out = append(out, list[i])
		}
	}
	return out
}

// maxLatency is the longest that one filter lets a request wait.
const maxLatency = time.Minute

// latency lets a request wait. Skipper holds back the body of the answer for that time.
func latency(c *call, e *effect) error {
	d, err := c.duration(0)
	if err != nil {
		return err
	}
	if time.Duration(*d) > maxLatency {
		return refused(c.at, unsupportedFilter, "weft lets a request wait for %s at most; the RouteGroup is not applied, so write less", maxLatency)
	}
	e.add(c, route.Filter{Delay: d})
	return nil
}

// duration is an argument that is a duration, or a number of milliseconds.
func (c *call) duration(i int) (*api.Duration, error) {
	text := c.text(i)
	if a := c.Args[i]; a.Kind == eskip.Number {
		text = fmt.Sprint(time.Duration(a.Number * float64(time.Millisecond)))
	}
	return duration(c, text, time.Millisecond)
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
	if slices.ContainsFunc(e.changes, func(x change) bool { return x.ClientLimit != nil }) {
		return refused(c.at, unsupportedFilter, "the route limits clients already; remove one of the limits")
	}
	e.add(c, route.Filter{ClientLimit: l})
	e.counts = append(e.counts, c.at)
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
	says := &route.RateLimit{Rate: &route.Rate{Requests: *n, Interval: *d}}
	if len(c.Args) > 2 {
		status := c.Args[2].Number
		if status != math.Trunc(status) || status < 400 || status > 599 {
			return c.wrong("%v is no status of a refusal; write one from 400 to 599", status)
		}
		says.Status = new(uint32(status))
	}
	e.says(c, says)
	e.counts = append(e.counts, c.at)
	return nil
}

func modPath(c *call, e *effect) error {
	re, err := syntax.Parse(c.text(0), syntax.Perl)
	if err != nil {
		return c.wrong("%v; write the expression in RE2 syntax", err)
	}
	if err := match.CheckRegex(c.at, c.text(0)); err != nil {
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
	if !strings.HasPrefix(path, "/") || !match.IsASCII(path) || strings.ContainsAny(path, "?# ") {
		return c.wrong("%q is no path; begin it with a slash and leave query and fragment out", path)
	}
	if template.MatchString(path) {
		return e.setTemplate(c, path)
	}
	return e.changePath(c, &pathChange{full: &path, at: c.at})
}

func (e *effect) changePath(c *call, p *pathChange) error {
	if e.path != nil && p.full == nil && !p.whole {
		return refused(c.at, unsupportedFilter, "the path is changed already at %s, and weft changes it once; write one filter that does both", e.path.at)
	}
	p.copied = e.teeAt != ""
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

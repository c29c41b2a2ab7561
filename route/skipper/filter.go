package skipper

import (
	"net/http"
	"slices"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/route"
)

// filter is one line of the table of filters: the page for users, and what the code
// does, are made of it.
type filter struct {
	name, takes string
	means       string // for the page; where read is nil, why weft has it not
	use         use
	// read adds what it does; nil: it is refused, or ignored.
	read func(c *call, e *effect) error
}

// use is where a filter may stand.
type use uint8

const (
	anywhereElse use = 1 << iota // before a backend that is neither of the others
	onShunt
	onLoopback
	ignored    // it observes and changes nothing
	guards     // it decides who may pass
	limits     // it counts, which Envoy does before it asks who may pass
	everywhere = anywhereElse | onShunt | onLoopback
)

// effect is what the filters of one route do together.
type effect struct {
	of      *planned
	where   use
	changes []change
	choices []choice
	reads   []reading
	hostIn  api.Path // where the host is filled into an answer
	pathIn  api.Path // where the path is filled in
	teeAt   api.Path // where requests are copied first
	copies  []addressAt
	fade    route.Balance // how new endpoints begin
	fadeAt  api.Path
	path    *pathChange
	moved   *route.Redirect // answers
	status  uint32
	body    *string
	typ     string
	cookies []cookie
	inline  []route.Inline
	notes   []api.Note
	origin  *api.Origin
	limits  int
	counts  []api.Path // where it limits requests
	hash    []route.HashKey
	bound   uint32     // of a hash, in percent; 0 is none
	dynamic *addressAt // where backends of type dynamic are
	host    *bool      // whether backends see the client's; nil is what their type has
	hostAt  api.Path
	guards  []api.Note // one for each that guards: what holds without an authorization service
}

// pathChange is what becomes of the path: it is replaced as a whole, or each match of
// an expression is. Of an expression that is plain text, from is that text.
type pathChange struct {
	full             *string
	expression, with string
	from             string
	whole            bool // the expression takes every path that the route takes
	copied           bool // the request is copied before
	at               api.Path
}

// readFilters reads those of a route before a backend of which where says what it is.
func readFilters(calls []call, where use, p *planned) (*effect, []error) {
	e := &effect{of: p, where: where, origin: p.origin}
	var errs []error
	for i := range calls {
		c := &calls[i]
		f := filterNamed(c.Name)
		switch {
		case f == nil:
			errs = append(errs, refused(c.at, unsupportedFilter, "there is no filter %s; the page on RouteGroups lists those that there are", c.Name))
		case f.use&ignored != 0:
			e.note(c, api.Info, "Ignored", "the filter "+c.Name+" has no effect in weft: "+f.means)
		case f.read == nil:
			errs = append(errs, refused(c.at, unsupportedFilter, "weft does not have the filter %s: %s; the RouteGroup is not applied, so remove it or do it in another way", c.Name, f.means))
		case movesPath(c.Name) && e.moved != nil:
			e.note(c, api.Warning, api.CodeNoEffect, c.Name+" stands behind redirectTo, which answers before, so it has no effect; write it in front")
		case f.use&where == 0 && where == onShunt && slices.ContainsFunc(calls, redirects) && f.use&anywhereElse != 0 && !f.ofAnswers():
			if movesPath(c.Name) { // the location has the path
				if err := f.read(c, e); err != nil {
					errs = append(errs, err)
				}
				continue
			}
			e.note(c, api.Warning, api.CodeNoEffect, "no backend sees the requests of a route that redirects, so "+c.Name+" has no effect; remove it")
		case f.use&where == 0:
			errs = append(errs, refused(c.at, unsupportedFilter, "the filter %s does not go with a backend of type %s; remove it, or use another backend", c.Name, where))
		default:
			if err := c.check(f.takes); err != nil {
				errs = append(errs, err)
			} else if err := f.read(c, e); err != nil {
				errs = append(errs, err)
			} else {
				e.guard(c, f)
			}
		}
	}
	return e, slices.Concat(errs, e.checkReads(), e.checkCopies())
}

// movesPath reports whether a filter changes the path, which a redirect of the route has too.
func movesPath(name string) bool { return name == "modPath" || name == "setPath" }

func redirects(c call) bool { return c.Name == "redirectTo" }

// ofAnswers reports whether the filter changes answers, also those of a shunt.
func (f *filter) ofAnswers() bool { return strings.HasSuffix(f.name, "ResponseHeader") }

func filterNamed(name string) *filter {
	for i := range filters {
		if filters[i].name == name {
			return &filters[i]
		}
	}
	return nil
}

// String is the use as messages name the backend.
func (u use) String() string {
	switch u {
	case onShunt:
		return "shunt"
	case onLoopback:
		return "loopback"
	}
	return "service"
}

func (e *effect) note(c *call, severity api.Severity, code, message string) {
	e.notes = append(e.notes, api.Note{Origin: e.origin, Severity: severity, Code: code, Field: c.at, Message: message})
}

// guard keeps what is to say of a filter that guards, and of a limit behind one.
func (e *effect) guard(c *call, f *filter) {
	switch {
	case f.use&guards != 0:
		e.guards = append(e.guards, api.Note{Origin: e.origin, Severity: api.Error, Code: unsupportedFilter, Field: c.at,
			Message: "filter " + c.Name + " needs " + f.means + " and no ext_authz provider is configured; the RouteGroup is not applied, so give the control plane --ext-authz"})
	case f.use&limits != 0 && len(e.guards) > 0:
		e.note(c, api.Warning, filterOrder, c.Name+" stands behind a filter that asks who may pass, and Envoy counts first: what is refused counts too; write it before "+
			"that filter")
	}
}

// says adds what a filter says in the terms of policies.
func (e *effect) says(c *call, p route.InlinePolicy) {
	origin := *e.origin
	origin.Field = c.at
	e.inline = append(e.inline, route.Inline{Policy: p, Origin: &origin})
}

// answer is what a shunt says where no redirect does.
func (e *effect) answer() *route.Respond {
	out := &route.Respond{Status: http.StatusNotFound}
	if e.body != nil {
		out.Status, out.Body = http.StatusOK, *e.body
		out.Headers = []route.Header{{Name: "content-type", Value: e.typ}}
	}
	if e.status != 0 {
		out.Status = e.status
	}
	return out
}

package gateway

import (
	"regexp"
	"strings"
	"time"

	"github.com/hashicorp/go-multierror"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/redact"
)

// The limits of the lists of a route (spec/gateway-api.md 2.1).
const (
	maxParents    = 32
	maxHostnames  = 16
	maxRules      = 16
	maxMatches    = 64  // of a rule
	maxAllMatches = 128 // of a route
	maxFilters    = 16
	maxBackends   = 16
	maxHeaders    = 16
	maxGrants     = 16
	maxWeight     = 1_000_000
)

var sectionName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$`)

// checker gathers what is wrong.
type checker struct{ errs *multierror.Error }

func (c *checker) add(errs ...error) { c.errs = multierror.Append(c.errs, errs...) }

// long refuses more than most items.
func (c *checker) long(at api.Path, n, most int) {
	if n > most {
		c.add(at.Breaks("there are %d items; at most %d are allowed", n, most))
	}
}

// Validate checks an HTTPRoute as its published schema does, but for words that a
// later version may know: of those there is a note.
func (r *HTTPRoute) Validate(at api.Path) error {
	var c checker
	c.common(at, (*gatewayv1.CommonRouteSpec)(&r.CommonRouteSpec), r.Hostnames)
	c.long(at.Field("rules"), len(r.Rules), maxRules)
	names, all := map[string]bool{}, 0
	for i := range r.Rules {
		rule, here := &r.Rules[i], at.Field("rules").Index(i)
		all += len(rule.Matches)
		c.name(here.Field("name"), rule.Name, names)
		c.long(here.Field("matches"), len(rule.Matches), maxMatches)
		for j := range rule.Matches {
			c.httpMatch(here.Field("matches").Index(j), &rule.Matches[j])
		}
		prefix := len(rule.Matches) == 0 || len(rule.Matches) == 1 && isPrefix(rule.Matches[0].Path)
		c.filters(here.Field("filters"), rule.Filters, prefix)
		c.redirects(here, rule)
		c.backends(here.Field("backendRefs"), rule.BackendRefs, prefix)
		c.timeouts(here.Field("timeouts"), rule.Timeouts)
		c.retry(here.Field("retry"), rule.Retry)
	}
	c.long(at.Field("rules"), all, maxAllMatches)
	return c.errs.ErrorOrNil()
}

// Validate checks a GRPCRoute.
func (r *GRPCRoute) Validate(at api.Path) error {
	var c checker
	c.common(at, (*gatewayv1.CommonRouteSpec)(&r.CommonRouteSpec), r.Hostnames)
	c.long(at.Field("rules"), len(r.Rules), maxRules)
	names, all := map[string]bool{}, 0
	for i := range r.Rules {
		rule, here := &r.Rules[i], at.Field("rules").Index(i)
		all += len(rule.Matches)
		c.name(here.Field("name"), rule.Name, names)
		c.long(here.Field("matches"), len(rule.Matches), maxMatches)
		for j := range rule.Matches {
			c.grpcMatch(here.Field("matches").Index(j), &rule.Matches[j])
		}
		c.filters(here.Field("filters"), grpcFilters(rule.Filters), false)
		c.long(here.Field("backendRefs"), len(rule.BackendRefs), maxBackends)
		for j := range rule.BackendRefs {
			b, ref := &rule.BackendRefs[j], here.Field("backendRefs").Index(j)
			c.backend(ref, &b.BackendObjectReference)
			c.weight(ref.Field("weight"), b.Weight)
			c.filters(ref.Field("filters"), grpcFilters(b.Filters), false)
		}
	}
	c.long(at.Field("rules"), all, maxAllMatches)
	return c.errs.ErrorOrNil()
}

// Validate checks a ReferenceGrant.
func (r *ReferenceGrant) Validate(at api.Path) error {
	var c checker
	c.long(at.Field("from"), len(r.From), maxGrants)
	c.long(at.Field("to"), len(r.To), maxGrants)
	if len(r.From) == 0 {
		c.add(at.Field("from").Breaks("is empty, so nothing is granted; write from whom references may come"))
	}
	if len(r.To) == 0 {
		c.add(at.Field("to").Breaks("is empty, so nothing is granted; write to what references may lead"))
	}
	for i, f := range r.From {
		here := at.Field("from").Index(i)
		c.given(here.Field("kind"), string(f.Kind))
		c.given(here.Field("namespace"), string(f.Namespace))
	}
	for i, t := range r.To {
		c.given(at.Field("to").Index(i).Field("kind"), string(t.Kind))
	}
	return c.errs.ErrorOrNil()
}

// given wants a text.
func (c *checker) given(at api.Path, text string) {
	if text == "" {
		c.add(at.Breaks("is missing; write it"))
	}
}

func (c *checker) common(at api.Path, spec *gatewayv1.CommonRouteSpec, hostnames []gatewayv1.Hostname) {
	refs := at.Field("parentRefs")
	c.long(refs, len(spec.ParentRefs), maxParents)
	type parent struct{ group, kind, namespace, name, section, port string }
	type object struct{ group, kind, namespace, name string }
	seen, forms := map[parent]bool{}, map[object][2]bool{}
	for i := range spec.ParentRefs {
		p, here := &spec.ParentRefs[i], refs.Index(i)
		c.given(here.Field("name"), string(p.Name))
		c.port(here.Field("port"), p.Port)
		o := object{string(or(p.Group, group)), string(or(p.Kind, KindGateway)), string(or(p.Namespace, "")), string(p.Name)}
		whole := parent{o.group, o.kind, o.namespace, o.name, string(or(p.SectionName, "")), portText(p.Port)}
		form := [2]bool{p.SectionName != nil, p.Port != nil}
		other, twice := forms[o]
		switch {
		case seen[whole]:
			c.add(here.Breaks("the same parent is named already; remove one of them"))
		case twice && other != form:
			c.add(here.Breaks("refs to one parent say sectionName and port all alike, or none of them does; write the same fields as above"))
		}
		seen[whole], forms[o] = true, form
	}
	c.long(at.Field("hostnames"), len(hostnames), maxHostnames)
	for i, h := range hostnames {
		c.add(api.ValidateHostname(at.Field("hostnames").Index(i), strings.TrimPrefix(string(h), "*.")))
	}
	if spec.UseDefaultGateways != "" {
		c.add(at.Field("useDefaultGateways").Warns(api.CodeUnsupported, "weft has no default Gateways; name the parents in parentRefs"))
	}
}

// name checks the name of a rule.
func (c *checker) name(at api.Path, name *gatewayv1.SectionName, seen map[string]bool) {
	if name == nil {
		return
	}
	text := string(*name)
	switch {
	case seen[text]:
		c.add(at.Breaks("%q is the name of another rule; give each rule its own", redact.Clip(text)))
	case !sectionName.MatchString(text):
		c.add(at.Breaks("%q is not a valid rule name; use lower-case letters, digits, - and dots, at most 253", redact.Clip(text)))
	case number.MatchString(text):
		c.add(at.Breaks("%q looks like the place of a rule, by which policies may name it; write a name with a letter", redact.Clip(text)))
	}
	seen[text] = true
}

var number = regexp.MustCompile(`^[0-9]+(\.[0-9]+)?$`)

func (c *checker) port(at api.Path, p *gatewayv1.PortNumber) {
	if p != nil {
		c.add(api.ValidatePort(at, uint32(max(*p, 0))))
	}
}

func (c *checker) weight(at api.Path, w *int32) {
	if w != nil && (*w < 0 || *w > maxWeight) {
		c.add(at.Breaks("%d is not a valid weight; write a number from 0 to %d", *w, maxWeight))
	}
}

func (c *checker) backend(at api.Path, ref *gatewayv1.BackendObjectReference) {
	c.given(at.Field("name"), string(ref.Name))
	c.port(at.Field("port"), ref.Port)
}

func (c *checker) backends(at api.Path, refs []gatewayv1.HTTPBackendRef, prefix bool) {
	c.long(at, len(refs), maxBackends)
	for i := range refs {
		c.backend(at.Index(i), &refs[i].BackendObjectReference)
		c.weight(at.Index(i).Field("weight"), refs[i].Weight)
		c.filters(at.Index(i).Field("filters"), refs[i].Filters, prefix)
		c.ofBackend(at.Index(i).Field("filters"), refs[i].Filters)
	}
}

var gepDuration = regexp.MustCompile(`^([0-9]{1,5}(h|m|s|ms)){1,4}$`)

func (c *checker) duration(at api.Path, d *gatewayv1.Duration) (v time.Duration) {
	if d == nil {
		return 0
	}
	v, err := time.ParseDuration(string(*d))
	if err != nil || !gepDuration.MatchString(string(*d)) {
		c.add(at.Breaks("%q is not a valid duration; write whole numbers with units h, m, s or ms, such as 10s or 1m30s", redact.Clip(string(*d))))
	}
	return v
}

func (c *checker) timeouts(at api.Path, t *gatewayv1.HTTPRouteTimeouts) {
	if t == nil {
		return
	}
	whole, try := c.duration(at.Field("request"), t.Request), c.duration(at.Field("backendRequest"), t.BackendRequest)
	if whole != 0 && try > whole {
		c.add(at.Field("backendRequest").Breaks("one attempt may take %s, longer than the whole request with %s; write at most that", try, whole))
	}
}

func (c *checker) retry(at api.Path, r *gatewayv1.HTTPRouteRetry) {
	if r == nil {
		return
	}
	for i, code := range r.Codes {
		if code < 400 || code > 599 {
			c.add(at.Field("codes").Index(i).Breaks("%d is no status of an error; write a number from 400 to 599", int(code)))
		}
	}
	if r.Attempts != nil && (*r.Attempts < 1 || *r.Attempts > 1000) {
		c.add(at.Field("attempts").Breaks("%d is not a number of retries; write a number from 1 to 1000, or leave retry out", *r.Attempts))
	}
	if r.Backoff != nil && c.duration(at.Field("backoff"), r.Backoff) == 0 {
		c.add(at.Field("backoff").Breaks("a pause of %s is none; write at least 1ms", *r.Backoff))
	}
}

package kuma

import (
	"slices"
	"strings"

	"github.com/hashicorp/go-multierror"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/redact"
	"github.com/weftmesh/weft/route"
	"github.com/weftmesh/weft/route/match"
)

// Methods are those that a match may name.
func Methods() []string { return slices.Clone(methods) }

// methods are those that a match may name.
var methods = []string{"CONNECT", "DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT", "TRACE"}

func validateMatch(at api.Path, m *Match) error {
	var errs *multierror.Error
	if m.Path != nil {
		errs = multierror.Append(errs, validatePath(at.Field("path"), m.Path))
	}
	if m.Method != "" {
		errs = multierror.Append(errs, oneOf(at.Field("method"), m.Method, methods...))
	}
	seen := map[string]bool{}
	for i, q := range m.Query {
		here := at.Field("queryParams").Index(i)
		errs = multierror.Append(errs, validateQuery(here, q), once(here.Field("name"), "parameter", q.Name, seen))
	}
	seen = map[string]bool{}
	for i, h := range m.Headers {
		here := at.Field("headers").Index(i)
		errs = multierror.Append(errs, validateHeader(here, h), once(here.Field("name"), "header", h.Name, seen))
	}
	return errs.ErrorOrNil()
}

// once refuses a name that was seen before in its list.
func once(at api.Path, thing, name string, seen map[string]bool) error {
	twice := seen[name] && name != ""
	seen[name] = true
	if twice {
		return at.Breaks("%q is matched already; write each %s once", redact.Clip(name), thing)
	}
	return nil
}

func oneOf(at api.Path, word string, words ...string) error {
	for _, w := range words {
		if w == word {
			return nil
		}
	}
	return at.OneOf(word, words...)
}

// CheckPath wants a match of a path as the matches of a MeshHTTPRoute have it.
func CheckPath(at api.Path, p *PathMatch) error { return validatePath(at, p) }

func validatePath(at api.Path, p *PathMatch) error {
	var errs *multierror.Error
	errs = multierror.Append(errs, oneOf(at.Field("type"), string(p.Type), string(Exact), string(Prefix), string(Regex)))
	value := at.Field("value")
	switch {
	case p.Value == "":
		return multierror.Append(errs, value.Breaks("is missing; write the path, such as /"))
	case p.Type == Regex:
		return multierror.Append(errs, match.CheckRegex(value, p.Value)).ErrorOrNil()
	}
	if p.Value[0] != '/' {
		errs = multierror.Append(errs, value.Breaks("%q is not absolute; begin it with /", redact.Clip(p.Value)))
	}
	if p.Type == Prefix && p.Value != "/" && strings.HasSuffix(p.Value, "/") {
		errs = multierror.Append(errs, value.Breaks("%q ends in /; write it without: a prefix matches whole segments", redact.Clip(p.Value)))
	}
	return multierror.Append(errs, plainPath(value, p.Value), onTheWire(value, p.Value)).ErrorOrNil()
}

// plainPath refuses what is no part of a path.
func plainPath(at api.Path, path string) error {
	switch {
	case strings.ContainsAny(path, "?#"):
		return at.Breaks("%q has a query or fragment, which is not part of a path; remove it (queryParams match the query)", redact.Clip(path))
	case strings.ContainsFunc(path, func(r rune) bool { return r <= ' ' || r == 0x7f }):
		return at.Breaks("%q holds a space or a control character; write it as %%20 or remove it", redact.Clip(path))
	}
	return nil
}

// onTheWire wants what a URL may hold: Envoy answers 400 to any other request.
func onTheWire(at api.Path, text string) error {
	if match.IsASCII(text) {
		return nil
	}
	return at.Breaks("%q has characters that no URL has; write it as requests do: %s", redact.Clip(text), redact.Clip(match.PercentEncoded(text)))
}

func validateQuery(at api.Path, q QueryMatch) error {
	var errs *multierror.Error
	if q.Name == "" {
		errs = multierror.Append(errs, at.Field("name").Breaks("is missing; write the name of the parameter"))
	}
	switch q.Type {
	case string(Exact):
		errs = multierror.Append(errs, match.CheckHeaderValue(at.Field("value"), q.Value), onTheWire(at.Field("value"), q.Value))
	case string(Regex):
		errs = multierror.Append(errs, match.CheckRegex(at.Field("value"), q.Value))
	default:
		errs = multierror.Append(errs, at.Field("type").OneOf(q.Type, string(Exact), string(Regex)))
	}
	return multierror.Append(errs, match.CheckHeaderValue(at.Field("name"), q.Name), onTheWire(at.Field("name"), q.Name)).ErrorOrNil()
}

func validateHeader(at api.Path, h HeaderMatch) error {
	var errs *multierror.Error
	errs = multierror.Append(errs, route.CheckHeaderName(at.Field("name"), h.Name))
	switch {
	case h.Name == "x-request-id" && h.Type != "Present" && h.Type != "Absent":
		errs = multierror.Append(errs, at.Field("name").Warns("Chance", "the sidecar gives requests without x-request-id a random one before it matches, so this holds by chance; match a header that only callers write"))
	case slices.Contains(match.ControlHeaders, h.Name):
		errs = multierror.Append(errs, at.Field("name").Warns("NotApplied", "sidecars remove %s before they match, so it is never there; match another header", h.Name))
	}
	return multierror.Append(errs, match.CheckHeaderMatch(at, h.Type, h.Value)).ErrorOrNil()
}

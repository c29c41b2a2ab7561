package kuma

import (
	"github.com/hashicorp/go-multierror"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/redact"
	"github.com/weftmesh/weft/route"
	"github.com/weftmesh/weft/route/match"
)

// The types of filters.
const (
	requestHeaderModifier  = "RequestHeaderModifier"
	responseHeaderModifier = "ResponseHeaderModifier"
	requestRedirect        = "RequestRedirect"
	urlRewrite             = "URLRewrite"
	requestMirror          = "RequestMirror"
)

// validate checks one filter of a rule; prefixes says that every match of the
// rule has a PathPrefix.
func (f *Filter) validate(at api.Path, prefixes, gateway bool) error {
	bodies := []struct {
		typ, field string
		set        bool
	}{
		{requestHeaderModifier, "requestHeaderModifier", f.RequestHeaderModifier != nil},
		{responseHeaderModifier, "responseHeaderModifier", f.ResponseHeaderModifier != nil},
		{requestRedirect, "requestRedirect", f.RequestRedirect != nil},
		{urlRewrite, "urlRewrite", f.URLRewrite != nil},
		{requestMirror, "requestMirror", f.RequestMirror != nil},
	}
	var errs *multierror.Error
	var types []string
	known := false
	for _, b := range bodies {
		types = append(types, b.typ)
		switch {
		case b.typ == f.Type && !b.set:
			errs = multierror.Append(errs, at.Field(b.field).Breaks("is missing; a filter of type %s needs it", f.Type))
		case b.typ != f.Type && b.set && f.Type != "":
			errs = multierror.Append(errs, at.Field(b.field).Breaks("belongs to filters of type %s; remove it, or change the type", b.typ))
		}
		known = known || b.typ == f.Type
	}
	if !known {
		errs = multierror.Append(errs, at.Field("type").OneOf(f.Type, types...))
	}
	errs = multierror.Append(errs,
		f.RequestHeaderModifier.validate(at.Field("requestHeaderModifier"), route.SetInRequest, route.AddToRequest, route.RemoveFromRequest),
		f.ResponseHeaderModifier.validate(at.Field("responseHeaderModifier"), route.SetInAnswer, route.AddToAnswer, route.RemoveFromAnswer),
		f.RequestRedirect.validate(at.Field("requestRedirect"), prefixes),
		f.URLRewrite.validate(at.Field("urlRewrite"), prefixes, gateway),
		f.RequestMirror.validate(at.Field("requestMirror")))
	return errs.ErrorOrNil()
}

// maxHeaders is the length of each list of a header modifier.
const maxHeaders = 16

func (m *HeaderModifier) validate(at api.Path, set, add, remove route.HeaderChange) error {
	if m == nil {
		return nil
	}
	var errs *multierror.Error
	if len(m.Set)+len(m.Add)+len(m.Remove) == 0 {
		return at.Breaks("changes nothing; write set, add or remove")
	}
	seen := map[string]bool{}
	check := func(at api.Path, change route.HeaderChange, h Header) {
		errs = multierror.Append(errs, route.CheckChangedHeader(at, change, route.Header(h)))
		if seen[h.Name] && h.Name != "" {
			errs = multierror.Append(errs, at.Breaks("%q is changed already; write each header once in set, add and remove together", redact.Clip(h.Name)))
		}
		seen[h.Name] = true
	}
	long := func(at api.Path, n int) {
		if n > maxHeaders {
			errs = multierror.Append(errs, at.Breaks("there are %d items; at most %d are allowed", n, maxHeaders))
		}
	}
	for _, list := range []struct {
		name    string
		change  route.HeaderChange
		headers []Header
	}{{"set", set, m.Set}, {"add", add, m.Add}} {
		long(at.Field(list.name), len(list.headers))
		for i, h := range list.headers {
			here := at.Field(list.name).Index(i)
			check(here.Field("name"), list.change, h)
			errs = multierror.Append(errs, match.CheckHeaderValue(here.Field("value"), h.Value))
		}
	}
	long(at.Field("remove"), len(m.Remove))
	for i, name := range m.Remove {
		check(at.Field("remove").Index(i), remove, Header{Name: name})
	}
	return errs.ErrorOrNil()
}

func (r *RequestRedirect) validate(at api.Path, prefixes bool) error {
	if r == nil {
		return nil
	}
	var errs *multierror.Error
	if r.Scheme != "" {
		errs = multierror.Append(errs, oneOf(at.Field("scheme"), r.Scheme, "http", "https"))
	}
	if r.Hostname != "" {
		errs = multierror.Append(errs, api.ValidateHostname(at.Field("hostname"), r.Hostname))
	}
	if r.Port != nil {
		errs = multierror.Append(errs, api.ValidatePort(at.Field("port"), *r.Port))
	}
	switch r.StatusCode {
	case 0, 301, 302, 303, 307, 308:
	default:
		errs = multierror.Append(errs, at.Field("statusCode").Breaks("%d is not a redirect status; write 301, 302, 303, 307 or 308", r.StatusCode))
	}
	return multierror.Append(errs, r.Path.validate(at.Field("path"), prefixes)).ErrorOrNil()
}

func (w *URLRewrite) validate(at api.Path, prefixes, gateway bool) error {
	if w == nil {
		return nil
	}
	var errs *multierror.Error
	if w.Hostname != "" {
		errs = multierror.Append(errs, api.ValidateHostname(at.Field("hostname"), w.Hostname))
	}
	host := at.Field("hostToBackendHostname")
	switch {
	case w.HostToBackendHostname && w.Hostname != "":
		errs = multierror.Append(errs, host.Breaks("hostname and hostToBackendHostname exclude each other; remove one of them"))
	case w.HostToBackendHostname && !gateway:
		errs = multierror.Append(errs, host.Breaks("only routes of a MeshGateway take it; remove it, or write hostname"))
	case !w.HostToBackendHostname && w.Hostname == "" && w.Path == nil:
		errs = multierror.Append(errs, at.Breaks("rewrites nothing; write hostname or path"))
	}
	return multierror.Append(errs, w.Path.validate(at.Field("path"), prefixes)).ErrorOrNil()
}

func (p *PathRewrite) validate(at api.Path, prefixes bool) error {
	if p == nil {
		return nil
	}
	full, prefix := at.Field("replaceFullPath"), at.Field("replacePrefixMatch")
	var errs *multierror.Error
	switch p.Type {
	case "ReplaceFullPath":
		errs = multierror.Append(errs, chosen(full, p.ReplaceFullPath, prefix, p.ReplacePrefixMatch))
	case "ReplacePrefixMatch":
		errs = multierror.Append(errs, chosen(prefix, p.ReplacePrefixMatch, full, p.ReplaceFullPath))
		if !prefixes {
			errs = multierror.Append(errs, prefix.Breaks("there is no prefix to replace; use PathPrefix in every match of the rule, or ReplaceFullPath"))
		}
	default:
		errs = multierror.Append(errs, at.Field("type").OneOf(p.Type, "ReplaceFullPath", "ReplacePrefixMatch"))
	}
	if s := p.ReplaceFullPath; s != nil {
		errs = multierror.Append(errs, replacement(full, *s))
	}
	if s := p.ReplacePrefixMatch; s != nil && *s != "" {
		errs = multierror.Append(errs, replacement(prefix, *s))
	}
	return errs.ErrorOrNil()
}

// chosen wants the replacement that the type names and not the other one.
func chosen(at api.Path, value *string, otherAt api.Path, other *string) error {
	var errs *multierror.Error
	if value == nil {
		errs = multierror.Append(errs, at.Breaks("is missing; the type asks for it"))
	}
	if other != nil {
		errs = multierror.Append(errs, otherAt.Breaks("does not go with the type; remove it"))
	}
	return errs.ErrorOrNil()
}

func replacement(at api.Path, path string) error {
	if path == "" || path[0] != '/' {
		return at.Breaks("%q is not absolute; begin it with /", redact.Clip(path))
	}
	return multierror.Append(nil, plainPath(at, path), onTheWire(at, path)).ErrorOrNil()
}

func (m *RequestMirror) validate(at api.Path) error {
	if m == nil {
		return nil
	}
	var errs *multierror.Error
	if m.Percentage != nil {
		if _, ok := m.Percentage.value(); !ok {
			errs = multierror.Append(errs, at.Field("percentage").Breaks("%q is not a percentage; write a number from 0 to 100, such as 50 or \"0.5\"", redact.Clip(m.Percentage.text)))
		}
	}
	if w := m.BackendRef.Weight; w != nil && *w != 1 {
		errs = multierror.Append(errs, at.Field("backendRef").Field("weight").Warns(api.CodeUnsupported, "a mirror has no weight; write percentage beside backendRef"))
	}
	return multierror.Append(errs, m.BackendRef.validate(at.Field("backendRef"))).ErrorOrNil()
}

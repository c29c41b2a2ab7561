package kuma

import (
	"regexp"

	"github.com/hashicorp/go-multierror"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/redact"
)

var ruleName = regexp.MustCompile(`^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$`)

// Validate checks a MeshHTTPRoute by the table of spec/kuma.md 2.
func (r *HTTPRoute) Validate(at api.Path) error {
	var errs *multierror.Error
	if len(r.To) == 0 {
		errs = multierror.Append(errs, at.Field("to").Warns(api.CodeNoEffect, "the route says nothing; write to, with the destination and its rules"))
	}
	names := map[string]api.Path{}
	for i := range r.To {
		errs = multierror.Append(errs, r.to(at.Field("to").Index(i), &r.To[i], names))
	}
	return errs.ErrorOrNil()
}

// ValidateObject checks the refs, of which kinds depends on what kinds there are.
func (r *HTTPRoute) ValidateObject(o *api.Object, c *api.Catalog, at api.Path) error {
	all := refs{top: r.TargetRef, to: targets(r.To)}
	for i := range r.To {
		rules := at.Field("to").Index(i).Field("rules")
		for j := range r.To[i].Rules {
			does, here := &r.To[i].Rules[j].Default, rules.Index(j).Field("default")
			for f := range does.Filters {
				if m := does.Filters[f].RequestMirror; m != nil {
					all.backends = append(all.backends, backendAt{here.Field("filters").Index(f).Field("requestMirror").Field("backendRef"), &m.BackendRef})
				}
			}
			all.list(here.Field("backendRefs"), does.BackendRefs)
		}
	}
	return all.validate(o, c, at)
}

func (r *HTTPRoute) to(at api.Path, to *To, names map[string]api.Path) error {
	var errs *multierror.Error
	gateway := r.Top().Kind == api.KindMeshGateway
	if len(to.Hostnames) > 0 && !gateway {
		errs = multierror.Append(errs, at.Field("hostnames").Breaks("hostnames belong to routes of a MeshGateway; remove them"))
	}
	if len(to.Rules) == 0 {
		errs = multierror.Append(errs, at.Field("rules").Warns(api.CodeNoEffect, "there are no rules, so this entry says nothing; write at least one"))
	}
	for j := range to.Rules {
		rule, here := &to.Rules[j], at.Field("rules").Index(j)
		errs = multierror.Append(errs, rule.validate(here, gateway))
		if rule.Name == "" {
			continue
		}
		if first, twice := names[rule.Name]; twice {
			errs = multierror.Append(errs, here.Field("name").Breaks("%q is the name of %s too; give each rule its own", redact.Clip(rule.Name), first))
		} else if !ruleName.MatchString(rule.Name) {
			errs = multierror.Append(errs, here.Field("name").Breaks("%q is not a valid rule name; use lower-case letters, digits and -, beginning with a letter, at most 63", redact.Clip(rule.Name)))
		}
		names[rule.Name] = here
	}
	return errs.ErrorOrNil()
}

func (r *Rule) validate(at api.Path, gateway bool) error {
	var errs *multierror.Error
	if len(r.Matches) == 0 {
		errs = multierror.Append(errs, at.Field("matches").Breaks("the rule matches nothing; write at least one match, such as path: {type: PathPrefix, value: /}"))
	}
	prefixes := len(r.Matches) > 0
	for k := range r.Matches {
		m := &r.Matches[k]
		errs = multierror.Append(errs, validateMatch(at.Field("matches").Index(k), m))
		prefixes = prefixes && m.Path != nil && m.Path.Type == Prefix
	}
	here := at.Field("default")
	for f := range r.Default.Filters {
		errs = multierror.Append(errs, r.Default.Filters[f].validate(here.Field("filters").Index(f), prefixes, gateway))
	}
	for b := range r.Default.BackendRefs {
		errs = multierror.Append(errs, r.Default.BackendRefs[b].validate(here.Field("backendRefs").Index(b)))
	}
	return errs.ErrorOrNil()
}

func (b *BackendRef) validate(at api.Path) error {
	var errs *multierror.Error
	port := at.Field("port")
	switch {
	case b.Port != nil && b.Kind == api.KindMeshServiceSubset:
		errs = multierror.Append(errs, port.Breaks("a MeshServiceSubset has no port; remove it"))
	case b.Port != nil && b.SectionName != "":
		errs = multierror.Append(errs, at.Field("sectionName").Breaks("port and sectionName both choose the port; remove one of them"))
	case b.Port != nil:
		errs = multierror.Append(errs, api.ValidatePort(port, *b.Port))
	case b.Kind == api.KindMeshMultiZoneService:
		errs = multierror.Append(errs, port.Breaks("is missing; write the port of the MeshMultiZoneService"))
	}
	return errs.ErrorOrNil()
}

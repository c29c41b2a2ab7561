package api

import (
	"maps"
	"net/netip"
	"regexp"
	"slices"
	"strings"

	"github.com/hashicorp/go-multierror"
)

var (
	dnsLabel     = regexp.MustCompile(`^[a-z]([-a-z0-9]*[a-z0-9])?$`)
	dnsSubdomain = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`)
	meshName     = regexp.MustCompile(`^[0-9a-z-_.]+$`)
	portName     = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`)
	tagKey       = regexp.MustCompile(`^[a-zA-Z0-9.\-_:/]+$`)
	tagValue     = regexp.MustCompile(`^[a-zA-Z0-9.\-_:]+$`)
	labelName    = regexp.MustCompile(`^[a-zA-Z0-9]([-a-zA-Z0-9_.]{0,61}[a-zA-Z0-9])?$`)
	labelValue   = regexp.MustCompile(`^([a-zA-Z0-9]([-a-zA-Z0-9_.]*[a-zA-Z0-9])?)?$`)
)

// ValidateHostname wants a DNS-1123 name that is no address.
func ValidateHostname(at Path, name string) error {
	_, addr := netip.ParseAddr(name)
	if addr == nil || len(name) > 253 || !dnsSubdomain.MatchString(name) {
		return at.Breaks("%q is no host name; use lower-case letters, digits, - and dots, at most 253, and no address", Clip(name))
	}
	return nil
}

// ValidateTags wants names and values of Kuma's charset.
func ValidateTags(at Path, tags map[string]string) error {
	var errs *multierror.Error
	for _, k := range slices.Sorted(maps.Keys(tags)) {
		if !tagKey.MatchString(k) || len(k) > 253 {
			errs = multierror.Append(errs, at.Key(k).Breaks("%q is no name of a tag; use letters, digits and . - _ : /", Clip(k)))
		}
		if v := tags[k]; !tagValue.MatchString(v) || len(v) > 253 {
			errs = multierror.Append(errs, at.Key(k).Breaks("%q is no value of a tag; use letters, digits and . - _ : and at least one of them", Clip(v)))
		}
	}
	return errs.ErrorOrNil()
}

// ValidateLabels wants labels that Kubernetes too would take; values may be as
// long as names are.
func ValidateLabels(at Path, labels map[string]string) error {
	var errs *multierror.Error
	for _, k := range slices.Sorted(maps.Keys(labels)) {
		prefix, name, slash := strings.Cut(k, "/")
		if !slash {
			prefix, name = "a", k
		}
		if !labelName.MatchString(name) || len(prefix) > 253 || !dnsSubdomain.MatchString(prefix) {
			errs = multierror.Append(errs, at.Key(k).Breaks("%q is no name of a label; write name or prefix/name, the name with letters, digits, - _ and dots, at most 63", Clip(k)))
		}
		if v := labels[k]; len(v) > 253 || !labelValue.MatchString(v) {
			errs = multierror.Append(errs, at.Key(k).Breaks("%q is no value of a label; use letters, digits, - _ and dots, beginning and ending with a letter or digit", Clip(v)))
		}
	}
	return errs.ErrorOrNil()
}

// reservedLabels are the labels that have a meaning, with the values that they take.
var reservedLabels = []struct {
	key    string
	values []string
}{
	{LabelOrigin, []string{"global", "zone"}},
	{LabelEnv, []string{"universal", "kubernetes"}},
	{LabelPolicyRole, []string{"system", "producer", "consumer", "workload-owner"}},
	{LabelEffect, []string{"shadow"}},
	{LabelDefault, []string{"true"}},
	{"kuma.io/kds-sync", []string{"enabled", "disabled"}},
}

// validateHead checks what the envelope says: name, mesh, labels.
func validateHead(h *head) []*Violation {
	var errs *multierror.Error
	o := &h.object
	errs = multierror.Append(errs, validateName(h.name, h.typ, o.Name))
	switch {
	case h.typ.Global && o.Mesh != "":
		errs = multierror.Append(errs, h.mesh.Breaks("a %s belongs to no mesh; leave it out", o.Kind))
	case o.Kind == KindMesh && o.Namespace != "":
		errs = multierror.Append(errs, h.name.Breaks("a %s belongs to no namespace; leave it out", o.Kind))
	case h.unnamed:
		errs = multierror.Append(errs, h.mesh.Breaks("is empty; name the mesh, or leave it out"))
	case !h.typ.Global && (!meshName.MatchString(o.Mesh) || len(o.Mesh) > 253):
		errs = multierror.Append(errs, h.mesh.Breaks("%q is no name of a mesh; use lower-case letters, digits and - _ .", Clip(o.Mesh)))
	}
	if o.Namespace != "" && !dnsSubdomain.MatchString(o.Namespace) {
		errs = multierror.Append(errs, h.name.Breaks("%q is no namespace; use lower-case letters, digits and -", Clip(o.Namespace)))
	}
	errs = multierror.Append(errs, ValidateLabels(h.labels, o.Labels))
	for _, r := range reservedLabels {
		if v, ok := o.Labels[r.key]; ok && !slices.Contains(r.values, v) {
			errs = multierror.Append(errs, h.labels.Key(r.key).OneOf(v, r.values...))
		}
	}
	if _, ok := o.Labels[LabelPolicyRole]; ok {
		errs = multierror.Append(errs, h.labels.Key(LabelPolicyRole).Warns("ReadOnly", "the role follows from the namespace and the targets, so the label has no effect; remove it"))
	}
	switch m, ok := o.Labels[LabelMesh]; {
	case !ok || h.typ.Global:
	case h.explicit && m != o.Mesh:
		errs = multierror.Append(errs, h.labels.Key(LabelMesh).Breaks("the label says mesh %q but the document %q; make them equal", m, o.Mesh))
	case m == "":
		errs = multierror.Append(errs, h.labels.Key(LabelMesh).Breaks("is empty; name the mesh, or leave it out"))
	}
	return Violations(errs.ErrorOrNil())
}

// validateName checks the name of an object of type typ.
func validateName(at Path, typ Type, name string) error {
	switch {
	case name == "":
		return at.Breaks("is missing; give the %s a name", typ.Name)
	case typ.DNSLabel && (len(name) > 63 || !dnsLabel.MatchString(name)):
		return at.Breaks("%q is no name of a %s; use lower-case letters, digits and -, beginning with a letter, at most 63", Clip(name), typ.Name)
	case len(name) > 253 || !dnsSubdomain.MatchString(name):
		return at.Breaks("%q is no name; use lower-case letters, digits, - and dots, at most 253", Clip(name))
	}
	return nil
}

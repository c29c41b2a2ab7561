package api

import (
	"maps"
	"net/netip"
	"regexp"
	"slices"
	"strings"

	"github.com/hashicorp/go-multierror"

	"github.com/weftmesh/weft/api/redact"
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
		return at.Breaks("%q is not a valid host name; use lower-case letters, digits, - and dots, at most 253, and no address", redact.Clip(name))
	}
	return nil
}

// ValidateTags wants names and values of Kuma's charset.
func ValidateTags(at Path, tags map[string]string) error {
	var errs *multierror.Error
	for _, k := range slices.Sorted(maps.Keys(tags)) {
		if !tagKey.MatchString(k) || len(k) > 253 {
			errs = multierror.Append(errs, at.Key(k).Breaks("%q is not a valid tag name; use letters, digits and . - _ : /", redact.Clip(k)))
		}
		if v := tags[k]; !tagValue.MatchString(v) || len(v) > 253 {
			errs = multierror.Append(errs, at.Key(k).Breaks("%q is not a valid tag value; use letters, digits and . - _ : and at least one of them", redact.Clip(v)))
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
			errs = multierror.Append(errs, at.Key(k).Breaks("%q is not a valid label name; write name or prefix/name, the name with letters, digits, - _ and dots, at most 63", redact.Clip(k)))
		}
		if v := labels[k]; len(v) > 253 || !labelValue.MatchString(v) {
			errs = multierror.Append(errs, at.Key(k).Breaks("%q is not a valid label value; use letters, digits, - _ and dots, beginning and ending with a letter or digit", redact.Clip(v)))
		}
	}
	return errs.ErrorOrNil()
}

// ValidateName checks the name of an object of type typ.
func ValidateName(at Path, typ Type, name string) error {
	switch {
	case name == "":
		return at.Breaks("is missing; give the %s a name", typ.Name)
	case typ.DNSLabel && (len(name) > 63 || !dnsLabel.MatchString(name)):
		return at.Breaks("%q is not a valid name of a %s; use lower-case letters, digits and -, beginning with a letter, at most 63", redact.Clip(name), typ.Name)
	case len(name) > 253 || !dnsSubdomain.MatchString(name):
		return at.Breaks("%q is not a valid name; use lower-case letters, digits, - and dots, at most 253", redact.Clip(name))
	}
	return nil
}

// ValidateMeshName wants a name that a mesh may have.
func ValidateMeshName(at Path, name string) error {
	if !meshName.MatchString(name) || len(name) > 253 {
		return at.Breaks("%q is not a valid mesh name; use lower-case letters, digits and - _ .", redact.Clip(name))
	}
	return nil
}

// ValidateNamespace wants a name that a namespace may have.
func ValidateNamespace(at Path, name string) error {
	if !dnsSubdomain.MatchString(name) {
		return at.Breaks("%q is not a valid namespace; use lower-case letters, digits and -", redact.Clip(name))
	}
	return nil
}

// ValidatePortName wants a name that a port may have.
func ValidatePortName(at Path, name string) error {
	if !portName.MatchString(name) {
		return at.Breaks("%q is not a valid port name; use lower-case letters, digits and -, at most 63", redact.Clip(name))
	}
	return nil
}

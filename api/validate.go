package api

import (
	"net/netip"

	"github.com/hashicorp/go-multierror"

	"github.com/weftmesh/weft/api/hostname"
	"github.com/weftmesh/weft/api/redact"
)

// ValidatePort wants 1..65535.
func ValidatePort(at Path, port uint32) error {
	if port < 1 || port > 65535 {
		return at.Breaks("%d is not a valid port; write a number from 1 to 65535", port)
	}
	return nil
}

// validateIP wants an address.
func validateIP(at Path, ip string) error {
	if _, err := netip.ParseAddr(ip); err != nil {
		return at.Breaks("%q is not an IP address; write one such as 10.0.0.1", redact.Clip(ip))
	}
	return nil
}

// validateHost wants an address or a DNS name.
func validateHost(at Path, host string) error {
	if _, err := netip.ParseAddr(host); err == nil {
		return nil
	}
	if ValidateHostname(at, host) != nil {
		return at.Breaks("%q is neither an IP address nor a host name; write one of them", redact.Clip(host))
	}
	return nil
}

// validateWord wants one of words, or nothing.
func validateWord(at Path, word string, words ...string) error {
	for _, w := range words {
		if w == word || word == "" {
			return nil
		}
	}
	return at.OneOf(word, words...)
}

// validateSelector checks the labels of a selector.
func validateSelector(at Path, s *LabelSelector) error {
	if s == nil {
		return nil
	}
	return ValidateLabels(at.Field("matchLabels"), s.MatchLabels)
}

// Validate checks the selector and the template.
func (g *HostnameGenerator) Validate(at Path) error {
	var errs *multierror.Error
	n := 0
	if s := g.Selector; s != nil {
		here := at.Field("selector")
		for _, one := range []struct {
			name string
			*LabelSelector
		}{{"meshService", s.MeshService}, {"meshExternalService", s.MeshExternalService}, {"meshMultiZoneService", s.MeshMultiZoneService}} {
			if one.LabelSelector != nil {
				n++
				errs = multierror.Append(errs, validateSelector(here.Field(one.name), one.LabelSelector))
			}
		}
	}
	if n != 1 {
		errs = multierror.Append(errs, at.Field("selector").Breaks("chooses %d kinds of services; write exactly one of meshService, meshExternalService, meshMultiZoneService", n))
	}
	if g.Template == "" {
		errs = multierror.Append(errs, at.Field("template").Breaks("is missing; write one such as {{ .DisplayName }}.svc.mesh.local"))
	} else if _, err := hostname.Parse(g.Template); err != nil {
		errs = multierror.Append(errs, at.Field("template").Breaks("%s", err))
	}
	return errs.ErrorOrNil()
}

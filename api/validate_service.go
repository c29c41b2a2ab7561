package api

import (
	"strconv"

	"github.com/hashicorp/go-multierror"

	"github.com/weftmesh/weft/api/redact"
)

// protocols are those that a port may name.
var protocols = []string{"tcp", "http", "http2", "grpc"}

// Validate checks a service (spec/kuma.md 1.5).
func (s *MeshService) Validate(at Path) error {
	var errs *multierror.Error
	here, n := at.Field("selector"), 0
	if sel := s.Selector; sel != nil {
		if sel.DataplaneLabels != nil {
			n++
			errs = multierror.Append(errs, validateSelector(here.Field("dataplaneLabels"), sel.DataplaneLabels))
		}
		if sel.DataplaneRef != nil {
			n++
			if sel.DataplaneRef.Name == "" {
				errs = multierror.Append(errs, here.Field("dataplaneRef").Field("name").Breaks("is missing; write the name of a Dataplane"))
			}
		}
		if len(sel.DataplaneTags) > 0 {
			n++
			errs = multierror.Append(errs, ValidateTags(here.Field("dataplaneTags"), sel.DataplaneTags))
		}
	}
	switch {
	case n > 1:
		errs = multierror.Append(errs, here.Breaks("dataplaneLabels, dataplaneRef and dataplaneTags exclude each other; keep one"))
	case n == 0:
		errs = multierror.Append(errs, here.Warns("NoEndpoints", "the service selects no dataplane, so it has no endpoints; write dataplaneLabels, dataplaneRef or dataplaneTags"))
	}
	errs = multierror.Append(errs, validatePorts(at.Field("ports"), s.Ports), validateWord(at.Field("state"), s.State, "Available", "Unavailable"))
	for i, id := range s.Identities {
		errs = multierror.Append(errs, validateIdentity(at.Field("identities").Index(i), id))
	}
	return errs.ErrorOrNil()
}

func validateIdentity(at Path, id ServiceIdentity) error {
	if id.Type != "SpiffeID" && id.Type != "ServiceTag" {
		return at.Field("type").OneOf(id.Type, "SpiffeID", "ServiceTag")
	}
	if id.Value == "" {
		return at.Field("value").Breaks("is missing; write the identity")
	}
	return nil
}

// validatePorts checks ports that are told apart by number and by name.
func validatePorts(at Path, ports []ServicePort) error {
	var errs *multierror.Error
	numbers, names := map[uint32]bool{}, map[string]bool{}
	for i, p := range ports {
		here := at.Index(i)
		errs = multierror.Append(errs, ValidatePort(here.Field("port"), p.Port), validateWord(here.Field("appProtocol"), p.AppProtocol, append(protocols, "kafka")...))
		if p.TargetPort != nil && p.TargetPort.Name == "" {
			errs = multierror.Append(errs, ValidatePort(here.Field("targetPort"), p.TargetPort.Int))
		}
		if numbers[p.Port] {
			errs = multierror.Append(errs, here.Field("port").Breaks("port %d is there already; write it once", p.Port))
		}
		numbers[p.Port] = true
		name := or(p.Name, strconv.Itoa(int(p.Port)))
		if !portName.MatchString(name) {
			errs = multierror.Append(errs, here.Field("name").Breaks("%q is not a valid port name; use lower-case letters, digits and -, at most 63", redact.Clip(name)))
		} else if names[name] && p.Name != "" {
			errs = multierror.Append(errs, here.Field("name").Breaks("%q is the name of another port; give each its own", name))
		}
		names[name] = true
	}
	return errs.ErrorOrNil()
}

// Validate checks an external service.
func (s *MeshExternalService) Validate(at Path) error {
	var errs *multierror.Error
	if s.Match == nil {
		errs = multierror.Append(errs, at.Field("match").Breaks("is missing; write match with type HostnameGenerator and port"))
	} else {
		here := at.Field("match")
		errs = multierror.Append(errs, validateWord(here.Field("type"), s.Match.Type, "HostnameGenerator"),
			ValidatePort(here.Field("port"), s.Match.Port), validateWord(here.Field("protocol"), s.Match.Protocol, protocols...))
	}
	if len(s.Endpoints) == 0 {
		errs = multierror.Append(errs, at.Field("endpoints").Warns("NoEndpoints", "the service has no endpoints, so every call fails; write at least one"))
	}
	for i, e := range s.Endpoints {
		here := at.Field("endpoints").Index(i)
		errs = multierror.Append(errs, validateHost(here.Field("address"), e.Address), ValidatePort(here.Field("port"), e.Port))
		if e.Priority > 128 {
			errs = multierror.Append(errs, here.Field("priority").Breaks("%d is too large; at most 128", e.Priority))
		}
	}
	if s.TLS != nil {
		errs = multierror.Append(errs, s.TLS.validate(at.Field("tls")))
	}
	return errs.ErrorOrNil()
}

func (t *ExternalTLS) validate(at Path) error {
	var errs *multierror.Error
	if t.Version != nil {
		versions := []string{"TLSAuto", "TLS10", "TLS11", "TLS12", "TLS13"}
		errs = multierror.Append(errs, validateWord(at.Field("version").Field("min"), t.Version.Min, versions...), validateWord(at.Field("version").Field("max"), t.Version.Max, versions...))
		if t.Version.Min > t.Version.Max && t.Version.Max != "" && t.Version.Max != "TLSAuto" && t.Version.Min != "TLSAuto" {
			errs = multierror.Append(errs, at.Field("version").Field("min").Breaks("%s is above max %s; swap them", redact.Clip(t.Version.Min), redact.Clip(t.Version.Max)))
		}
	}
	v := t.Verification
	if v == nil {
		return errs.ErrorOrNil()
	}
	here := at.Field("verification")
	errs = multierror.Append(errs, validateWord(here.Field("mode"), v.Mode, "Secured", "SkipSAN", "SkipCA", "SkipAll"))
	if v.ServerName != "" {
		errs = multierror.Append(errs, ValidateHostname(here.Field("serverName"), v.ServerName))
	}
	for i, s := range v.SubjectAltNames {
		errs = multierror.Append(errs, validateWord(here.Field("subjectAltNames").Index(i).Field("type"), s.Type, "Exact", "Prefix"))
		if s.Value == "" {
			errs = multierror.Append(errs, here.Field("subjectAltNames").Index(i).Field("value").Breaks("is missing; write the name"))
		}
	}
	if (v.ClientCert == nil) != (v.ClientKey == nil) {
		errs = multierror.Append(errs, here.Field("clientCert").Breaks("clientCert and clientKey belong together; write both or none"))
	}
	for _, s := range []struct {
		name string
		*DataSource
	}{{"caCert", v.CACert}, {"clientCert", v.ClientCert}, {"clientKey", v.ClientKey}} {
		if s.DataSource != nil {
			errs = multierror.Append(errs, s.DataSource.validate(here.Field(s.name)))
		}
	}
	return errs.ErrorOrNil()
}

// Validate checks a service of several zones.
func (s *MeshMultiZoneService) Validate(at Path) error {
	var errs *multierror.Error
	if s.Selector == nil || s.Selector.MeshService == nil || len(s.Selector.MeshService.MatchLabels) == 0 {
		errs = multierror.Append(errs, at.Field("selector").Breaks("is missing; write meshService.matchLabels"))
	} else {
		errs = multierror.Append(errs, validateSelector(at.Field("selector").Field("meshService"), s.Selector.MeshService))
	}
	if len(s.Ports) == 0 {
		errs = multierror.Append(errs, at.Field("ports").Breaks("is empty; write at least one port"))
	}
	errs = multierror.Append(errs, validatePorts(at.Field("ports"), s.Ports))
	return errs.ErrorOrNil()
}

package api

import (
	"net/netip"
	"strings"

	"github.com/hashicorp/go-multierror"

	"github.com/weftmesh/weft/api/redact"
)

// Validate checks a Service of Kubernetes.
func (s *Service) Validate(at Path) error {
	var errs *multierror.Error
	errs = multierror.Append(errs, validateWord(at.Field("type"), s.Type, clusterIP, "NodePort", "LoadBalancer", externalName))
	if len(s.Ports) == 0 && !s.External() && !s.Headless() {
		errs = multierror.Append(errs, at.Field("ports").Breaks("are missing; write at least one port"))
	}
	names := map[string]bool{}
	numbers := map[string]bool{}
	for i := range s.Ports {
		p, here := &s.Ports[i], at.Field("ports").Index(i)
		errs = multierror.Append(errs, p.validate(here))
		number := p.Protocol + " " + IntOrName{Int: p.Port}.String()
		if numbers[number] {
			errs = multierror.Append(errs, here.Field("port").Breaks("port %d is there already; give each port its own number", p.Port))
		}
		if names[p.Name] {
			errs = multierror.Append(errs, here.Field("name").Breaks("%q is the name of another port; give each port its own", redact.Clip(p.Name)))
		}
		numbers[number], names[p.Name] = true, true
	}
	if s.ClusterIP != noAddress {
		errs = multierror.Append(errs, clusterAddress(at.Field("clusterIP"), s.ClusterIP))
	}
	for i, ip := range s.ClusterIPs {
		if ip != noAddress {
			errs = multierror.Append(errs, clusterAddress(at.Field("clusterIPs").Index(i), ip))
		}
	}
	return errs.ErrorOrNil()
}

func (p *KubernetesPort) validate(at Path) error {
	errs := multierror.Append(nil, ValidatePort(at.Field("port"), p.Port))
	errs = multierror.Append(errs, validateWord(at.Field("protocol"), p.Protocol, "TCP", "UDP", "SCTP"))
	return errs.ErrorOrNil()
}

func clusterAddress(at Path, text string) error {
	if _, err := netip.ParseAddr(text); text != "" && err != nil {
		return at.Breaks("%q is not an IP address; write one, such as 10.96.0.10", redact.Clip(text))
	}
	return nil
}

// Validate checks an EndpointSlice of Kubernetes.
func (e *EndpointSlice) Validate(at Path) error {
	errs := multierror.Append(nil, validateWord(at.Field("addressType"), e.AddressType, "IPv4", "IPv6", "FQDN"))
	for i := range e.Endpoints {
		here := at.Field("endpoints").Index(i).Field("addresses")
		if len(e.Endpoints[i].Addresses) == 0 {
			errs = multierror.Append(errs, here.Breaks("are missing; write the address of the endpoint"))
		}
		for j, ip := range e.Endpoints[i].Addresses {
			if strings.HasPrefix(e.AddressType, "IP") {
				errs = multierror.Append(errs, clusterAddress(here.Index(j), ip))
			}
		}
	}
	for i, p := range e.Ports {
		if p.Port != 0 {
			errs = multierror.Append(errs, ValidatePort(at.Field("ports").Index(i).Field("port"), p.Port))
		}
	}
	return errs.ErrorOrNil()
}

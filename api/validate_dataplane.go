package api

import (
	"net/netip"
	"strconv"

	"github.com/hashicorp/go-multierror"

	"github.com/weftmesh/weft/api/redact"
)

// Validate checks a dataplane (spec/kuma.md 1.4).
func (d *Dataplane) Validate(at Path) error {
	var errs *multierror.Error
	if d.Metrics != nil {
		errs = multierror.Append(errs, unsupported(Warning, at.Field("metrics"), "weft takes no metrics from a workload; it has no effect, remove it"))
	}
	if d.Probes != nil {
		errs = multierror.Append(errs, unsupported(Warning, at.Field("probes"), "the sidecar of a pod answers its probes by itself, at the port of kuma.io/application-probe-proxy-port; it has no effect, remove it"))
	}
	at = at.Field("networking")
	n := d.Networking
	if n == nil {
		return multierror.Append(errs, at.Breaks("is missing; write networking with address and inbound"))
	}
	errs = multierror.Append(errs, n.address(at), n.gateway(at), n.inbounds(at))
	for i := range n.Outbound {
		errs = multierror.Append(errs, n.Outbound[i].validate(at.Field("outbound").Index(i)))
	}
	if n.TransparentProxying != nil {
		errs = multierror.Append(errs, n.TransparentProxying.validate(at.Field("transparentProxying")))
	}
	for i := range n.Listeners {
		errs = multierror.Append(errs, unsupported(Warning, at.Field("listeners").Index(i), "weft has no zone proxies; remove it"))
	}
	errs = multierror.Append(errs, n.admin(at))
	return errs.ErrorOrNil()
}

func (n *Networking) address(at Path) error {
	here := at.Field("address")
	ip, err := netip.ParseAddr(n.Address)
	switch {
	case n.Address == "":
		return here.Breaks("is missing; write the address at which others reach the dataplane")
	case err == nil && ip.IsUnspecified():
		return here.Breaks("%s is every address; write the one at which others reach the dataplane", n.Address)
	}
	var errs *multierror.Error
	if bad := validateHost(here, n.Address); bad != nil {
		errs = multierror.Append(errs, bad)
	} else if err != nil {
		errs = multierror.Append(errs, unsupported(Warning, here, "weft resolves no names, so nobody is sent to the dataplane; write its IP address"))
	}
	if n.AdvertisedAddress != "" {
		errs = multierror.Append(errs, validateHost(at.Field("advertisedAddress"), n.AdvertisedAddress),
			unsupported(Warning, at.Field("advertisedAddress"), "weft sends to address only; write the reachable address there"))
	}
	return errs.ErrorOrNil()
}

func (n *Networking) gateway(at Path) error {
	g := n.Gateway
	if g == nil {
		return nil
	}
	here := at.Field("gateway")
	var errs *multierror.Error
	errs = multierror.Append(errs, validateWord(here.Field("type"), g.Type, "DELEGATED", "BUILTIN"), ValidateTags(here.Field("tags"), g.Tags))
	if len(n.Inbound) > 0 {
		errs = multierror.Append(errs, at.Field("inbound").Breaks("a gateway has no inbounds; remove them or remove gateway"))
	}
	if len(g.Tags) > 0 && g.Tags[TagService] == "" {
		errs = multierror.Append(errs, here.Field("tags").Breaks("the tag %s is missing; write it or remove the tags", TagService))
	}
	if p := g.Tags[TagProtocol]; g.Type != "BUILTIN" && p != "" && p != "tcp" {
		errs = multierror.Append(errs, here.Field("tags").Key(TagProtocol).Breaks("a delegated gateway speaks tcp only; write tcp or remove it"))
	}
	if g.Type != "BUILTIN" && len(g.Listeners) > 0 {
		errs = multierror.Append(errs, here.Field("listeners").Breaks("a delegated gateway has no listeners; write type: BUILTIN for an edge dataplane, or remove them"))
	}
	if g.Type != "BUILTIN" && len(n.Listeners) > 0 {
		errs = multierror.Append(errs, at.Field("listeners").Breaks("a delegated gateway has no listeners; remove them, or remove gateway"))
	}
	errs = multierror.Append(errs, g.listeners(here.Field("listeners")))
	return errs.ErrorOrNil()
}

func (n *Networking) inbounds(at Path) error {
	var errs *multierror.Error
	names, addresses := map[string]bool{}, map[string]bool{}
	for i := range n.Inbound {
		in, here := &n.Inbound[i], at.Field("inbound").Index(i)
		errs = multierror.Append(errs, in.validate(here))
		name := in.Name
		if name == "" {
			name = strconv.Itoa(int(in.Port))
		}
		if names[name] && in.Name != "" {
			errs = multierror.Append(errs, here.Field("name").Breaks("%q is the name of another inbound; give each its own", redact.Clip(name)))
		}
		names[name] = true
		address, service := or(in.Address, n.Address), or(in.ServiceAddress, in.Address, n.Address)
		listen := address + " " + strconv.Itoa(int(in.Port))
		if addresses[listen] {
			errs = multierror.Append(errs, here.Field("port").Breaks("another inbound listens on port %d of %s; give each its own", in.Port, address))
		}
		addresses[listen] = true
		if in.ServiceAddress != "" && service == address && (in.ServicePort == in.Port || in.ServicePort == 0) {
			errs = multierror.Append(errs, here.Field("serviceAddress").Breaks("the proxy would call itself at %s:%d; write another serviceAddress or servicePort", address, in.Port))
		}
	}
	if n.Gateway == nil && len(n.Inbound) == 0 && len(n.Outbound) == 0 && len(n.Listeners) == 0 && n.TransparentProxying == nil {
		errs = multierror.Append(errs, at.Field("inbound").Warns(CodeNoEffect, "the dataplane neither serves nor calls anything; write inbound or outbound"))
	}
	return errs.ErrorOrNil()
}

func (in *Inbound) validate(at Path) error {
	var errs *multierror.Error
	errs = multierror.Append(errs, ValidatePort(at.Field("port"), in.Port),
		validateWord(at.Field("protocol"), in.Protocol, "tcp", "http", "http2", "grpc", "kafka"),
		validateWord(at.Field("tags").Key(TagProtocol), in.Tags[TagProtocol], "tcp", "http", "http2", "grpc", "kafka"),
		validateWord(at.Field("state"), in.State, "Ready", "NotReady", "Ignored"),
		ValidateTags(at.Field("tags"), in.Tags))
	if in.ServicePort != 0 {
		errs = multierror.Append(errs, ValidatePort(at.Field("servicePort"), in.ServicePort))
	}
	for _, a := range []struct{ name, ip string }{{"address", in.Address}, {"serviceAddress", in.ServiceAddress}} {
		if a.ip != "" {
			errs = multierror.Append(errs, validateIP(at.Field(a.name), a.ip))
		}
	}
	if len(in.Tags) > 0 && in.Tags[TagService] == "" {
		errs = multierror.Append(errs, at.Field("tags").Breaks("the tag %s is missing; write it or remove the tags", TagService))
	}
	if in.Name != "" && !portName.MatchString(in.Name) {
		errs = multierror.Append(errs, at.Field("name").Breaks("%q is not a valid port name; use lower-case letters, digits and -, at most 63", redact.Clip(in.Name)))
	}
	if in.ServiceProbe != nil {
		errs = multierror.Append(errs, unsupported(Warning, at.Field("serviceProbe"), "weft does not probe workloads yet; write state or health.ready"))
	}
	return errs.ErrorOrNil()
}

func (o *Outbound) validate(at Path) error {
	var errs *multierror.Error
	errs = multierror.Append(errs, ValidatePort(at.Field("port"), o.Port), ValidateTags(at.Field("tags"), o.Tags))
	if o.Address != "" {
		errs = multierror.Append(errs, validateIP(at.Field("address"), o.Address))
	}
	switch {
	case o.Hosts != nil && (o.BackendRef != nil || len(o.Tags) > 0):
		errs = multierror.Append(errs, at.Field("hosts").Breaks("hosts stands alone; remove it, or backendRef and tags"))
	case o.Hosts != nil:
		errs = multierror.Append(errs, ValidatePort(at.Field("hosts").Field("port"), o.Hosts.Port))
	case o.BackendRef != nil && len(o.Tags) > 0:
		errs = multierror.Append(errs, at.Field("tags").Breaks("tags and backendRef exclude each other; remove one of them"))
	case o.BackendRef != nil:
		errs = multierror.Append(errs, o.BackendRef.validate(at.Field("backendRef"), true))
	case o.Tags[TagService] == "":
		errs = multierror.Append(errs, at.Breaks("the outbound leads nowhere; write backendRef, or tags with %s", TagService))
	}
	return errs.ErrorOrNil()
}

// validate checks a ref to a real destination; outbounds need its port.
func (r *OutboundRef) validate(at Path, needsPort bool) error {
	var errs *multierror.Error
	ref := TargetRef{Kind: r.Kind, Name: r.Name, Namespace: r.Namespace, Labels: r.Labels}
	errs = multierror.Append(errs, ValidateTargetRef(at, ref, RefRules{Kinds: []string{KindMeshService, KindMeshExternalService, KindMeshMultiZoneService}}))
	switch {
	case r.Port != nil:
		errs = multierror.Append(errs, ValidatePort(at.Field("port"), *r.Port))
	case needsPort && r.Kind != KindMeshExternalService:
		errs = multierror.Append(errs, at.Field("port").Breaks("is missing; write the port of the %s", or(r.Kind, "service")))
	}
	return errs.ErrorOrNil()
}

func (t *TransparentProxying) validate(at Path) error {
	var errs *multierror.Error
	errs = multierror.Append(errs, validateWord(at.Field("ipFamilyMode"), t.IPFamilyMode, "DualStack", "IPv4", "IPv6"))
	for _, p := range []struct {
		name string
		port uint32
	}{{"redirectPortInbound", t.RedirectPortInbound}, {"redirectPortOutbound", t.RedirectPortOutbound}} {
		if p.port > 65535 {
			errs = multierror.Append(errs, ValidatePort(at.Field(p.name), p.port))
		}
	}
	if len(t.ReachableServices) > 0 {
		errs = multierror.Append(errs, unsupported(Warning, at.Field("reachableServices"), "weft limits what is reached by reachableBackends only; write the services there"))
	}
	if len(t.DirectAccessServices) > 0 {
		errs = multierror.Append(errs, unsupported(Warning, at.Field("directAccessServices"), "weft gives no listener to each endpoint; call the service, or remove it"))
	}
	if t.ReachableBackends != nil {
		for i := range t.ReachableBackends.Refs {
			errs = multierror.Append(errs, t.ReachableBackends.Refs[i].validate(at.Field("reachableBackends").Field("refs").Index(i), false))
		}
	}
	return errs.ErrorOrNil()
}

// admin wants a port of its own.
func (n *Networking) admin(at Path) error {
	if n.Admin == nil || n.Admin.Port == 0 {
		return nil
	}
	here, port := at.Field("admin").Field("port"), n.Admin.Port
	var errs *multierror.Error
	errs = multierror.Append(errs, ValidatePort(here, port))
	taken := func(field string, i int, address string, p uint32) {
		if ip, err := netip.ParseAddr(address); p == port && err == nil && (ip.IsLoopback() || ip.IsUnspecified()) {
			errs = multierror.Append(errs, here.Breaks("%s[%d] listens on port %d of loopback too; choose another port", field, i, port))
		}
	}
	for i, in := range n.Inbound {
		taken("inbound", i, or(in.Address, n.Address), in.Port)
		taken("inbound", i, or(in.ServiceAddress, in.Address, n.Address), in.ServicePort)
	}
	if n.Gateway != nil {
		for i, l := range n.Gateway.Listeners {
			taken("gateway.listeners", i, n.Address, l.Port)
		}
	}
	for i, o := range n.Outbound {
		taken("outbound", i, or(o.Address, "127.0.0.1"), o.Port)
	}
	return errs.ErrorOrNil()
}

// or is the first text that is not empty.
func or(texts ...string) string {
	for _, t := range texts {
		if t != "" {
			return t
		}
	}
	return ""
}

package skipper

import (
	"maps"
	"slices"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/redact"
	"github.com/weftmesh/weft/route"
)

func preserveHost(c *call, e *effect) error {
	switch c.text(0) {
	case "true", "false":
		e.host, e.hostAt = new(c.text(0) == "true"), c.at
		return nil
	}
	return c.wrong("%q is neither true nor false; write one of them", redact.Clip(c.text(0)))
}

func dynamicURL(c *call, e *effect) error {
	if err := plain(c, c.text(0)); err != nil {
		return err
	}
	a, err := readAddress(c.at, c.text(0))
	e.dynamic = &a
	return err
}

// leadOutside puts the addresses that the filters of the route name in the place of its
// dynamic backends, and wants filters on addresses to have some.
func (p *planned) leadOutside() (errs []error) {
	e := p.effects[service]
	if e == nil {
		return nil
	}
	var all []*route.BackendRef
	for i := range p.parts {
		for j := range p.parts[i].backends {
			all = append(all, &p.parts[i].backends[j])
		}
	}
	dynamics := 0
	for _, b := range all {
		if b.Target.Kind != api.KindAddress || b.Outside != nil {
			continue
		}
		if dynamics++; e.dynamic == nil {
			return []error{refused(b.Field, unsupportedBackend, "where a backend of type dynamic is has to be the same for every request, or it would open every address to those who send them; "+
				"the RouteGroup is not applied: write the filter setDynamicBackendUrl with an address, or a backend of type network")}
		}
		made := toAddresses([]addressAt{*e.dynamic})
		b.Target, b.Outside = made.Target, made.Outside
	}
	if e.dynamic != nil {
		if p.addresses = append(p.addresses, *e.dynamic); dynamics == 0 {
			errs = append(errs, refused(e.dynamic.at, unsupportedFilter, "setDynamicBackendUrl is for a backend of type dynamic, and the route has none; write one, or remove the filter"))
		}
	}
	if inMesh := func(b *route.BackendRef) bool { return b.Outside == nil }; e.host != nil && !*e.host && slices.ContainsFunc(all, inMesh) {
		errs = append(errs, refused(e.hostAt, unsupportedFilter, "a service has no host of its own to put in place of the client's; write setRequestHeader(\"Host\", …), or remove preserveHost"))
	}
	return errs
}

// checkHosts wants the host that filters fill in, or take from a header, to be the one that
// Envoy has.
func (p *planned) checkHosts() (errs []error) {
	for _, kind := range slices.Sorted(maps.Keys(p.effects)) {
		e := p.effects[kind]
		own := slices.ContainsFunc(p.parts, func(x part) bool { return e.ownHost(x.backends) })
		outside := slices.ContainsFunc(p.parts, func(x part) bool {
			return slices.ContainsFunc(x.backends, func(b route.BackendRef) bool { return b.Outside != nil })
		})
		w := route.LastRewrite(e.all())
		switch {
		case e.hostIn != "" && (own || w != nil):
			errs = append(errs, refused(e.hostIn, unsupportedFilter, "the backend sees another host, and Envoy fills answers in with that one; the RouteGroup is not applied, so write the host"))
		case outside && w != nil && w.HostHeader != "" && (e.host == nil || !*e.host):
			errs = append(errs, refused(p.origin.Field.Field("filters"), unsupportedFilter, "where header %s is missing the backend would see the client's host and not its own; the RouteGroup is not applied, so write the host, or preserveHost(\"true\") too", w.HostHeader))
		}
	}
	return errs
}

// ownHost reports whether backends at addresses see their own host: unless the client's
// is kept, or another is set.
func (e *effect) ownHost(backends []route.BackendRef) bool {
	return (e.host == nil || !*e.host) && route.LastRewrite(e.all()) == nil && slices.ContainsFunc(backends, func(b route.BackendRef) bool { return b.Outside != nil })
}

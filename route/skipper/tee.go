package skipper

import (
	"cmp"

	"github.com/weftmesh/weft/route"
)

// tee copies every request to an address. What comes of the copies nobody waits for.
func tee(c *call, e *effect) error {
	if err := plain(c, c.text(0)); err != nil {
		return err
	}
	a, err := readAddress(c.at, c.text(0))
	if err != nil {
		return err
	}
	ref := toAddresses([]addressAt{a})
	ref.Weight, ref.Field = 1, c.at
	e.copies = append(e.copies, a)
	e.teeAt = cmp.Or(e.teeAt, c.at)
	e.add(c, route.Filter{Mirror: &route.Mirror{Backend: ref, Percent: 100, Host: a.Authority(a.tls)}})
	return nil
}

// mirrors are the refs to which the route copies requests.
func (p *planned) mirrors() []route.BackendRef {
	e := p.effects[service]
	if e == nil {
		return nil
	}
	var out []route.BackendRef
	for _, c := range e.changes {
		if c.Mirror != nil {
			out = append(out, c.Mirror.Backend)
		}
	}
	return out
}

// checkCopies wants nothing to change a request behind a copy of it: Envoy copies it as it
// goes on.
func (e *effect) checkCopies() (errs []error) {
	behind := false
	for _, c := range e.changes {
		if behind = behind || c.Mirror != nil; behind && (c.RequestHeaders != nil || c.Rewrite != nil) {
			errs = append(errs, refused(c.at, unsupportedFilter, "the request is changed behind %s, and Envoy copies it as it goes on; the RouteGroup is not applied, so write tee behind this filter", e.teeAt))
		}
	}
	if e.path != nil && e.path.copied {
		errs = append(errs, refused(e.path.at, unsupportedFilter, "the path is changed behind %s, and Envoy copies a request as it goes on; the RouteGroup is not applied, so write tee behind this filter", e.teeAt))
	}
	return errs
}

// tee is a copy as the group says it.
func (p *printer) tee(m *route.Mirror) string {
	if m.Backend.Outside == nil || len(m.Backend.Outside.Addresses) != 1 || m.Percent != 100 || m.Host == "" {
		p.Fail(route.UnsaidFilter, "a %s copies all requests, and to an address", Kind)
		return ""
	}
	return say("tee", m.Backend.Outside.URL(m.Backend.Outside.Addresses[0]))
}

package skipper

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/weftmesh/weft/route"
)

// backend is the name of a backend of the group, which may be there already.
func (p *printer) backend(b Backend) string {
	base := b.Name
	for n := 2; ; n++ {
		i := slices.IndexFunc(p.group.Backends, func(x Backend) bool { return x.Name == b.Name })
		if i < 0 {
			p.group.Backends = append(p.group.Backends, b)
			return b.Name
		}
		x := p.group.Backends[i]
		if x.ServiceName == b.ServiceName && x.ServicePort == b.ServicePort && x.Type == b.Type && x.Algorithm == b.Algorithm && x.Address == b.Address && slices.Equal(x.Endpoints, b.Endpoints) {
			return b.Name
		}
		b.Name = fmt.Sprintf("%s-%d", base, n)
	}
}

// backends are the services of a rule with their weights; hashable is as for written.
func (p *printer) backends(do *route.Forward, hashable bool) []BackendRef {
	var out []BackendRef
	for i := range do.Backends {
		b := &do.Backends[i]
		if len(b.Filters) > 0 {
			p.Fail(route.UnsaidFilter, "a %s has no filters for one of several backends", Kind)
		}
		name := p.backend(p.written(b, hashable))
		if at := slices.IndexFunc(out, func(x BackendRef) bool { return x.BackendName == name }); at >= 0 {
			*out[at].Weight += b.Weight
			continue
		}
		out = append(out, BackendRef{BackendName: name, Weight: new(b.Weight)})
	}
	if len(out) == 1 {
		out[0].Weight = nil
	}
	return out
}

// written is a backend as the group says it; hashable says that its route can say by what
// requests are told apart.
func (p *printer) written(b *route.BackendRef, hashable bool) Backend {
	out := Backend{Name: b.Target.Name, Type: service, ServiceName: b.Target.Name, Algorithm: algorithmOf(b.Balance)}
	if hashable && hashed(*b) {
		out.Algorithm = consistentHash
	}
	if o := b.Outside; o != nil {
		out.ServiceName, out.Name, out.Type = "", strings.Trim(notInName.ReplaceAllString(o.Addresses[0].Authority(o.TLS), "-"), "-"), network
		if out.Address = o.URL(o.Addresses[0]); len(o.Addresses) > 1 || out.Algorithm != "" {
			out.Type, out.Address = lb, ""
			for _, a := range o.Addresses {
				out.Endpoints = append(out.Endpoints, o.URL(a))
			}
		}
		return out
	}
	out.ServicePort, _ = p.ServicePort("a "+Kind, b, "")
	return out
}

var notInName = regexp.MustCompile(`[^a-z0-9]+`)

// algorithmOf is the word for a balance; empty where it is round robin, or there is none.
func algorithmOf(b route.Balance) string {
	switch b.Algorithm {
	case route.Random:
		return "random"
	case route.LeastRequest:
		return "powerOfRandomNChoices"
	case route.LeastRequestOfAll:
		return "leastRequests"
	}
	return ""
}

// fadeIn is how the new endpoints of backends begin, which the group says for all of them.
func (p *printer) fadeIn(do *route.Forward) []string {
	slow := func(b route.BackendRef) bool {
		x := do.Backends[0].Balance
		return b.Balance.SlowStart != x.SlowStart || b.Balance.Exponent != x.Exponent || b.Balance.LeastWeight != x.LeastWeight
	}
	switch b := do.Backends[0].Balance; {
	case slices.ContainsFunc(do.Backends, slow):
		p.Fail(route.UnsaidFilter, "a %s says of all backends of a route alike how new endpoints begin", Kind)
	case b.SlowStart > 0 && b.LeastWeight > 0:
		p.Fail(route.UnsaidFilter, "new endpoints of a %s begin with nothing, and these with %d%%", Kind, b.LeastWeight)
	case b.SlowStart > 0 && b.Exponent != 1:
		return []string{say("fadeIn", b.SlowStart.String(), b.Exponent)}
	case b.SlowStart > 0:
		return []string{say("fadeIn", b.SlowStart.String())}
	}
	return nil
}

// hosts is whose host the backends see: addresses their own where nothing else is said,
// services that of the client.
func (p *printer) hosts(do *route.Forward, w *route.Rewrite) []string {
	outside := func(b route.BackendRef) bool { return b.Outside != nil }
	own := w != nil && w.BackendsHost
	switch {
	case own && !slices.ContainsFunc(do.Backends, outside):
		p.Fail(route.UnsaidFilter, "a %s takes the host from no service; it writes one", Kind)
	case !own && (w == nil || w.Hostname == "") && slices.ContainsFunc(do.Backends, outside):
		return []string{say("preserveHost", "true")}
	}
	return nil
}

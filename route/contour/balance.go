package contour

import (
	"slices"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/redact"
	"github.com/weftmesh/weft/route"
)

// affinityCookie is that of the strategy Cookie.
const affinityCookie = "X-Contour-Session-Affinity"

// balance gives the services of the route the strategy that it has
// (spec/httpproxy.md 6.9), and is by what a hash tells requests apart.
func (m *routeMaker) balance() []route.HashKey {
	p := m.spec.LoadBalancerPolicy
	if p == nil {
		return nil
	}
	at := m.at.Field("loadBalancerPolicy")
	var keys []route.HashKey
	algorithm := route.RoundRobin
	switch p.Strategy {
	case "", "RoundRobin":
	case "Random":
		algorithm = route.Random
	case "WeightedLeastRequest":
		algorithm = route.LeastRequest
	case "Cookie":
		algorithm, keys = route.RingHash, []route.HashKey{{Cookie: affinityCookie, Session: true}}
	case "RequestHash":
		if keys = m.hashKeys(p.RequestHashPolicies, at.Field("requestHashPolicies")); len(keys) > 0 {
			algorithm = route.RingHash
		}
	default:
		m.warns(specError, ignored, at.Field("strategy"), "%q is no strategy, so the services are balanced by RoundRobin; write Cookie, Random, RequestHash, RoundRobin or WeightedLeastRequest",
			redact.Clip(p.Strategy))
	}
	if p.Strategy != "RequestHash" && len(p.RequestHashPolicies) > 0 {
		m.warns(specError, ignored, at.Field("requestHashPolicies"), "has no effect without the strategy RequestHash; write it, or remove the policies")
	}
	for i := range m.backends {
		m.backends[i].Balance.Algorithm = algorithm
	}
	return keys
}

// hashKeys are those of the sound policies; the others are left out.
func (m *routeMaker) hashKeys(list []RequestHashPolicy, at api.Path) []route.HashKey {
	var out []route.HashKey
	for i := range list {
		key, why := list[i].key()
		same := func(k route.HashKey) bool { k.Last = key.Last; return k == key }
		if why == "" && slices.ContainsFunc(out, same) {
			why = "stands before already; remove it"
		}
		if why != "" {
			m.warns(specError, ignored, at.Index(i), "is left out: it %s", why)
			continue
		}
		out = append(out, key)
	}
	if len(out) == 0 {
		m.warns(specError, ignored, at, "tells no requests apart, so the services are balanced by RoundRobin; write one that does")
	}
	return out
}

// key is what the policy means, or why it means nothing.
func (p *RequestHashPolicy) key() (key route.HashKey, why string) {
	key.Last = p.Terminal
	n := 0
	if p.HashSourceIP {
		key.Source = true
		n++
	}
	if h := p.HeaderHashOptions; h != nil {
		key.Header = strings.ToLower(h.HeaderName)
		if err := route.CheckHeaderName("", key.Header); err != nil {
			why = "names no header; write headerName"
		}
		n++
	}
	if q := p.QueryParameterOptions; q != nil {
		if key.Query = strings.ToLower(q.ParameterName); key.Query == "" {
			why = "names no parameter; write parameterName"
		}
		n++
	}
	if n != 1 {
		why = "must have exactly one of hashSourceIP, headerHashOptions, queryParameterHashOptions"
	}
	return key, why
}

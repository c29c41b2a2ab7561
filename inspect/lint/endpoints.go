package lint

import (
	"cmp"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/route/match"
	"github.com/weftmesh/weft/sim"
	"github.com/weftmesh/weft/sim/balance"
	"github.com/weftmesh/weft/sim/permission"
	"github.com/weftmesh/weft/xds/envoy"
)

// ofEndpoints are codes about which endpoints get requests, and how many.
var ofEndpoints = []CodeInfo{
	{"AffinityAbsent", api.Warning, "No endpoint shares a tag with those who call",
		"`affinityTags` prefer endpoints that have the same value of a tag as the caller, or the same label. No caller shares one of them with any endpoint, so all endpoints count alike.",
		"Name tags that both have, as that of a node or a rack.", affinityAbsent},
	{"EjectsAll", api.Warning, "Outlier detection may leave out all endpoints",
		"With `maxEjectionPercent: 100` and `healthyPanicThreshold: 0` all endpoints that fail are left out, and requests are answered 503 until one comes back.",
		"Leave the panic threshold out, so that all are used where too few are left, or lower the percentage.", ejectsAll},
	{"EjectsNobody", api.Warning, "Outlier detection leaves nobody out",
		"`maxEjectionPercent` is 0, or fewer endpoints are there than a detector that compares them wants (`minimumHosts`): failures are counted, and nothing follows from it.",
		"Raise the percentage, lower `minimumHosts`, or count failures in a row (`totalFailures`), which needs one endpoint.", ejectsNobody},
	{"HashWithoutRing", api.Warning, "A hash is taken, and nobody is chosen by it",
		"`hashPolicies` have an effect where an endpoint is chosen by RingHash or Maglev. None of the backends of the route is.",
		"Set `loadBalancer.type` for the service, or remove the list.", hashWithoutRing},
	{"LimitBelow", api.Info, "The called side takes less than callers may send",
		"`maxRequests` was raised for those who call, and the inbound of the called dataplane has a lower limit, by itself 1024: what is over that is answered 503 there.",
		"Raise it for the inbound too, in `rules` of a MeshCircuitBreaker that selects the called dataplanes.", limitBelow},
	{"LimitIdle", api.Info, "A limit of connections hardly limits HTTP/2",
		"In HTTP/2 and gRPC one connection carries many requests, so that `maxConnections` is hardly ever reached.",
		"Limit `maxRequests`.", limitIdle},
	{"ProbeRefused", api.Warning, "The called side refuses health checks",
		"A health check is a request by the caller's identity. A MeshTrafficPermission of the called side lets that in to other paths alone, so that every endpoint fails its check, and all of them are used or none.",
		"Allow `GET` of the path for those who call, or check by `tcp`.", probeRefused},
	{"ProbeSlow", api.Warning, "A health check may take longer than its interval",
		"`timeout` is longer than `interval`: an endpoint that does not answer is found out later than the interval says, since the next check waits.",
		"Make the timeout shorter than the interval.", probeSlow},
	{"ProbeStorm", api.Info, "Endpoints are checked more often than once a second",
		"Every caller checks every endpoint by itself. All of them together ask one endpoint more than once a second.",
		"Make the interval longer, or select fewer callers.", probeStorm},
	{"RingWithoutHash", api.Warning, "Endpoints are chosen by a hash of nothing",
		"RingHash and Maglev choose by chance where a request has nothing that `hashPolicies` name, and here there are none.",
		"Write `hashPolicies`, or choose by RoundRobin or LeastRequest.", ringWithoutHash},
}

// clusterRow is how a dataplane calls a destination; the first of those that call it alike.
type clusterRow struct {
	from    *effective.Resolved
	use     *effective.ClusterUse
	callers int
}

// clusters are the clusters that somebody calls, each with how many do.
func (v *view) clusters() (out []*clusterRow) {
	at := map[*effective.Cluster]*clusterRow{}
	for r := range v.model.Dataplanes("") {
		for i := range r.Clusters {
			use := &r.Clusters[i]
			if x := at[use.Cluster]; x != nil {
				x.callers++
				continue
			}
			at[use.Cluster] = &clusterRow{r, use, 1}
			out = append(out, at[use.Cluster])
		}
	}
	return out
}

// settingOf is the field at a path of what holds; false where nobody says it.
func settingOf(e *policies.Effective, path string) (setting, bool) {
	f, ok := e.Get(path)
	if !ok {
		return setting{}, false
	}
	return setting{f.Winner(), path}, true
}

// saying yields what of a kind of conf is said of clusters.
func saying[T any](v *view, yield func(x *clusterRow, e *policies.Effective, c T)) {
	for _, x := range v.clusters() {
		for _, e := range x.use.Policies {
			if c, ok := e.Conf.(T); ok {
				yield(x, e, c)
			}
		}
	}
}

func ejectsAll(v *view) (found []*api.Violation) {
	saying(v, func(x *clusterRow, e *policies.Effective, c sim.Ejector) {
		if how, ok := c.Ejects(); ok && how.All != "" {
			s, _ := settingOf(e, how.All)
			v.gather(&found, v.about(s, "EjectsAll", "all endpoints of %s may be left out at one time, and none is used then; leave healthyPanicThreshold out, or lower maxEjectionPercent", x.use.Destination.Name))
		}
	})
	return found
}

func ejectsNobody(v *view) (found []*api.Violation) {
	saying(v, func(x *clusterRow, e *policies.Effective, c sim.Ejector) {
		how, ok := c.Ejects()
		switch {
		case !ok:
		case how.Nobody != "":
			s, _ := settingOf(e, how.Nobody)
			v.gather(&found, v.about(s, "EjectsNobody", "failures of endpoints of %s are counted, and nobody is left out; write at least 1", x.use.Destination.Name))
		case x.use.Endpoints != nil:
			for _, l := range how.Compared {
				if s, ok := settingOf(e, l.Field); ok && len(x.use.List) < int(l.Most) {
					v.gather(&found, v.about(s, "EjectsNobody", "%s has fewer endpoints (%d) than the %d from which they are compared; write fewer, or detectors.totalFailures", x.use.Destination.Name, len(x.use.List), l.Most))
				}
			}
		}
	})
	return found
}

func limitIdle(v *view) (found []*api.Violation) {
	saying(v, func(x *clusterRow, e *policies.Effective, c sim.Breaker) {
		p := x.use.Protocol()
		if p != api.HTTP2 && p != api.GRPC && !(x.use.HTTP2 && p.HTTPLike()) {
			return
		}
		connections, _ := c.Limits()
		if s, ok := settingOf(e, connections.Field); ok && connections.Most != envoy.MaxConnections {
			v.gather(&found, v.about(s, "LimitIdle", "%s is called in HTTP/2, where one connection has many requests; limit maxRequests", x.use.Destination.Name))
		}
	})
	return found
}

// mostEndpoints is how many endpoints of a cluster are looked at.
const mostEndpoints = 100

// inbounds yields the inbounds behind the endpoints of a cluster.
func (v *view) inbounds(u *effective.ClusterUse, yield func(*effective.Inbound) bool) {
	if u.Endpoints == nil {
		return
	}
	for i := range u.List[:min(len(u.List), mostEndpoints)] {
		e := &u.List[i]
		r, ok := v.model.Dataplane(e.Dataplane)
		if !ok {
			continue
		}
		for _, in := range r.Inbounds {
			if in.Port == e.Port && in.Address == e.Address && !yield(in.Inbound) {
				return
			}
		}
	}
}

func limitBelow(v *view) (found []*api.Violation) {
	saying(v, func(x *clusterRow, e *policies.Effective, c sim.Breaker) {
		_, requests := c.Limits()
		s, ok := settingOf(e, requests.Field)
		if !ok || !x.use.Protocol().HTTPLike() || requests.Most <= envoy.MaxRequests {
			return
		}
		v.inbounds(x.use, func(in *effective.Inbound) bool {
			most := uint32(envoy.MaxRequests)
			for _, own := range in.Policies {
				if b, ok := own.Conf.(sim.Breaker); ok {
					_, l := b.Limits()
					most = cmp.Or(l.Most, most)
				}
			}
			if most >= requests.Most {
				return true
			}
			v.gather(&found, v.about(s, "LimitBelow", "an inbound of %s takes %d requests at a time; raise it there too, by rules", x.use.Destination.Name, most))
			return false
		})
	})
	return found
}

func probeSlow(v *view) (found []*api.Violation) {
	saying(v, func(x *clusterRow, e *policies.Effective, c sim.Checker) {
		each, wait, eachField, waitField := c.Rate(x.use.Protocol())
		if _, _, ok := c.Checks(x.use.Protocol()); !ok || wait <= each {
			return
		}
		field := waitField
		if e.Author(field) == "" { // built in
			field = eachField
		}
		if s, said := settingOf(e, field); said {
			v.gather(&found, v.about(s, "ProbeSlow", "a check of %s may take %s, and the next one is due after %s; make the timeout shorter than the interval", x.use.Destination.Name, api.Duration(wait), api.Duration(each)))
		}
	})
	return found
}

func probeStorm(v *view) (found []*api.Violation) {
	saying(v, func(x *clusterRow, e *policies.Effective, c sim.Checker) {
		each, _, field, _ := c.Rate(x.use.Protocol())
		rate := float64(x.callers) / max(each, time.Millisecond).Seconds()
		_, _, ok := c.Checks(x.use.Protocol())
		if s, said := settingOf(e, field); ok && said && rate > 1 {
			v.gather(&found, v.about(s, "ProbeStorm", "all callers (%d) check each endpoint of %s %.3g times a second together; make the interval longer", x.callers, x.use.Destination.Name, rate))
		}
	})
	return found
}

func probeRefused(v *view) (found []*api.Violation) {
	saying(v, func(x *clusterRow, e *policies.Effective, c sim.Checker) {
		path, asks := c.Probe(x.use.Protocol())
		_, field, _ := c.Checks(x.use.Protocol())
		s, said := settingOf(e, field)
		if !asks || !said {
			return
		}
		v.inbounds(x.use, func(own *effective.Inbound) bool {
			in := own.AsDocumented()
			if in.TLS == nil {
				return true
			}
			p, _ := permission.Decide(in, &permission.Visit{Names: x.from.Proves(), Request: &match.Request{Method: "GET", Path: path, Authority: x.use.Destination.Name}})
			if p == nil || p.Decision != permission.Deny {
				return true
			}
			v.gather(&found, v.about(s, "ProbeRefused", "%s may not ask %s for %s, so each endpoint fails its check; allow it there, or check by tcp", x.from.Ref.FullName(), x.use.Destination.Name, path))
			return false
		})
	})
	return found
}

// hashes reports whether a backend of a row is chosen by a hash.
func (r row) hashes() bool {
	for i := range r.Backends {
		if b := &r.Backends[i]; b.Gets() && balance.Hashes(r.from, b) {
			return true
		}
	}
	return false
}

// balances yields the rules of which a policy says how endpoints are chosen.
func (v *view) balances(yield func(r row, e *policies.Effective, c balance.Balancer)) {
	for _, r := range v.rows {
		for _, e := range r.Policies {
			if c, ok := e.Conf.(balance.Balancer); ok {
				yield(r, e, c)
			}
		}
	}
}

func hashWithoutRing(v *view) (found []*api.Violation) {
	v.balances(func(r row, e *policies.Effective, c balance.Balancer) {
		_, field, ok := c.HashOf()
		if s, said := settingOf(e, field); ok && said && len(r.Backends) > 0 && !r.hashes() {
			v.gather(&found, v.about(s, "HashWithoutRing", "no backend of %s is chosen by a hash, so the list has no effect; set loadBalancer.type to RingHash or Maglev for the service", r.where()))
		}
	})
	return found
}

func ringWithoutHash(v *view) (found []*api.Violation) {
	v.balances(func(r row, e *policies.Effective, c balance.Balancer) {
		if _, hashes := c.Balance(); !hashes || len(balance.Hash(r.Route)) > 0 || !r.hashes() {
			return
		}
		if s, said := settingOf(e, c.BalanceField()); said {
			v.gather(&found, v.about(s, "RingWithoutHash", "requests to %s have nothing that a hash is taken of, so an endpoint is chosen by chance; write hashPolicies", r.where()))
		}
	})
	return found
}

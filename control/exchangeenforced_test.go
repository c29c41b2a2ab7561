package control_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/weftmesh/weft/inspect/explain"
	"github.com/weftmesh/weft/sim"
)

// object is one of an Envoy configuration, in JSON.
type object = map[string]any

// envoyHas are the resources of an Envoy configuration by their names, be it a config_dump or
// what was computed.
type envoyHas struct{ listeners, clusters, tables map[string]object }

func resourcesOf(configuration any) envoyHas {
	out := envoyHas{map[string]object{}, map[string]object{}, map[string]object{}}
	out.collect(configuration)
	return out
}

func (h envoyHas) collect(in any) {
	switch v := in.(type) {
	case object:
		name, _ := v["name"].(string)
		switch {
		case v["filter_chains"] != nil:
			h.listeners[name] = v
		case v["virtual_hosts"] != nil:
			h.tables[name] = v
		case v["connect_timeout"] != nil && name != "":
			h.clusters[name] = v
		default:
			for _, part := range v {
				h.collect(part)
			}
		}
	case []any:
		for _, part := range v {
			h.collect(part)
		}
	}
}

// below is what stands at a path of names in an object; nil for nothing. A name of * is the only
// entry, whatever its name.
func below(in any, path ...string) any {
	for _, name := range path {
		switch v := in.(type) {
		case object:
			if in = v[name]; name == "*" && len(v) == 1 {
				for _, in = range v {
					break
				}
			}
		case []any:
			if in = nil; name == "*" && len(v) == 1 {
				in = v[0]
			}
		default:
			return nil
		}
	}
	return in
}

// standing is where a claim stands in an Envoy: the last filter of a listener, a route of it
// and the cluster.
type standing struct{ filter, host, route, cluster any }

// at is the place of a listener and a cluster. Routes are chosen by on.
func (h envoyHas) at(listener, cluster string) (p standing, ok bool) {
	filters, _ := below(h.listeners[listener], "filter_chains", "*", "filters").([]any)
	if len(filters) == 0 {
		return p, false
	}
	p.filter, p.cluster = below(filters[len(filters)-1], "typed_config"), h.clusters[cluster]
	table := any(h.tables[fmt.Sprint(below(p.filter, "rds", "route_config_name"))])
	if inline := below(p.filter, "route_config"); inline != nil {
		table = inline
	}
	p.host = below(table, "virtual_hosts", "*")
	return p, true
}

// on is the place of a route of that name; of none, of the only one.
func (p standing) on(name string) (standing, bool) {
	routes, _ := below(p.host, "routes").([]any)
	for _, r := range routes {
		if p.route = r; name == "" && len(routes) == 1 || name != "" && below(r, "name") == name {
			return p, true
		}
	}
	p.route = nil
	return p, false
}

const options = "typed_extension_protocol_options"

// stands is where the fields of policies stand in Envoy: on a route, or for all of a port. What
// is claimed of any other fails.
var stands = map[string]func(standing) any{
	"MeshTimeout http.requestTimeout":    func(p standing) any { return below(p.route, "route", "timeout") },
	"MeshTimeout http.streamIdleTimeout": func(p standing) any { return below(p.route, "route", "idle_timeout") },
	"MeshTimeout connectionTimeout":      func(p standing) any { return below(p.cluster, "connect_timeout") },
	"MeshTimeout idleTimeout": func(p standing) any {
		if v := below(p.filter, "idle_timeout"); v != nil {
			return v // of a connection
		}
		return below(p.cluster, options, "*", "common_http_protocol_options", "idle_timeout")
	},
	"MeshRetry http.numRetries":    func(p standing) any { return below(p.route, "route", "retry_policy", "num_retries") },
	"MeshRetry http.perTryTimeout": func(p standing) any { return below(p.route, "route", "retry_policy", "per_try_timeout") },
	"MeshRetry http.backOff.baseInterval": func(p standing) any {
		return below(p.route, "route", "retry_policy", "retry_back_off", "base_interval")
	},
	"MeshRetry http.retryOn": func(p standing) any {
		var words []any
		for word := range strings.SplitSeq(fmt.Sprint(below(p.route, "route", "retry_policy", "retry_on")), ",") {
			if word != "retriable-headers" { // the mark of called sidecars; no policy here has headers of its own
				words = append(words, word)
			}
		}
		return words
	},
	"MeshRetry tcp.maxConnectAttempt": func(p standing) any { return below(p.filter, "max_connect_attempts") },
	"MeshRateLimit local.http.requestRate": func(p standing) any {
		bucket := below(p.route, "typed_per_filter_config", "envoy.filters.http.local_ratelimit", "token_bucket")
		return object{"num": below(bucket, "max_tokens"), "interval": below(bucket, "fill_interval")}
	},
	"MeshRateLimit local.http.onRateLimit.status": func(p standing) any {
		return statuses[fmt.Sprint(below(p.route, "typed_per_filter_config", "envoy.filters.http.local_ratelimit", "status", "code"))]
	},
}

// statuses are numbers by Envoy's words.
var statuses = map[string]any{"TooManyRequests": 429.0}

// lengths writes durations in one way, wherever they stand in a value.
func lengths(v any) any {
	switch v := v.(type) {
	case string:
		if d, err := time.ParseDuration(v); err == nil {
			return d.String()
		}
	case object:
		out := object{}
		for name, part := range v {
			out[name] = lengths(part)
		}
		return out
	}
	return v
}

// claimed compares each field that is claimed with what stands there, and counts it. What no
// proxy does by this protocol is claimed to be idle, and stands nowhere.
func (x *exchanges) claimed(what string, policies map[string]sim.Policy, p standing, instead map[string]any, seen map[string]int) {
	x.t.Helper()
	for kind, policy := range policies {
		for field, said := range policy.Why {
			claim := kind + " " + field
			where, known := stands[claim]
			if slices.Contains(policy.Idle, field) {
				continue
			}
			if !known {
				x.t.Errorf("%s: nobody knows where %s stands in Envoy; add it to stands", what, claim)
				continue
			}
			want := plain(said[len(said)-1].Value)
			if other, ok := instead[claim]; ok {
				want = other
			}
			seen[claim]++
			x.equal(what+": "+claim, lengths(plain(where(p))), lengths(want))
		}
	}
}

// enforced fails where an Envoy configuration holds other than what _explain says of any port,
// route or field of a policy, but for fields of items that have other values instead.
func (x *exchanges) enforced(what string, configuration any, instead map[string]any) {
	x.t.Helper()
	has, seen := resourcesOf(configuration), map[string]int{}
	for i := range x.explained.Outbounds {
		o := &x.explained.Outbounds[i]
		at := fmt.Sprintf("%s outbound %s", what, o.ID)
		p, ok := has.at(fmt.Sprintf("outbound:%s:%d", o.Address, o.Port), o.ID)
		if !ok {
			x.t.Errorf("%s: no listener", at)
			continue
		}
		var other map[string]any
		if o.Destination.Name == "items" {
			other = instead
		}
		x.equal(at+": by requests", p.host != nil, o.Protocol != "tcp")
		for j := range o.Routes {
			x.enforcedOn(at, o, &o.Routes[j], p, other, seen)
		}
		x.equal(at+": routes", len(rows(p.host, "routes")), len(o.Routes)*boolean[o.Protocol != "tcp"])
	}
	for _, in := range x.explained.Inbounds {
		name := fmt.Sprintf("inbound:%s:%d", in.Address, in.Port)
		p, ok := has.at(name, name)
		if p, _ = p.on(""); !ok {
			x.t.Errorf("%s %s: no listener", what, name)
		}
		x.claimed(what+" "+name, in.Policies, p, nil, seen)
	}
	x.equal(what+": fields that are claimed", slices.Sorted(maps.Keys(seen)), slices.Sorted(maps.Keys(stands)))
}

// boolean is a condition as a number.
var boolean = map[bool]int{true: 1}

func rows(in any, name string) []any {
	list, _ := below(in, name).([]any)
	return list
}

// enforcedOn compares what is claimed of one route: for what, to whom, and each field.
func (x *exchanges) enforcedOn(at string, o *explain.Outbound, r *explain.Route, p standing, instead map[string]any, seen map[string]int) {
	x.t.Helper()
	at += " " + r.Name
	to := p.filter
	if o.Protocol != "tcp" {
		var ok bool
		if p, ok = p.on(r.Name); !ok {
			x.t.Errorf("%s: Envoy has no such route", at)
			return
		}
		to = below(p.route, "route")
		x.equal(at+": matches", matchOf(below(p.route, "match")), r.Matches[0])
	}
	x.claimed(at, r.Policies, p, instead, seen)
	shares, got, sum := map[string]float64{}, map[string]float64{}, 0.0
	for _, b := range r.Backends {
		for _, to := range x.explained.Outbounds {
			if to.Destination.Name == b.Name && (to.Destination.Port == b.Port || to.Destination.Port == 0) {
				shares[to.ID] += b.Share
			}
		}
	}
	weighted := rows(below(to, "weighted_clusters"), "clusters")
	for _, c := range weighted {
		sum += below(c, "weight").(float64)
	}
	for _, c := range weighted {
		got[below(c, "name").(string)] += below(c, "weight").(float64) / sum
	}
	if only, ok := below(to, "cluster").(string); ok {
		got[only] = 1
	}
	x.equal(at+": backends", got, shares)
}

// matchOf is a match of Envoy as the API writes it.
func matchOf(envoy any) object {
	out, headers := object{}, []any{}
	for name, kind := range map[string]string{"path": "Exact", "path_separated_prefix": "PathPrefix", "prefix": "PathPrefix"} {
		if value := below(envoy, name); value != nil {
			out["path"] = object{"type": kind, "value": value}
		}
	}
	for _, h := range rows(envoy, "headers") {
		name, value := below(h, "name"), below(h, "string_match", "exact")
		if name == ":method" {
			out["method"] = value
		} else {
			headers = append(headers, object{"type": "Exact", "name": name, "value": value})
		}
	}
	if len(headers) > 0 {
		out["headers"] = headers
	}
	return out
}

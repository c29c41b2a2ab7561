package control_test

import (
	"slices"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/sim"
)

// matchers are those of a rule by key, where they do not say not.
func matchers(rule map[string]any) (out map[string]string, all bool) {
	out, all = map[string]string{}, true
	for _, m := range rule["matchers"].([]any) {
		m := m.(map[string]any)
		out[m["key"].(string)] = m["value"].(string)
		all = all && m["not"] == false
	}
	return out, all
}

// ruled is what is explained where a rule applies: of a route of a service, or of the service.
func (x *exchanges) ruled(service, key string) (map[string]sim.Policy, bool) {
	for _, o := range x.explained.Outbounds {
		if o.Destination.Name != service {
			continue
		}
		if key == "" {
			return o.Policies, true
		}
		for _, r := range o.Routes {
			if r.Key == key {
				return r.Policies, true
			}
		}
	}
	return nil, false
}

// rules: each of _rules is what _explain says of whom it names; who holds at a place stands in
// the rule of that place; and the dictionary of matches is that of the routes.
func (x *exchanges) rules() {
	answer := x.json(shopOne + "/_rules")
	x.equal("resource", answer["resource"].(map[string]any)["kri"], x.kris["Dataplane/shop-1"])
	keys := map[string]any{}
	for _, o := range x.explained.Outbounds {
		for _, r := range written(&o) {
			keys[r.Key] = plain(r.Matches)
		}
	}
	for _, m := range answer["httpMatches"].([]any) {
		m := m.(map[string]any)
		x.equal("matches", m["match"], keys[m["hash"].(string)])
	}
	var kinds []string
	for _, k := range answer["rules"].([]any) {
		k := k.(map[string]any)
		kind := k["type"].(string)
		kinds = append(kinds, kind)
		if strings.HasSuffix(kind, "Route") {
			x.routeRules(kind, k)
			continue
		}
		places := 0
		for _, r := range k["toRules"].([]any) {
			places += x.toRule(kind, r.(map[string]any))
		}
		for _, r := range k["toResourceRules"].([]any) {
			x.resourceRule(kind, r.(map[string]any))
		}
		x.callers(kind, k)
		if kind == "MeshRetry" && places < 2 {
			x.t.Errorf("%d rules of %s are about a service", places, kind)
		}
	}
	x.equal("kinds", kinds, []string{"MeshHTTPRoute", "MeshTCPRoute", "MeshRateLimit", "MeshTimeout", "MeshRetry"})
}

// toRule compares a rule for a service, and for a route of it where it names one, and reports
// how many places it is about. Items for routes stand in rules of resources.
func (x *exchanges) toRule(kind string, rule map[string]any) int {
	at, positive := matchers(rule)
	policies, ok := x.ruled(at["kuma.io/service"], at["__rule-matches-hash__"])
	if !positive || !ok {
		return 0
	}
	x.says("_rules "+kind, opinionOf(policies[kind], func(o *api.Origin) bool { return !x.toRoute(o) }), rule["conf"], x.named(kind, rule["origin"]))
	return 1
}

// toRoute reports whether an opinion is of an item whose own target is a route.
func (x *exchanges) toRoute(o *api.Origin) bool { return o.Kind == "MeshTimeout" && o.Name == "of-old" }

// resourceRule compares a rule of a real resource.
func (x *exchanges) resourceRule(kind string, rule map[string]any) {
	origins := x.named(kind, rule["origin"])
	conf := rule["conf"].([]any)[0]
	within := func(o *api.Origin) bool { return slices.Contains(origins, o.Kind+"/"+o.Name) }
	meta := rule["resourceMeta"].(map[string]any)
	for _, o := range x.explained.Outbounds {
		switch {
		case meta["type"] == "Mesh":
			x.says("_rules "+kind+" of the mesh", opinionOf(o.Policies[kind], within), conf, origins)
		case meta["type"] == "MeshService" && o.Destination.Name == meta["name"]:
			x.says("_rules "+kind+" of a service", opinionOf(o.Policies[kind], anybody), conf, origins)
		case meta["type"] == "MeshHTTPRoute":
			for _, r := range written(&o) {
				if r.Origins[0].Name == meta["name"] {
					x.says("_rules "+kind+" of a route", opinionOf(r.Policies[kind], within), conf, origins)
				}
			}
		}
	}
}

// callers compares the rules of the inbound.
func (x *exchanges) callers(kind string, k map[string]any) {
	said := x.explained.Inbounds[0].Policies[kind]
	from := func(field string) func(*api.Origin) bool {
		return func(o *api.Origin) bool { return strings.HasPrefix(string(o.Field), field) }
	}
	shown := 0
	for _, in := range k["fromRules"].([]any) {
		for _, r := range in.(map[string]any)["rules"].([]any) {
			r := r.(map[string]any)
			shown++
			x.says("_rules from "+kind, opinionOf(said, from("spec.from")), r["conf"], x.named(kind, r["origin"]))
		}
	}
	for _, in := range k["inboundRules"].([]any) {
		for _, r := range in.(map[string]any)["rules"].([]any) {
			r := r.(map[string]any)
			shown++
			x.says("_rules rules "+kind, opinionOf(said, from("spec.rules")), r["conf"].([]any)[0], x.named(kind, r["origin"]))
		}
	}
	x.equal("_rules of the inbound "+kind, shown > 0, len(opinionOf(said, anybody).holds) > 0)
}

// routeRules compares the routes of services.
func (x *exchanges) routeRules(kind string, k map[string]any) {
	services := 0
	for _, r := range k["toRules"].([]any) {
		r := r.(map[string]any)
		at, _ := matchers(r)
		for _, o := range x.explained.Outbounds {
			if o.Destination.Name != at["kuma.io/service"] {
				continue
			}
			services++
			list := written(&o)
			x.equal("_rules "+kind+": origins", x.named(kind, r["origin"]), []string{list[0].Origins[0].Kind + "/" + list[0].Origins[0].Name})
			if kind != "MeshHTTPRoute" {
				continue
			}
			var matches []any
			for _, rule := range r["conf"].(map[string]any)["rules"].([]any) {
				matches = append(matches, rule.(map[string]any)["matches"])
			}
			x.equal("_rules "+kind+": matches", matches, matchesOf(list))
		}
	}
	want := 0
	for _, o := range x.explained.Outbounds {
		if list := written(&o); len(list) > 0 && list[0].Origins[0].Kind == kind {
			want++
		}
	}
	x.equal("_rules "+kind+": services", services, want)
}

// olderRules: a rule with matches for each policy that says something of a route alone, one
// without for each policy of a service, and one for each of an inbound.
func (x *exchanges) olderRules() {
	found := map[string]int{}
	for _, item := range x.items(shopOne + "/rules") {
		m := item.(map[string]any)
		kind, service := m["policyType"].(string), m["service"].(string)
		origins := x.named(kind, m["origins"])
		if m["type"] == "ClientSubset" {
			found["inbound"]++
			x.says("rules of the inbound", opinionOf(x.explained.Inbounds[0].Policies[kind], anybody), m["conf"], origins)
			continue
		}
		key := ""
		for _, o := range x.explained.Outbounds {
			for _, r := range o.Routes {
				if m["matches"] != nil && o.Destination.Name == service && text(plain(r.Matches)) == text(m["matches"]) {
					key = r.Key
				}
			}
		}
		x.equal("rules: a route is found by its matches", key != "", m["matches"] != nil)
		found["service"+map[bool]string{true: " route"}[key != ""]]++
		policies, _ := x.ruled(service, key)
		x.says("rules of "+service+" "+key, opinionOf(policies[kind], anybody), m["conf"], origins)
	}
	want := map[string]int{"inbound": 1}
	for _, o := range x.explained.Outbounds {
		want["service"] += len(o.Policies)
		for _, r := range o.Routes {
			for _, p := range r.Policies {
				if ofRouteAlone(p) {
					want["service route"]++
				}
			}
		}
	}
	x.equal("rules", found, want)
}

// ofRouteAlone reports whether somebody speaks of the route and not of what it is a part of.
func ofRouteAlone(p sim.Policy) bool {
	for _, said := range p.Why {
		if slices.ContainsFunc(said, func(s sim.Opinion) bool {
			return slices.Contains([]string{"include", "inline", "route", "rule"}, s.Layer)
		}) {
			return true
		}
	}
	return false
}

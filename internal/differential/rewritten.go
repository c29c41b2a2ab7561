package differential

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/route/match"
	"github.com/weftmesh/weft/sim"
	"github.com/weftmesh/weft/sim/permission"
	"github.com/weftmesh/weft/sim/wire"
)

// byRewrites is a theme: routes of all languages that rewrite paths into those of each other,
// write headers that others ask for, mirror, and lead to several services, with permissions on
// them and on their rules. Everybody proves who it is, and who may call is a question of these
// permissions alone.
var byRewrites = theme{func(d draw) Source { return Source{Documents: d.rewriting()} }, draw.rewrittenPair, 40}

// The paths that rules take, and into which they rewrite: few, so that they meet.
var crossPaths = []string{"/", "/a", "/a/b", "/b", "/c", "/a/c"}

func (d draw) rewriting() []m {
	docs := []m{{"type": "Mesh", "name": "default", "mtls": m{"enabledBackend": "ca", "backends": []any{m{"name": "ca", "type": "builtin", "mode": "STRICT"}}}}, everybody}
	for i, name := range []string{"web", "v1", "v2"} {
		docs = append(docs, m{"type": "MeshService", "mesh": "default", "name": name, "spec": m{
			"selector": m{"dataplaneTags": m{"kuma.io/service": name}}, "ports": []any{m{"port": 8080, "targetPort": 18080, "appProtocol": "http"}}}})
		for n := range one(d, 1, 1, 2) {
			docs = append(docs, m{"type": "Dataplane", "mesh": "default", "name": fmt.Sprintf("%s-%d", name, n+1), "networking": m{
				"address": fmt.Sprintf("127.0.1.%d", 10*(i+1)+n), "inbound": []any{inbound(name, strconv.Itoa(n+1), "http", 18080)}}})
		}
	}
	language := one(d, "MeshHTTPRoute", "HTTPRoute", "HTTPProxy", "RouteGroup")
	var outbound []any
	if language == "HTTPProxy" || language == "RouteGroup" {
		outbound = []any{m{"port": 10001, "hosts": m{"port": 80}}}
	} else {
		outbound = []any{m{"port": 10001, "backendRef": m{"kind": "MeshService", "name": "web", "port": 8080}}}
	}
	for i, name := range []string{client.Name, ops, lone} {
		docs = append(docs, m{"type": "Dataplane", "mesh": "default", "name": name, "networking": m{"address": fmt.Sprintf("127.0.0.%d", i+1),
			"outbound": outbound, "inbound": []any{inbound(name, one(d, "1", "2"), "http", 19000)}}})
	}
	for _, doc := range docs {
		if kindOf(doc) == api.KindDataplane {
			docs = append(docs, m{"type": api.KindDataplaneInsight, "mesh": "default", "name": doc["name"], "spec": m{"identity": true, "tls": true}})
		}
	}
	for _, name := range routeNames[:one(d, 1, 1, 2)] {
		docs = append(docs, d.crossing(language, name))
	}
	for i := range 1 + d.IntN(3) {
		docs = append(docs, m{"type": "MeshTrafficPermission", "mesh": "default", "name": fmt.Sprintf("m%d", i), "spec": m{
			"targetRef": m{"kind": "MeshHTTPRoute", "name": "r1"}, "rules": []any{m{"default": d.namesOnly()}}}})
	}
	return d.aimed(docs)
}

// namesOnly are lists of callers by name.
func (d draw) namesOnly() m {
	out := m{}
	name := func() any {
		return m{"spiffeID": m{"type": "Exact", "value": "spiffe://" + meshDomain + "/" + one(d, client.Name, ops, lone)}}
	}
	if d.chance(8) {
		out["allow"] = []any{name()}
	}
	if d.chance(2) || len(out) == 0 {
		out["deny"] = []any{name()}
	}
	return out
}

// crossing is a route of a language.
func (d draw) crossing(language, name string) m {
	var rules []any
	for i := range 2 + d.IntN(3) {
		switch language {
		case "MeshHTTPRoute":
			rules = append(rules, d.crossingRule("default"))
		case "HTTPRoute":
			r := d.crossingRule("")
			r["name"] = fmt.Sprintf("rule-%d", i)
			rules = append(rules, r)
		case "HTTPProxy":
			rules = append(rules, d.crossingProxy())
		default:
			rules = append(rules, d.crossingGroup())
		}
	}
	var spec m
	switch language {
	case "MeshHTTPRoute":
		spec = m{"targetRef": one(d, m{"kind": "Mesh"}, m{"kind": "Mesh"}, m{"kind": "Mesh"}, m{"kind": "MeshSubset", "tags": m{"version": "1"}}), "to": []any{m{"targetRef": m{"kind": "MeshService", "name": "web"}, "rules": rules}}}
	case "HTTPRoute":
		spec = m{"parentRefs": []any{m{"group": "", "kind": "Service", "name": "web"}}, "rules": rules}
	case "HTTPProxy":
		spec = m{"routes": rules}
		if name == routeNames[0] {
			spec["virtualhost"], spec["includes"] = m{"fqdn": proxyHost}, []any{m{"name": routeNames[1], "conditions": []any{m{"prefix": one(d, "/", "/a", "/i")}}}}
		}
	default:
		spec = m{"hosts": []any{groupHost}, "routes": rules, "defaultBackends": []any{m{"backendName": "v1"}}, "backends": []any{
			m{"name": "v1", "type": "service", "serviceName": "v1", "servicePort": 8080}, m{"name": "v2", "type": "service", "serviceName": "v2", "servicePort": 8080}}}
	}
	return m{"type": language, "mesh": "default", "name": name, "spec": spec}
}

func (d draw) crossPath() string { return one(d, crossPaths...) }

// crossingRule is one of a MeshHTTPRoute, whose part under holds what happens, or of an HTTPRoute.
func (d draw) crossingRule(under string) m {
	match := m{"path": m{"type": one(d, "PathPrefix", "PathPrefix", "Exact"), "value": d.crossPath()}}
	if d.chance(2) {
		match["headers"] = []any{m{"name": "x-a", "value": one(d, "1", "2")}}
	}
	if d.chance(1) {
		match["method"] = "GET"
	}
	var filters []any
	switch {
	case d.chance(1):
		filters = append(filters, m{"type": "RequestRedirect", "requestRedirect": m{"path": m{"type": "ReplaceFullPath", "replaceFullPath": d.crossPath()}}})
	case d.chance(6):
		path := m{"type": "ReplaceFullPath", "replaceFullPath": d.crossPath()}
		if match["path"].(m)["type"] == "PathPrefix" {
			path = m{"type": "ReplacePrefixMatch", "replacePrefixMatch": d.crossPath()}
		}
		filters = append(filters, m{"type": "URLRewrite", "urlRewrite": m{"path": path}})
	}
	if d.chance(2) {
		filters = append(filters, m{"type": "RequestHeaderModifier", "requestHeaderModifier": one(d, m{"set": []any{m{"name": "x-a", "value": one(d, "1", "2")}}}, m{"remove": []any{"x-a"}})})
	}
	ref := func(name string) m { return m{"kind": "MeshService", "name": name, "port": 8080} }
	refs := one(d, nil, nil, []any{ref("v1")}, []any{ref("web"), ref("v1")})
	mirror := m{"backendRef": ref(one(d, "web", "v2"))}
	if under == "" {
		kube := func(name string) m { return m{"name": name, "port": 8080} }
		refs = one(d, []any{kube("web")}, []any{kube("web")}, []any{kube("v1")}, []any{kube("web"), kube("v1")})
		mirror = m{"backendRef": kube(one(d, "web", "v2"))}
	} else {
		mirror["percentage"] = 100
	}
	redirects := len(filters) > 0 && filters[0].(m)["type"] == "RequestRedirect"
	if d.chance(1) && !redirects {
		filters = append(filters, m{"type": "RequestMirror", "requestMirror": mirror})
	}
	does := m{}
	if filters != nil {
		does["filters"] = filters
	}
	if refs != nil && !redirects {
		does["backendRefs"] = refs
	}
	if under == "" {
		does["matches"] = []any{match}
		return does
	}
	return m{"matches": []any{match}, under: does}
}

func (d draw) crossingProxy() m {
	conditions := []any{m{one(d, "prefix", "prefix", "exact"): d.crossPath()}}
	if d.chance(2) {
		conditions = append(conditions, m{"header": m{"name": "x-a", "exact": one(d, "1", "2")}})
	}
	out := m{"conditions": conditions, "services": []any{m{"name": one(d, "v1", "v1", "web"), "port": 8080}}}
	if _, prefixed := conditions[0].(m)["prefix"]; prefixed && d.chance(6) {
		out["pathRewritePolicy"] = m{"replacePrefix": []any{m{"replacement": d.crossPath()}}}
	}
	if d.chance(2) {
		out["requestHeadersPolicy"] = one(d, m{"set": []any{m{"name": "x-a", "value": one(d, "1", "2")}}}, m{"remove": []any{"x-a"}})
	}
	if d.chance(1) {
		out["services"] = append(out["services"].([]any), m{"name": "v2", "port": 8080, "mirror": true})
	}
	return out
}

func (d draw) crossingGroup() m {
	out := m{one(d, "pathSubtree", "pathSubtree", "path"): d.crossPath()}
	var filters []any
	if d.chance(5) {
		filters = append(filters, one[any](d, fmt.Sprintf("setPath(%q)", d.crossPath()), fmt.Sprintf("modPath(%q, %q)", "^"+d.crossPath(), d.crossPath())))
	}
	if d.chance(2) {
		filters = append(filters, one(d, any(`setRequestHeader("X-A", "1")`), `dropRequestHeader("x-a")`))
	}
	if filters != nil {
		out["filters"] = filters
	}
	if d.chance(2) {
		out["predicates"] = []any{one(d, any(`Header("X-A", "1")`), `Host("^g")`)}
	}
	if d.chance(3) {
		out["backends"] = []any{m{"backendName": one(d, "v1", "v2")}}
	}
	return out
}

// rewrittenPair is a request by one of three.
func (d draw) rewrittenPair(w *World) Pair {
	host := "web:8080"
	for _, doc := range w.Documents {
		switch kindOf(doc) {
		case "HTTPProxy":
			host = proxyHost
		case "RouteGroup":
			host = groupHost
		}
	}
	path := d.crossPath()
	if d.chance(6) {
		path += one(d, "", "/") + one(d, "a", "b", "c", "a/b", "x")
		if path[:min(2, len(path))] == "//" {
			path = path[1:]
		}
	}
	q := wire.Request{Method: one(d, "GET", "GET", "GET", "POST"), URL: atHost(host, path, ""), Headers: wire.Headers{}, Answers: "200"}
	if d.chance(4) {
		q.Headers.Add("x-a", one(d, "1", "2"))
	}
	return Pair{Source: w.Source, Request: q, From: one(d, "", ops, lone)}
}

// lets says why permissions on a rule, as documents write them, refuse a caller that has these names;
// empty where they do not. It reads documents alone, and knows of no other rule.
func (w *World) lets(taken *effective.Route, names []string) (why string) {
	allows := map[string][]m{} // callers by the layer of the list
	for _, doc := range w.Documents {
		spec, _ := doc["spec"].(m)
		top, _ := spec["targetRef"].(m)
		if kindOf(doc) != "MeshTrafficPermission" || rulesOf[fmt.Sprint(top["kind"])] == nil {
			continue
		}
		layer := ""
		section, _ := top["sectionName"].(string)
		is := func(o *api.Origin) bool { return o.Kind == top["kind"] && o.Name == top["name"] }
		for _, o := range taken.Origins {
			switch {
			case !is(o):
			case section == "":
				layer = "route"
			case slices.Contains(sectionsOf(o), section):
				layer = "rule"
			}
		}
		if layer == "" && section == "" && slices.ContainsFunc(taken.IncludedBy, is) {
			layer = "include"
		}
		if layer == "" {
			continue
		}
		for _, rule := range list(spec["rules"]) {
			if rule["override"] != nil {
				return "" // which counts more than all lists
			}
			lists, _ := rule["default"].(m)
			for _, e := range list(lists["deny"]) {
				if id, of := e["spiffeID"].(m); of && e["http"] == nil && slices.ContainsFunc(names, func(n string) bool { return means(id, n) }) {
					return fmt.Sprintf("%s denies it", doc["name"])
				}
			}
			for _, e := range slices.Concat(list(lists["allow"]), list(lists["allowWithShadowDeny"])) {
				x, of := e["spiffeID"].(m)
				if !of { // it asks for no identity, and may let in anybody
					x = m{"type": "Prefix", "value": ""}
				}
				allows[layer] = append(allows[layer], x)
			}
		}
	}
	for _, layer := range []string{"rule", "route", "include"} {
		if all := allows[layer]; len(all) > 0 {
			if !slices.ContainsFunc(all, func(id m) bool { return slices.ContainsFunc(names, func(n string) bool { return means(id, n) }) }) {
				return fmt.Sprintf("the permissions of the %s allow %v", layer, all)
			}
			return ""
		}
	}
	return ""
}

// means reports whether the spiffeID of an entry is about a name.
func means(id m, name string) bool {
	value := fmt.Sprint(id["value"])
	return name == value || id["type"] == "Prefix" && strings.HasPrefix(name, value)
}

// sectionsOf are the names by which documents of drawn worlds mean a rule.
func sectionsOf(o *api.Origin) []string {
	if o.RuleName != "" {
		return []string{o.RuleName}
	}
	if o.To != nil {
		return []string{fmt.Sprintf("%d.%d", *o.To, *o.Rule)}
	}
	if o.Rule != nil {
		return []string{strconv.Itoa(*o.Rule)}
	}
	return nil
}

// exceeds says where a caller that proves who it is gets more than the permissions on the rule that its sidecar takes,
// by what becomes of the request and of its copies; empty where it does not.
func (w *World) exceeds(v *sim.Verdict) string {
	caller := w.Resolved.Identity
	if caller == nil || len(caller.Names) == 0 {
		return ""
	}
	for i := range v.Branches {
		b := &v.Branches[i]
		one := *v
		one.Branches = v.Branches[i : i+1]
		taken := w.route(&one)
		if taken == nil || b.Permission == nil && len(taken.Mirrors) == 0 {
			continue
		}
		if b.Permission != nil && b.Permission.Identity == "" {
			continue // it proves nothing there, so that no list knows it by a name
		}
		why := w.lets(taken, caller.Names)
		if why == "" {
			continue
		}
		if b.Permission != nil && b.Permission.Decision == permission.Allow {
			return fmt.Sprintf("%v gets in by the rule %s of %v, though %s", caller.Names, taken.Key, taken.Origins, why)
		}
		if said := w.copiesExceed(b, taken, caller.Names); said != "" {
			return said + ", though " + why
		}
	}
	return ""
}

// copiesExceed is exceeds for what goes to mirrors, whose host has another end (measured).
func (w *World) copiesExceed(b *sim.Branch, taken *effective.Route, names []string) string {
	if b.Forwarded == nil {
		return ""
	}
	f := b.Forwarded
	for _, mirror := range b.Mirrors {
		r, ok := w.Model.Dataplane(dataplane(mirror.Name + "-1"))
		if !ok {
			continue
		}
		for _, in := range r.Inbounds {
			visit := &permission.Visit{Names: names, Request: &match.Request{Method: f.Method, Authority: f.Authority + "-shadow", Path: f.Path, Header: f.Headers.Values}}
			if p, _ := permission.Decide(in.Inbound, visit); p != nil && p.Decision == permission.Allow {
				return fmt.Sprintf("the copy of a request of %s gets in at %s by the rule %s", names[0], mirror.Name, taken.Key)
			}
		}
	}
	return ""
}

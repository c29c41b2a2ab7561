package control_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"
)

// vhostRoutes are the routes of an Envoy configuration by name.
func vhostRoutes(in any, out map[string]map[string]any) {
	switch v := in.(type) {
	case map[string]any:
		if name, ok := v["name"].(string); ok && v["match"] != nil && v["route"] != nil {
			out[name] = v["route"].(map[string]any)
		}
		for _, part := range v {
			vhostRoutes(part, out)
		}
	case []any:
		for _, part := range v {
			vhostRoutes(part, out)
		}
	}
}

// enforced fails where an Envoy configuration holds other than what _explain says of routes.
func (x *exchanges) enforced(what string, configuration any, requestTimeout string) {
	x.t.Helper()
	routes := map[string]map[string]any{}
	vhostRoutes(configuration, routes)
	compared := 0
	for _, o := range x.explained.Outbounds {
		for _, r := range written(&o) {
			is, ok := routes[r.Name]
			if !ok || o.Protocol == "tcp" {
				continue
			}
			compared++
			retries := opinionOf(r.Policies["MeshRetry"], anybody).holds["http.numRetries"]
			x.equal(what+" "+r.Name+": retries", is["retry_policy"].(map[string]any)["num_retries"], retries)
			timeout := opinionOf(r.Policies["MeshTimeout"], anybody).holds["http.requestTimeout"]
			if requestTimeout != "" && o.Destination.Name == "items" {
				timeout = requestTimeout
			}
			x.equal(what+" "+r.Name+": timeout", is["timeout"], timeout)
		}
	}
	x.equal(what+": routes", compared, 3)
}

// config: what is computed is what _explain says, and with shadow policies what they say too.
func (x *exchanges) config() {
	now := x.json(shopOne + "/_config")
	x.enforced("now", now["xds"], "")
	x.equal("no difference", now["diff"], nil)
	soon := x.json(shopOne + "/_config?shadow=true&include=diff")
	x.enforced("soon", soon["xds"], "7s")
	if !strings.Contains(text(soon["diff"]), `"op":"add"`) {
		x.t.Errorf("what shadow policies change: %s", text(soon["diff"]))
	}
	x.want(http.StatusBadRequest, http.MethodGet, shopOne+"/_config?shadow=maybe", "")
	x.want(http.StatusBadRequest, http.MethodGet, shopOne+"/_config?include=all", "")
}

// xds: the Envoy holds what _explain says.
func (x *exchanges) xds() {
	var dump any
	if err := json.Unmarshal([]byte(x.want(http.StatusOK, http.MethodGet, shopOne+"/xds?include_eds=true", "")), &dump); err != nil {
		x.t.Fatal(err)
	}
	x.enforced("Envoy", dump, "")
}

// clusterNames are those that the configuration has.
func (x *exchanges) clusterNames() []string {
	of := x.json(shopOne + "/_config")["xds"].(map[string]any)["type.googleapis.com/envoy.config.cluster.v3.Cluster"].(map[string]any)
	if len(of) < len(x.explained.Outbounds) {
		x.t.Errorf("%d clusters for %d outbounds", len(of), len(x.explained.Outbounds))
	}
	return slices.Sorted(maps.Keys(of))
}

// stats: the classic page takes the outbounds of a dataplane from them.
func (x *exchanges) stats() {
	said, structured := x.want(http.StatusOK, http.MethodGet, shopOne+"/stats", ""), x.json(shopOne+"/stats?format=json&usedonly")
	for _, name := range x.clusterNames() {
		x.equal(name, strings.Contains(said, "\ncluster."+strings.ReplaceAll(name, ":", "_")+"."), true)
	}
	x.equal("as JSON", structured["stats"] != nil, true)
}

func (x *exchanges) clusters() {
	said, structured := x.want(http.StatusOK, http.MethodGet, shopOne+"/clusters", ""), text(x.json(shopOne+"/clusters?format=json"))
	for _, name := range x.clusterNames() {
		x.equal(name, []bool{strings.Contains(said, name+"::"), strings.Contains(structured, `"`+name+`"`)}, []bool{true, true})
	}
	x.equal("endpoint of items", strings.Contains(said, "::127.0.0.2:8080::"), true)
}

package control_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/weftmesh/weft/xds/naming"
)

// config: what is computed is what _explain says, and with shadow policies what they say too.
func (x *exchanges) config() {
	now := x.json(shopOne + "/_config")
	x.enforced("now", now["xds"], nil)
	x.equal("no difference", now["diff"], nil)
	soon := x.json(shopOne + "/_config?shadow=true&include=diff")
	x.enforced("soon", soon["xds"], map[string]any{"MeshTimeout http.requestTimeout": "7s"})
	if !strings.Contains(text(soon["diff"]), `"op":"add"`) {
		x.t.Errorf("what shadow policies change: %s", text(soon["diff"]))
	}
	x.want(http.StatusBadRequest, http.MethodGet, shopOne+"/_config?shadow=maybe", "")
	x.want(http.StatusBadRequest, http.MethodGet, shopOne+"/_config?include=all", "")
}

// xds: the Envoy holds what _explain says, each value of it.
func (x *exchanges) xds() {
	var dump any
	if err := json.Unmarshal([]byte(x.want(http.StatusOK, http.MethodGet, shopOne+"/xds?include_eds=true", "")), &dump); err != nil {
		x.t.Fatal(err)
	}
	x.enforced("Envoy", dump, nil)
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
		x.equal(name, strings.Contains(said, "\ncluster."+naming.Stat(name)+"."), true)
	}
	x.equal("as JSON", structured["stats"] != nil, true)
}

// clusters: the classic page looks for what the statistics call an outbound, in the lines of the clusters
// and, as the name or the name in statistics, in the configuration.
func (x *exchanges) clusters() {
	said, structured := "\n"+x.want(http.StatusOK, http.MethodGet, shopOne+"/clusters", ""), text(x.json(shopOne+"/clusters?format=json"))
	dump := strings.ReplaceAll(x.want(http.StatusOK, http.MethodGet, shopOne+"/xds?include_eds=true", ""), " ", "")
	for _, name := range x.clusterNames() {
		key := naming.Stat(name)
		x.equal(name, []bool{strings.Contains(said, "\n"+key+"::"), strings.Contains(structured, `"`+name+`"`)}, []bool{true, true})
		if !strings.HasPrefix(name, "inbound:") { // which are looked for by their port
			x.equal("configuration of "+name, strings.Contains(dump, `"name":"`+key+`"`) || strings.Contains(dump, `"alt_stat_name":"`+key+`"`), true)
		}
	}
	x.equal("endpoint of items", strings.Contains(said, "::127.0.0.2:8080::"), true)
}

package control_test

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/inspect/explain"
	"github.com/weftmesh/weft/sim"
)

// exchangeRows are the endpoints of Kuma's API with what their answers have to say.
var exchangeRows = map[string]func(*exchanges){
	"GET /":               (*exchanges).index,
	"POST /bootstrap":     (*exchanges).bootstrap,
	"GET /_resources":     (*exchanges).resources,
	"GET /policies":       (*exchanges).policyTypes,
	"GET /config":         func(x *exchanges) { x.equal("store", x.json("/config")["store"], "memory") },
	"GET /who-am-i":       func(x *exchanges) { x.equal("name", x.json("/who-am-i")["name"], "mesh-system:admin") },
	"GET /global-insight": (*exchanges).globalInsight,
	"GET /mesh-insights": func(x *exchanges) {
		x.equal("items", x.items("/mesh-insights"), []any{x.json("/mesh-insights/default")})
	},
	"GET /mesh-insights/{mesh}":                  (*exchanges).meshInsight,
	"GET /meshes/{mesh}/service-insights":        (*exchanges).services,
	"GET /meshes/{mesh}/service-insights/{name}": (*exchanges).service,
	"GET /meshes": func(x *exchanges) { x.equal("items", x.items("/meshes"), []any{x.json("/meshes/default")}) },
	"GET /meshes/{mesh}": func(x *exchanges) {
		x.equal("mesh", x.json("/meshes/default")["meshServices"], map[string]any{"mode": "Everywhere"})
	},
	"PUT /meshes/{mesh}":    func(x *exchanges) { x.writes("/meshes/other", `"type":"Mesh","name":"other"`) },
	"DELETE /meshes/{mesh}": func(x *exchanges) { x.removes("/meshes/gone", `"type":"Mesh","name":"gone"`) },
	"GET /{plural}":         (*exchanges).acrossMeshes,
	"GET /{plural}/{name}": func(x *exchanges) {
		x.equal("item", x.json("/hostnamegenerators/local"), x.items("/hostnamegenerators")[0])
	},
	"PUT /{plural}/{name}": func(x *exchanges) {
		x.writes("/hostnamegenerators/other", `"type":"HostnameGenerator","name":"other","spec":{"template":"x","selector":{"meshService":{"matchLabels":{"a":"b"}}}}`)
	},
	"DELETE /{plural}/{name}": func(x *exchanges) {
		x.removes("/hostnamegenerators/gone", `"type":"HostnameGenerator","name":"gone","spec":{"template":"x","selector":{"meshService":{"matchLabels":{"a":"b"}}}}`)
	},
	"GET /meshes/{mesh}/{plural}":        (*exchanges).documents,
	"GET /meshes/{mesh}/{plural}/{name}": (*exchanges).document,
	"PUT /meshes/{mesh}/{plural}/{name}": (*exchanges).puts,
	"DELETE /meshes/{mesh}/{plural}/{name}": func(x *exchanges) {
		x.removes("/meshes/default/meshtimeouts/gone", `"type":"MeshTimeout","mesh":"default","name":"gone",`+nowhere)
	},
	"GET /_kri/{kri}":        (*exchanges).byKRI,
	"POST /tokens/dataplane": (*exchanges).dataplaneToken,
	"POST /tokens/user": func(x *exchanges) {
		x.equal("parts", strings.Count(x.want(http.StatusOK, http.MethodPost, "/tokens/user", `{"name":"u","groups":["g"],"validFor":"1h"}`), "."), 2)
	},
	"POST /tokens/zone":                                        func(x *exchanges) { x.want(http.StatusNotImplemented, http.MethodPost, "/tokens/zone", `{"zone":"z"}`) },
	"GET /zones/_overview":                                     func(x *exchanges) { x.nothing("/zones/_overview") },
	"GET /zoneingresses/_overview":                             func(x *exchanges) { x.nothing("/zoneingresses/_overview") },
	"GET /zoneegresses/_overview":                              func(x *exchanges) { x.nothing("/zoneegresses/_overview") },
	"GET /meshes/{mesh}/dataplanes/_overview":                  func(x *exchanges) { x.overviews("/meshes/default/dataplanes/_overview") },
	"GET /dataplanes/_overview":                                func(x *exchanges) { x.overviews("/dataplanes/_overview") },
	"GET /meshes/{mesh}/dataplanes+insights":                   func(x *exchanges) { x.overviews("/meshes/default/dataplanes+insights") },
	"GET /meshes/{mesh}/dataplanes/{name}/_overview":           func(x *exchanges) { x.overview(shopOne + "/_overview") },
	"GET /meshes/{mesh}/dataplanes+insights/{name}":            func(x *exchanges) { x.overview("/meshes/default/dataplanes+insights/shop-1") },
	"GET /meshes/{mesh}/{plural}/{name}/_dataplanes":           func(x *exchanges) { x.answering("_dataplanes") },
	"GET /meshes/{mesh}/{plural}/{name}/_hostnames":            (*exchanges).hostnames,
	"GET /meshes/{mesh}/{plural}/{name}/_resources/dataplanes": (*exchanges).selected,
	"GET /meshes/{mesh}/{plural}/{name}/dataplanes":            (*exchanges).attached,
	"GET /meshes/{mesh}/dataplanes/{name}/_rules":              (*exchanges).rules,
	"GET /meshes/{mesh}/dataplanes/{name}/rules":               (*exchanges).olderRules,
	"GET /meshes/{mesh}/dataplanes/{name}/policies":            (*exchanges).matched,
	"GET /meshes/{mesh}/dataplanes/{name}/_layout":             (*exchanges).layout,
	"GET /meshes/{mesh}/dataplanes/{name}/_policies": func(x *exchanges) {
		x.equal("policies", x.json(shopOne+"/_policies"), map[string]any{"policies": []any{}})
	},
	"GET /meshes/{mesh}/dataplanes/{name}/_inbounds/{kri}/_policies":                  (*exchanges).inboundPolicies,
	"GET /meshes/{mesh}/dataplanes/{name}/_outbounds/{kri}/_policies":                 (*exchanges).outboundPolicies,
	"GET /meshes/{mesh}/dataplanes/{name}/_outbounds/{kri}/_routes":                   (*exchanges).routes,
	"GET /meshes/{mesh}/dataplanes/{name}/_outbounds/{kri}/_routes/{route}/_policies": (*exchanges).routePolicies,
	"GET /meshes/{mesh}/dataplanes/{name}/_config":                                    (*exchanges).config,
	"GET /meshes/{mesh}/dataplanes/{name}/xds":                                        (*exchanges).xds,
	"GET /meshes/{mesh}/dataplanes/{name}/stats":                                      (*exchanges).stats,
	"GET /meshes/{mesh}/dataplanes/{name}/clusters":                                   (*exchanges).clusters,
}

// nowhere is a policy that concerns none of the dataplanes.
const nowhere = `"spec":{"targetRef":{"kind":"Dataplane","labels":{"team":"nobody"}},"to":[{"targetRef":{"kind":"Mesh"},"default":{"idleTimeout":"1s"}}]}`

func (x *exchanges) layout() {
	l := x.json(shopOne + "/_layout")
	x.equal("kri", l["kri"], x.kris["Dataplane/shop-1"])
	x.equal("labels", l["labels"].(map[string]any)["team"], "red")
	in := l["inbounds"].([]any)[0].(map[string]any)
	e := x.explained.Inbounds[0]
	x.equal("inbound", in, map[string]any{"kri": x.kris["Dataplane/shop-1"] + "main", "port": e.Port, "protocol": e.Protocol, "proxyResourceName": fmt.Sprintf("inbound:%s:%d", e.Address, e.Port)})
	x.equal("outbounds", len(l["outbounds"].([]any)), len(x.explained.Outbounds))
	for _, out := range x.outbounds() {
		port := out.port
		if out.Destination.Port != 0 {
			port = out.Destination.Port
		}
		x.equal("outbound "+out.kri, []any{out.row["port"], out.row["protocol"]}, []any{port, out.Protocol})
		if kri, ok := x.kris["MeshService/"+out.Destination.Name]; ok && out.Destination.Kind == "MeshService" && !strings.HasPrefix(out.kri, kri) {
			x.t.Errorf("%s is at %s", kri, out.kri)
		}
	}
}

// laidOut is an outbound as the layout has it, with what is explained of it.
type laidOut struct {
	*explain.Outbound
	kri  string
	port uint32
	row  map[string]any
}

func (x *exchanges) outbounds() (out []laidOut) {
	x.t.Helper()
	for _, o := range x.json(shopOne + "/_layout")["outbounds"].([]any) {
		row := o.(map[string]any)
		found := x.outbound(strings.TrimPrefix(row["proxyResourceName"].(string), "outbound:"))
		out = append(out, laidOut{found, row["kri"].(string), found.Port, row})
	}
	return out
}

// policies fails where a list of _policies says other than is explained.
func (x *exchanges) policies(path string, want map[string]sim.Policy) {
	x.t.Helper()
	var kinds []string
	for _, p := range x.json(path)["policies"].([]any) {
		m := p.(map[string]any)
		kind := m["kind"].(string)
		kinds = append(kinds, kind)
		o := opinionOf(want[kind], anybody)
		origins := x.named(kind, m["origins"])
		if list, ok := m["conf"].([]any); ok {
			x.says(path+" "+kind, o, list[0], origins)
			continue
		}
		last := map[string]any{}
		for i, r := range m["rules"].([]any) {
			rule := r.(map[string]any)
			author := x.named(kind, []any{map[string]any{"kri": rule["kri"]}})
			x.says(fmt.Sprint(path, kind, i), opinionOf(want[kind], func(from *api.Origin) bool { return from.Kind+"/"+from.Name == author[0] }), rule["conf"], author)
			IssuedCertificates("", rule["conf"], o.holds, last)
		}
		x.equal(path+" "+kind, last, o.holds)
	}
	x.equal(path+": kinds", slices.Sorted(slices.Values(kinds)), slices.Sorted(maps.Keys(want)))
}

func (x *exchanges) inboundPolicies() {
	x.policies(shopOne+"/_inbounds/"+x.kris["Dataplane/shop-1"]+"main/_policies", x.explained.Inbounds[0].Policies)
}

func (x *exchanges) outboundPolicies() {
	for _, o := range x.outbounds() {
		x.policies(shopOne+"/_outbounds/"+o.kri+"/_policies", o.Policies)
	}
}

// matchesOf are those of routes, in the form of the API.
func matchesOf(routes []explain.Route) (out []any) {
	for _, r := range routes {
		out = append(out, plain(r.Matches))
	}
	return out
}

func (x *exchanges) routes() {
	for _, o := range x.outbounds() {
		var matches []any
		origins := map[string]bool{}
		for _, k := range x.json(shopOne + "/_outbounds/" + o.kri + "/_routes")["routes"].([]any) {
			kind := k.(map[string]any)
			for _, author := range x.named("", kind["origins"]) {
				origins[author] = true
			}
			for _, r := range kind["rules"].([]any) {
				matches = append(matches, r.(map[string]any)["matches"])
			}
		}
		want := map[string]bool{}
		for _, r := range written(o.Outbound) {
			for _, by := range r.Origins {
				want[by.Kind+"/"+by.Name] = true
			}
		}
		x.equal(o.kri+": matches", matches, matchesOf(written(o.Outbound)))
		x.equal(o.kri+": origins", origins, want)
	}
}

func (x *exchanges) routePolicies() {
	for _, o := range x.outbounds() {
		if list := written(o.Outbound); len(list) > 0 && o.Protocol != api.TCP {
			x.policies(shopOne+"/_outbounds/"+o.kri+"/_routes/"+x.kris[list[0].Origins[0].Kind+"/"+list[0].Origins[0].Name]+"/_policies", list[0].Policies)
		}
	}
	x.want(http.StatusBadRequest, http.MethodGet, shopOne+"/_outbounds/"+x.outbounds()[0].kri+"/_routes/none/_policies", "")
}

// matched are the policies and routes that _explain names anywhere.
func (x *exchanges) matched() {
	want := map[string]bool{}
	add := func(list map[string]sim.Policy) {
		for _, p := range list {
			for _, by := range opinionOf(p, anybody).by {
				for _, author := range by {
					want[author] = true
				}
			}
		}
	}
	for _, in := range x.explained.Inbounds {
		add(in.Policies)
	}
	for _, o := range x.explained.Outbounds {
		add(o.Policies)
		for _, r := range o.Routes {
			add(r.Policies)
			for _, by := range r.Origins {
				want[by.Kind+"/"+by.Name] = true
			}
		}
	}
	answer := x.json(shopOne + "/policies")
	got := map[string]bool{}
	for _, item := range answer["items"].([]any) {
		entry := item.(map[string]any)
		x.equal("type", entry["type"], "dataplane")
		for kind, list := range entry["matchedPolicies"].(map[string]any) {
			for _, p := range list.([]any) {
				m := p.(map[string]any)
				author := kind + "/" + m["name"].(string)
				got[author] = true
				x.equal(author, m["kri"], x.kris[author])
			}
		}
	}
	x.equal("policies", got, want)
	x.equal("kind", answer["kind"], "SidecarDataplane")
}

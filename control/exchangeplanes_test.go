package control_test

import (
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/weftmesh/weft/sim"
)

// overview: the Dataplane as it was written, and a sidecar that has confirmed what it was sent.
func (x *exchanges) overview(path string) {
	m := x.json(path)
	x.equal("networking", m["dataplane"].(map[string]any)["networking"], x.json(shopOne)["networking"])
	subs := m["dataplaneInsight"].(map[string]any)["subscriptions"].([]any)
	sub := subs[len(subs)-1].(map[string]any)
	status := sub["status"].(map[string]any)
	x.equal("connected", []any{sub["connectTime"] != nil, sub["disconnectTime"] == nil, *x.explained.Connected}, []any{true, true, true})
	total := status["total"].(map[string]any)
	x.equal("counts", []any{total["responsesSent"] != "0", total["responsesAcknowledged"] != "0", total["responsesRejected"]}, []any{true, true, "0"})
	x.equal("versions", slices.Sorted(maps.Keys(sub["version"].(map[string]any))), []string{"envoy", "kumaDp"})
}

func (x *exchanges) overviews(path string) {
	online := 0
	for _, item := range x.items(path) {
		m := item.(map[string]any)
		x.equal("type", m["type"], "DataplaneOverview")
		if m["dataplaneInsight"] != nil {
			online++
		}
	}
	total, want := x.connected()
	x.equal("overviews", []any{x.json(path)["total"], online}, []any{total, want})
	x.equal("by tag", x.json(path + "?tag=app:item")["total"], 1)
	x.equal("by label", x.json(path + "?filter[labels.team]=red")["total"], 1)
	x.equal("gateways", x.json(path + "?gateway=true")["total"], 0)
}

// answering: the dataplanes behind a service, where _explain says that it is called.
func (x *exchanges) answering(view string) {
	for _, o := range x.outbounds() {
		if o.Destination.Kind != "MeshService" || x.kris["MeshService/"+o.Destination.Name] == "" {
			continue
		}
		var names []any
		for _, item := range x.items("/meshes/default/meshservices/" + o.Destination.Name + "/" + view) {
			names = append(names, item.(map[string]any)["name"])
		}
		x.equal(o.Destination.Name, names, []any{o.Destination.Name + "-1"})
	}
	x.want(http.StatusBadRequest, http.MethodGet, "/meshes/default/meshtimeouts/all/_dataplanes", "")
}

func (x *exchanges) hostnames() {
	names := x.items("/meshes/default/meshservices/items/_hostnames")
	x.equal("hostnames", names, []any{map[string]any{"hostname": "items.mesh.local", "zones": []any{map[string]any{"name": "default"}}}})
	status := x.json("/meshes/default/meshservices/items")["status"].(map[string]any)
	x.equal("in status", status["addresses"].([]any)[0].(map[string]any)["hostname"], "items.mesh.local")
	x.want(http.StatusBadRequest, http.MethodGet, "/meshes/default/meshtimeouts/all/_hostnames", "")
}

// selections are the policies and routes with whom _explain of each says that it concerns.
func (x *exchanges) selections(view string, name func(map[string]any) any) {
	x.answering("_resources/dataplanes")
	for _, r := range x.kinds() {
		kind := r["name"].(string)
		for author := range x.kris {
			of, object, _ := strings.Cut(author, "/")
			if of != kind || !strings.HasPrefix(kind, "Mesh") || kind == "MeshService" {
				continue
			}
			var got []any
			for _, item := range x.items(listOf(r) + "/" + object + "/" + view) {
				got = append(got, name(item.(map[string]any)))
			}
			takesPart := slices.Contains(got, any("shop-1"))
			if x.takesPart(author) && !takesPart {
				x.t.Errorf("%s takes part at shop-1 and does not select it: %v", author, got)
			}
			e := x.json(listOf(r) + "/" + object + "/_explain")
			if n := e["dataplanes"]; n != nil && text(n) != "[]" {
				x.equal(author, slices.Contains(n.([]any), any("shop-1")), takesPart)
			}
		}
	}
}

// takesPart reports whether _explain of the dataplane names a policy or route.
func (x *exchanges) takesPart(author string) bool {
	kind, name, _ := strings.Cut(author, "/")
	said := func(list map[string]sim.Policy) bool {
		for _, p := range list {
			for _, by := range opinionOf(p, anybody).by {
				if slices.Contains(by, author) {
					return true
				}
			}
		}
		return false
	}
	for _, o := range x.explained.Outbounds {
		for _, r := range o.Routes {
			if said(r.Policies) || len(r.Origins) > 0 && r.Origins[0].Kind == kind && r.Origins[0].Name == name {
				return true
			}
		}
		if said(o.Policies) {
			return true
		}
	}
	return said(x.explained.Inbounds[0].Policies)
}

func (x *exchanges) selected() {
	x.selections("_resources/dataplanes", func(m map[string]any) any { return m["name"] })
}

func (x *exchanges) attached() {
	x.selections("dataplanes", func(m map[string]any) any { return m["dataplane"].(map[string]any)["name"] })
}

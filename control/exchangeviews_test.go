package control_test

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/weftmesh/weft/inspect"
	"github.com/weftmesh/weft/sim"
)

func (x *exchanges) index() {
	m := x.json("/")
	version, _ := m["version"].(string)
	x.equal("product", []any{m["product"], strings.HasPrefix(version, "2.13."), m["basedOnKuma"], m["weft"].(map[string]any)["version"] != nil}, []any{"Kuma", true, version, true})
}

// kinds are all types of documents with what _resources says.
func (x *exchanges) kinds() (out []map[string]any) {
	x.t.Helper()
	for _, r := range x.json("/_resources")["resources"].([]any) {
		out = append(out, r.(map[string]any))
	}
	return out
}

// listOf is where the documents of a type are listed.
func listOf(r map[string]any) string {
	if r["scope"] == "Mesh" {
		return "/meshes/default/" + r["path"].(string)
	}
	return "/" + r["path"].(string)
}

// resources: sorted by name, each with a list that holds documents of that type alone.
func (x *exchanges) resources() {
	var all []string
	for _, r := range x.kinds() {
		all = append(all, r["name"].(string))
		for _, item := range x.items(listOf(r)) {
			if kind := item.(map[string]any)["type"]; kind != nil {
				x.equal(listOf(r), kind, r["name"])
			}
		}
	}
	x.equal("order", slices.IsSorted(all), true)
	for _, want := range []string{"Dataplane", "Mesh", "MeshHTTPRoute", "MeshRetry", "MeshService", "MeshTimeout"} {
		x.equal(want, slices.Contains(all, want), true)
	}
}

func (x *exchanges) policyTypes() {
	var want, got []string
	for _, r := range x.kinds() {
		if r["policy"] != nil {
			want = append(want, r["path"].(string))
		}
	}
	for _, p := range x.json("/policies")["policies"].([]any) {
		got = append(got, p.(map[string]any)["path"].(string))
	}
	x.equal("paths", slices.Sorted(slices.Values(got)), slices.Sorted(slices.Values(want)))
}

// counts are how many documents lists hold, by type: of policies, and of all in a mesh.
func (x *exchanges) counts() (policies, all map[string]any) {
	policies, all = map[string]any{}, map[string]any{}
	for _, r := range x.kinds() {
		total := x.json(listOf(r))["total"].(float64)
		if total == 0 || r["scope"] != "Mesh" || strings.HasPrefix(listOf(r), "/k8s/") {
			continue
		}
		all[r["name"].(string)] = map[string]any{"total": total}
		if r["policy"] != nil {
			policies[r["name"].(string)] = map[string]any{"total": total}
		}
	}
	return policies, all
}

// connected is how many dataplanes there are, and of how many _explain says that their sidecar
// is connected.
func (x *exchanges) connected() (total, online int) {
	for _, item := range x.items("/meshes/default/dataplanes" + all) {
		total++
		if e := get[inspect.Explanation](x.plane, "/meshes/default/dataplanes/"+item.(map[string]any)["name"].(string)+"/_explain"); e.Connected != nil && *e.Connected {
			online++
		}
	}
	return total, online
}

func (x *exchanges) meshInsight() {
	m := x.json("/mesh-insights/default")
	total, online := x.connected()
	counted := map[string]any{"total": total, "online": online, "offline": total - online}
	policies, resources := x.counts()
	x.equal("dataplanes", m["dataplanes"], counted)
	x.equal("standard", m["dataplanesByType"].(map[string]any)["standard"], counted)
	x.equal("policies", m["policies"], policies)
	x.equal("resources", m["resources"], resources)
	x.equal("services", m["services"], map[string]any{"total": total, "internal": total})
	versions := 0
	for _, v := range m["dpVersions"].(map[string]any)["envoy"].(map[string]any) {
		versions += int(v.(map[string]any)["online"].(float64))
	}
	x.equal("Envoys", versions, online)
}

func (x *exchanges) globalInsight() {
	m := x.json("/global-insight")
	total, online := x.connected()
	x.equal("dataplanes", m["dataplanes"].(map[string]any)["standard"], map[string]any{"total": total, "online": online, "offline": total - online, "partiallyDegraded": 0})
	x.equal("services", m["services"].(map[string]any)["internal"], map[string]any{"total": total, "online": online, "offline": total - online, "partiallyDegraded": 0})
	x.equal("meshes", m["meshes"], map[string]any{"total": x.json("/meshes")["total"]})
	policies, _ := x.counts()
	sum := 0.0
	for _, p := range policies {
		sum += p.(map[string]any)["total"].(float64)
	}
	x.equal("policies", m["policies"], map[string]any{"total": sum})
}

// services: those of the dataplanes, which answer where a sidecar is connected.
func (x *exchanges) services() {
	states := map[string]any{}
	for _, item := range x.items("/meshes/default/service-insights") {
		m := item.(map[string]any)
		states[m["name"].(string)] = m["status"]
		x.equal("type", m["type"], "ServiceOverview")
	}
	x.equal("services", states, map[string]any{"shop": "online", "items-classic": "offline", "redis-classic": "offline", "old": "offline"})
	x.nothing("/meshes/default/service-insights?type=external")
}

func (x *exchanges) service() {
	m := x.json("/meshes/default/service-insights/shop")
	x.equal("shop", []any{m["type"], m["dataplanes"], m["status"]}, []any{"ServiceInsight", map[string]any{"total": 1, "online": 1}, "online"})
}

// writes holds the two answers of a PUT.
func (x *exchanges) writes(path, fields string) {
	x.want(http.StatusCreated, http.MethodPut, path, "{"+fields+"}")
	x.want(http.StatusOK, http.MethodPut, path, "{"+fields+"}")
}

func (x *exchanges) removes(path, fields string) {
	x.want(http.StatusNotFound, http.MethodDelete, path, "")
	x.want(http.StatusCreated, http.MethodPut, path, "{"+fields+"}")
	x.equal("removed", strings.TrimSpace(x.want(http.StatusOK, http.MethodDelete, path, "")), "{}")
	x.want(http.StatusNotFound, http.MethodGet, path, "")
}

func (x *exchanges) puts() {
	x.writes("/meshes/default/meshtimeouts/other", `"type":"MeshTimeout","mesh":"default","name":"other",`+nowhere)
	if said := x.want(http.StatusBadRequest, http.MethodPut, "/meshes/default/external-services/x", `{"type":"ExternalService","mesh":"default","name":"x","spec":{}}`); !strings.Contains(said, "weft has no ExternalService") {
		x.t.Error(said)
	}
	const service = `{"type":"MeshService","mesh":"default","name":"kumactls","spec":{"state":"Unavailable","selector":{"dataplaneTags":{"app":"none"}},"ports":[{"port":80,"targetPort":80,"appProtocol":"tcp"}]}}`
	x.want(http.StatusCreated, http.MethodPut, "/meshes/default/meshservices/kumactls", service)
	x.want(http.StatusOK, http.MethodDelete, "/meshes/default/meshservices/kumactls", "")
}

// nothing is an empty list in the form that clients want.
func (x *exchanges) nothing(path string) {
	x.t.Helper()
	x.equal(path, x.json(path), map[string]any{"total": 0, "items": []any{}, "next": nil})
}

// documents: those that were written, in order, and the empty lists of kinds that weft has not.
func (x *exchanges) documents() {
	var got []string
	for _, item := range x.items("/meshes/default/meshtimeouts") {
		got = append(got, item.(map[string]any)["name"].(string))
	}
	x.equal("timeouts", got, []string{"a-shadow", "all", "items", "of-old", "platform"})
	for _, path := range []string{"external-services", "secrets", "meshidentities", "meshtrusts", "meshtrafficpermissions", "meshgatewayroutes", "workloads", "traffic-routes", "retries", "timeouts"} {
		x.nothing("/meshes/default/" + path)
	}
}

func (x *exchanges) acrossMeshes() {
	x.equal("dataplanes", x.items("/dataplanes"), x.items("/meshes/default/dataplanes"))
	for _, path := range []string{"zones", "zoneingresses", "zoneegresses", "external-services"} {
		x.nothing("/" + path)
	}
}

// document: one is as its list has it, and a service says who answers for it.
func (x *exchanges) document() {
	for author := range x.kris {
		kind, name, _ := strings.Cut(author, "/")
		for _, r := range x.kinds() {
			if r["name"] == kind {
				x.equal(author, x.json(listOf(r) + "/" + name)["kri"], x.kris[author])
			}
		}
	}
	status := x.json("/meshes/default/meshservices/items")["status"].(map[string]any)
	x.equal("proxies", status["dataplaneProxies"].(map[string]any)["total"], x.json("/meshes/default/meshservices/items/_dataplanes")["total"])
}

func (x *exchanges) byKRI() {
	for author, kri := range x.kris {
		m := x.json("/_kri/" + kri)
		x.equal(author, fmt.Sprint(m["type"], "/", m["name"]), author)
	}
	x.want(http.StatusBadRequest, http.MethodGet, "/_kri/none", "")
}

// dataplaneToken: kumactl sends what it has nothing for, and other versions what weft has not.
func (x *exchanges) dataplaneToken() {
	token := x.want(http.StatusOK, http.MethodPost, "/tokens/dataplane", `{"mesh":"default","name":"shop-1","type":"dataplane","workload":"","tags":{"":[]},"validFor":"1h","brandNew":true}`)
	x.equal("parts", strings.Count(token, "."), 2)
}

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

package control_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/weftmesh/weft/inspect/explain"
)

func (x *exchanges) index() {
	m := x.json("/")
	version, _ := m["version"].(string)
	x.equal("product", []any{m["product"], strings.HasPrefix(version, "2.13."), m["basedOnKuma"], m["weft"].(map[string]any)["version"] != nil}, []any{"Kuma", true, version, true})
	x.indexForAnybody()
}

// indexForAnybody: kumactl asks who answers before it has a token, and is told what those are told
// who have one; it is told nothing else.
func (x *exchanges) indexForAnybody() {
	c := config(x.t)
	c.AdminAuth = "token"
	p := start(x.t, c)
	defer p.stop()
	known := p.want(http.StatusOK, http.MethodGet, "/", "")
	p.token = ""
	x.equal("without credentials", p.want(http.StatusOK, http.MethodGet, "/", ""), known)
	p.want(http.StatusUnauthorized, http.MethodGet, "/meshes", "")
}

// bootstrap: kuma-dp gets the form that it reads, with the address of the Dataplane, and in it the
// Envoy configuration that others get bare.
func (x *exchanges) bootstrap() {
	ask := func(accept string) (body []byte) {
		req, err := http.NewRequest(http.MethodPost, "http://"+x.XDS()+"/bootstrap", strings.NewReader(`{"mesh":"default","name":"shop-1","proxyType":"dataplane","version":{"kumaDp":{"version":"2.13.0"}}}`))
		if err != nil {
			x.t.Fatal(err)
		}
		req.Header.Set("Accept", accept)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			x.t.Fatal(err)
		}
		defer resp.Body.Close()
		if body, err = io.ReadAll(resp.Body); err != nil || resp.StatusCode != http.StatusOK {
			x.t.Fatalf("%d %s, %v", resp.StatusCode, body, err)
		}
		return body
	}
	var wrapped struct {
		Bootstrap                []byte
		KumaSidecarConfiguration map[string]any
	}
	if err := json.Unmarshal(ask("application/json"), &wrapped); err != nil {
		x.t.Fatal(err)
	}
	networking := x.json(shopOne)["networking"].(map[string]any)
	x.equal("sidecar", wrapped.KumaSidecarConfiguration, map[string]any{"networking": map[string]any{"address": networking["address"], "corefileTemplate": ""}, "metrics": map[string]any{"aggregate": []any{}}})
	var inner struct{ Node struct{ ID string } }
	if err := json.Unmarshal(wrapped.Bootstrap, &inner); err != nil {
		x.t.Fatal(err)
	}
	x.equal("node", inner.Node.ID, "default."+x.explained.Dataplane)
	x.equal("bare", string(ask("*/*")), string(wrapped.Bootstrap))
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
		if e := get[explain.Explanation](x.plane, "/meshes/default/dataplanes/"+item.(map[string]any)["name"].(string)+"/_explain"); e.Connected != nil && *e.Connected {
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
	x.equal("shop", []any{m["type"], m["dataplanes"], m["status"]}, []any{"ServiceInsight", map[string]any{"total": 1, "online": 1, "offline": 0}, "online"})
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

// documents: those that were written, in order, and the empty lists of kinds of which there are
// none, whether weft has them or not.
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

// dataplaneToken: kumactl sends what it has nothing for, and other versions what weft has not; what
// else it sends, the token binds.
func (x *exchanges) dataplaneToken() {
	for asked, want := range map[string]map[string]any{
		`"workload":"","tags":{"":[]},"brandNew":true`:                             {"mesh": "default", "name": "shop-1"},
		`"workload":"till","tags":{"":[],"kuma.io/service":["shop"],"team":["a"]}`: {"mesh": "default", "name": "shop-1", "workload": "till", "tags": map[string]any{"kuma.io/service": []any{"shop"}, "team": []any{"a"}}},
	} {
		token := x.want(http.StatusOK, http.MethodPost, "/tokens/dataplane", `{"mesh":"default","name":"shop-1","type":"dataplane","validFor":"1h",`+asked+`}`)
		parts := strings.Split(strings.Trim(strings.TrimSpace(token), `"`), ".")
		x.equal("parts", len(parts), 3)
		said, err := base64.RawURLEncoding.DecodeString(parts[1])
		if err != nil {
			x.t.Fatal(err)
		}
		claims := map[string]any{}
		if err := json.Unmarshal(said, &claims); err != nil {
			x.t.Fatal(err)
		}
		got := map[string]any{}
		for _, name := range []string{"mesh", "name", "workload", "tags"} {
			if v, ok := claims[name]; ok {
				got[name] = v
			}
		}
		x.equal(asked, got, want)
	}
}

package control_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/weftmesh/weft/inspect"
	"github.com/weftmesh/weft/inspect/conditions"
	"github.com/weftmesh/weft/inspect/explain"
	"github.com/weftmesh/weft/inspect/mtls"
	"github.com/weftmesh/weft/inspect/permissions"
	"github.com/weftmesh/weft/inspect/web/requests"
	"github.com/weftmesh/weft/sim"
)

// ownRows are the endpoints that Kuma has not, with what their answers have to say. Each row has
// the answer of success, which the client of all tests judges by the OpenAPI document.
var ownRows = map[string]func(*exchanges){
	"GET /healthz": func(x *exchanges) { x.want(http.StatusOK, http.MethodGet, "/healthz", "") },
	"GET /readyz":  func(x *exchanges) { x.want(http.StatusOK, http.MethodGet, "/readyz", "") },
	"GET /metrics": func(x *exchanges) {
		if m := x.want(http.StatusOK, http.MethodGet, "/metrics", ""); !strings.Contains(m, "weft_streams") {
			x.t.Error("no streams are counted")
		}
	},
	"GET /metrics/traffic": func(x *exchanges) {
		if m := x.want(http.StatusOK, http.MethodGet, "/metrics/traffic", ""); !strings.Contains(m, "\nweft_request_series 0\n") {
			x.t.Errorf("nothing was called, and there is %s", m)
		}
	},
	"GET /_openapi.json": func(x *exchanges) {
		doc, err := described()
		if err != nil {
			x.t.Fatal(err)
		}
		x.equal("paths", len(x.json("/_openapi.json")["paths"].(map[string]any)), len(doc.Paths))
	},
	"GET /_schemas/{kind}":                                                 (*exchanges).schemas,
	"GET /_events":                                                         (*exchanges).recent,
	"GET /tokens/revoked":                                                  (*exchanges).revokes,
	"POST /tokens/revoke":                                                  (*exchanges).revokes,
	"POST /_apply":                                                         (*exchanges).applies,
	"GET /_history":                                                        (*exchanges).turnsBack,
	"GET /_diff":                                                           (*exchanges).turnsBack,
	"POST /_rollback":                                                      (*exchanges).turnsBack,
	"GET /meshes/{mesh}/_sidecars":                                         (*exchanges).follows,
	"GET /meshes/{mesh}/_status":                                           (*exchanges).follows,
	"GET /meshes/{mesh}/_traffic":                                          (*exchanges).traffic,
	"GET /meshes/{mesh}/_requests":                                         (*exchanges).requests,
	"GET /meshes/{mesh}/_requests/{id}":                                    (*exchanges).requests,
	"GET /meshes/{mesh}/dataplanes/{name}/_requests":                       (*exchanges).requests,
	"POST /meshes/{mesh}/_taps":                                            (*exchanges).requests,
	"GET /_problems":                                                       (*exchanges).problems,
	"GET /meshes/{mesh}/_mtls":                                             (*exchanges).plaintextAll,
	"GET /meshes/{mesh}/_permissions":                                      (*exchanges).plaintextAll,
	"GET /meshes/{mesh}/_authorities":                                      (*exchanges).turnsRoots,
	"POST /meshes/{mesh}/_authorities/rotate":                              (*exchanges).turnsRoots,
	"POST /meshes/{mesh}/_authorities/abort":                               (*exchanges).turnsRoots,
	"POST /meshes/{mesh}/_authorities/revoke":                              (*exchanges).turnsRoots,
	"GET /meshes/{mesh}/dataplanes/{name}/_explain":                        (*exchanges).explains,
	"POST /meshes/{mesh}/dataplanes/{name}/_simulate":                      (*exchanges).simulates,
	"GET /meshes/{mesh}/{plural}/{name}/_explain":                          (*exchanges).explainsObjects,
	"GET /k8s/{group}/{version}/{plural}/{name}":                           func(x *exchanges) { x.ofKubernetes(clusterWide) },
	"PUT /k8s/{group}/{version}/{plural}/{name}":                           func(x *exchanges) { x.ofKubernetes(clusterWide) },
	"DELETE /k8s/{group}/{version}/{plural}/{name}":                        func(x *exchanges) { x.ofKubernetes(clusterWide) },
	"GET /k8s/{group}/{version}/namespaces/{namespace}/{plural}/{name}":    func(x *exchanges) { x.ofKubernetes(namespaced) },
	"PUT /k8s/{group}/{version}/namespaces/{namespace}/{plural}/{name}":    func(x *exchanges) { x.ofKubernetes(namespaced) },
	"DELETE /k8s/{group}/{version}/namespaces/{namespace}/{plural}/{name}": func(x *exchanges) { x.ofKubernetes(namespaced) },
}

// schemas: one for each type of documents in meshes.
func (x *exchanges) schemas() {
	for _, kind := range []string{"Mesh", "Dataplane", "MeshRetry", "MeshHTTPRoute", "HostnameGenerator"} {
		if s := x.json("/_schemas/" + kind + ".json"); !strings.Contains(text(s), `"`+kind+`"`) {
			x.t.Errorf("the schema of %s does not name it", kind)
		}
	}
}

// recent: the change by which everything was written is told.
func (x *exchanges) recent() {
	told := false
	for _, e := range x.items("/_events?follow=false&type=change") {
		told = told || e.(map[string]any)["object"] == "MeshRetry/default/all"
	}
	x.equal("told", told, true)
}

func (x *exchanges) revokes() {
	said := x.want(http.StatusOK, http.MethodPost, "/tokens/revoke", `{"ids":["a-token"]}`)
	x.equal("revoked", strings.TrimSpace(said), `{"revoked":1}`)
	x.equal("ids", x.json("/tokens/revoked")["ids"], []string{"a-token"})
}

// applies: what is planned is what is written.
func (x *exchanges) applies() {
	const document = `{"type":"MeshTimeout","mesh":"default","name":"applied",` + nowhere + "}"
	of := func(query string) (out struct{ Results []map[string]string }) {
		said := x.want(http.StatusOK, http.MethodPost, "/_apply"+query, document)
		if err := json.Unmarshal([]byte(said), &out); err != nil {
			x.t.Fatal(err)
		}
		return out
	}
	want := []map[string]string{{"object": "MeshTimeout/default/applied", "action": "created"}}
	x.equal("planned", of("?dryRun=true&include=diff").Results, want)
	x.equal("written", of("").Results, want)
	x.want(http.StatusOK, http.MethodDelete, "/meshes/default/meshtimeouts/applied", "")
}

// turnsBack: what the history has last is what differs, and the way back takes it away.
func (x *exchanges) turnsBack() {
	const path = "/meshes/default/meshtimeouts/undone"
	before := x.items("/_history?size=1")[0].(map[string]any)["revision"].(float64)
	x.want(http.StatusCreated, http.MethodPut, path, `{"type":"MeshTimeout","mesh":"default","name":"undone",`+nowhere+"}")
	last := x.items("/_history?size=1")[0].(map[string]any)
	x.equal("objects", last["objects"], []any{map[string]string{"object": "MeshTimeout/default/undone", "action": "created"}})
	x.equal("user", last["user"], "anonymous")
	changes := x.json(fmt.Sprintf("/_diff?from=%.0f&to=%.0f", before, last["revision"]))["changes"]
	x.equal("changes", changes, []any{map[string]string{"object": "MeshTimeout/default/undone", "action": "create"}})
	x.want(http.StatusOK, http.MethodPost, fmt.Sprintf("/_rollback?to=%.0f", before), "")
	x.want(http.StatusNotFound, http.MethodGet, path, "")
}

// follows: each dataplane is where _explain says that its sidecar is.
func (x *exchanges) follows() {
	total, online := x.connected()
	var page struct {
		Total  int
		States map[inspect.State]int
		Items  []struct {
			Name  string
			State inspect.State
		}
	}
	eventually(x.t, "its Envoy has confirmed all", func() bool {
		page.States = nil
		if err := json.Unmarshal([]byte(x.want(http.StatusOK, http.MethodGet, "/meshes/default/_sidecars"+all, "")), &page); err != nil {
			x.t.Fatal(err)
		}
		return page.States["in sync"] == online
	})
	x.equal("sidecars", []int{page.Total, len(page.Items), page.States["missing"]}, []int{total, total, total - online})
	sync := get[conditions.Overview](x.plane, "/meshes/default/_status"+all).Sidecars
	x.equal("status", []int{sync.Total, sync.InSync, sync.Absent}, []int{total, online, total - online})
}

// traffic: nothing was counted, and the sidecars that report nothing are told.
func (x *exchanges) traffic() {
	_, online := x.connected()
	for _, by := range []string{"service", "caller", "route", "rule"} {
		answer := get[requests.Answer](x.plane, "/meshes/default/_traffic?window=15m&by="+by)
		x.equal("by "+by, []any{answer.Total, len(answer.Items), answer.Unknown.Sidecars, answer.Since.IsZero()}, []any{0, 0, online, false})
	}
	x.want(http.StatusBadRequest, http.MethodGet, "/meshes/default/_traffic?by=nothing", "")
	x.want(http.StatusNotFound, http.MethodGet, "/meshes/none/_traffic", "")
}

// requests: none has failed, as the agent of a sidecar says; who has no agent is asked in vain.
func (x *exchanges) requests() {
	answer := get[requests.RequestsAnswer](x.plane, "/meshes/default/_requests")
	x.equal("kept", []int{len(answer.Items), answer.Unknown.Sidecars}, []int{0, 0})
	x.want(http.StatusNotFound, http.MethodGet, "/meshes/default/_requests/none", "")
	x.want(http.StatusBadRequest, http.MethodPost, "/meshes/default/_taps", "{}")
	x.want(http.StatusNotFound, http.MethodGet, "/meshes/default/dataplanes/nobody/_requests", "")
	asked := 0
	for _, item := range x.items("/meshes/default/dataplanes" + all) {
		name := item.(map[string]any)["name"].(string)
		code, _ := x.plane.call(http.MethodGet, "/meshes/default/dataplanes/"+name+"/_requests", "")
		e := get[explain.Explanation](x.plane, "/meshes/default/dataplanes/"+name+"/_explain")
		if connected := e.Connected != nil && *e.Connected; connected && code == http.StatusOK {
			asked++
		} else if code != http.StatusServiceUnavailable {
			x.t.Errorf("%s is asked, connected: %v: %d", name, connected, code)
		}
	}
	if asked == 0 {
		x.t.Error("no agent answers")
	}
}

// problems: of whom _explain has notes, and of nobody else.
func (x *exchanges) problems() {
	const path = "/meshes/default/meshretries/lost"
	x.want(http.StatusCreated, http.MethodPut, path, `{"type":"MeshRetry","mesh":"default","name":"lost","spec":{"targetRef":{"kind":"MeshHTTPRoute","name":"none"},"to":[{"targetRef":{"kind":"Mesh"},"default":{"http":{"numRetries":1}}}]}}`)
	x.equal("with a target that is not there", strings.Contains(text(x.items("/_problems")), `"owner":"MeshRetry/default/lost"`), true)
	x.equal("as it is explained", strings.Contains(text(x.json(path+"/_explain")), `"TargetNotFound"`), true)
	x.want(http.StatusOK, http.MethodDelete, path, "")
	x.equal("without it", strings.Contains(text(x.items("/_problems")), "lost"), false)
}

// plaintextAll: nobody has an identity, which _explain says too, so that all is plain and open.
func (x *exchanges) plaintextAll() {
	m := get[mtls.MTLS](x.plane, "/meshes/default/_mtls")
	total, _ := x.connected()
	x.equal("mTLS", []any{string(m.Phase.Name), m.Total, x.explained.Identity}, []any{"Off", total, nil})
	rows := get[permissions.Permissions](x.plane, "/meshes/default/_permissions").Items
	if len(rows) == 0 {
		x.t.Error("nobody is permitted anything")
	}
	for _, r := range rows {
		x.equal(r.Destination.Service, []string{r.Access, r.Caller.Identity}, []string{permissions.OpenAccess, ""})
	}
}

// turnsRoots: the authority of a mesh with mutual TLS is turned, turned back, and takes back what
// it said of somebody.
func (x *exchanges) turnsRoots() {
	p := start(x.t, guarded(x.t))
	defer p.stop()
	p.want(http.StatusOK, http.MethodPost, "/_apply", calling("web-1", "web", "payments")+fmt.Sprintf(mutual, "ca-1", builtin)) // else a rotation is over at once
	eventually(x.t, "there is an authority", func() bool { return len(p.authorities()) == 1 && p.authorities()[0].Phase == "Steady" })
	first := p.authorities()[0]
	begun := p.want(http.StatusOK, http.MethodPost, "/meshes/default/_authorities/rotate", `{"spread":"1h"}`)
	x.equal("begun", strings.Contains(begun, first.Signs), true)
	p.want(http.StatusOK, http.MethodPost, "/meshes/default/_authorities/abort", "{}")
	eventually(x.t, "the first root signs", func() bool { return p.authorities()[0].Signs == first.Signs })
	p.want(http.StatusOK, http.MethodPost, "/meshes/default/_authorities/revoke", `{"spiffeID":"spiffe://default/web","dryRun":true}`)
	p.want(http.StatusOK, http.MethodPost, "/meshes/default/_authorities/revoke", `{"spiffeID":"spiffe://default/web"}`)
}

// explains: at once the same as in parts.
func (x *exchanges) explains() {
	e := get[explain.Explanation](x.plane, shopOne+"/_explain")
	x.equal("outbounds", e.Outbounds, x.explained.Outbounds)
	x.equal("to one", get[explain.Explanation](x.plane, shopOne+"/_explain?to=items").OutboundsTotal, 1)
}

// simulates: a request meets the route and the retries that are explained.
func (x *exchanges) simulates() {
	said := x.want(http.StatusOK, http.MethodPost, shopOne+"/_simulate", `{"method":"GET","url":"http://items:80/v2"}`)
	var v sim.Verdict
	if err := json.Unmarshal([]byte(said), &v); err != nil {
		x.t.Fatal(err)
	}
	compared := 0
	for _, o := range x.explained.Outbounds {
		for _, r := range o.Routes {
			if v.Branches[0].Route != nil && r.Name == v.Branches[0].Route.Name {
				compared++
				x.equal(r.Name, opinionOf(v.Branches[0].Policies["MeshRetry"], anybody).holds, opinionOf(r.Policies["MeshRetry"], anybody).holds)
			}
		}
	}
	x.equal("routes", compared, 1)
}

// explainsObjects: who takes part at shop-1 says so.
func (x *exchanges) explainsObjects() {
	for author, at := range map[string]string{"MeshRetry/all": "meshretries", "MeshTimeout/items": "meshtimeouts", "MeshHTTPRoute/of-items": "meshhttproutes"} {
		_, name, _ := strings.Cut(author, "/")
		names, _ := x.json("/meshes/default/" + at + "/" + name + "/_explain")["dataplanes"].([]any)
		x.equal(author, slices.Contains(names, any("shop-1")), x.takesPart(author))
	}
}

// Documents in the envelope of Kubernetes, each with its path.
var (
	clusterWide = [2]string{"/k8s/core/v1/namespaces/shop", `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"shop"}}`}
	namespaced  = [2]string{"/k8s/gateway.networking.k8s.io/v1/namespaces/shop/httproutes/r", `{"apiVersion":"gateway.networking.k8s.io/v1","kind":"HTTPRoute","metadata":{"name":"r","namespace":"shop"},"spec":{"parentRefs":[{"group":"","kind":"Service","name":"k"}]}}`}
)

func (x *exchanges) ofKubernetes(document [2]string) {
	path, body := document[0], document[1]
	x.want(http.StatusCreated, http.MethodPut, path, body)
	x.want(http.StatusOK, http.MethodPut, path, body)
	var want map[string]any
	if err := json.Unmarshal([]byte(body), &want); err != nil {
		x.t.Fatal(err)
	}
	stored := x.json(path)
	for _, part := range []string{"kind", "spec"} {
		if want[part] != nil {
			x.equal(part, stored[part], want[part])
		}
	}
	x.want(http.StatusOK, http.MethodDelete, path, "")
	x.want(http.StatusNotFound, http.MethodGet, path, "")
}

package control_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

const retryAll = `{"type":"MeshRetry","mesh":"default","name":"mr-1","labels":{"team":"a"},"spec":{"to":[{"targetRef":{"kind":"Mesh"},"default":{"http":{"numRetries":3}}}]}}`

// world is two dataplanes, a route between them and a policy on it.
const worldDocs = `
type: Mesh
name: default
meshServices: {mode: Exclusive}
---
type: MeshService
mesh: default
name: backend
spec: {selector: {dataplaneTags: {app: backend}}, ports: [{port: 80, targetPort: 8080, appProtocol: http}]}
---
type: Dataplane
mesh: default
name: frontend-1
networking:
  address: 127.0.0.1
  inbound: [{port: 9090, tags: {kuma.io/service: frontend, kuma.io/protocol: http}}]
  outbound: [{port: 10001, backendRef: {kind: MeshService, name: backend, port: 80}}]
---
type: Dataplane
mesh: default
name: backend-1
networking:
  address: 127.0.0.2
  inbound: [{port: 8080, tags: {kuma.io/service: backend, kuma.io/protocol: http, app: backend}}]
---
type: MeshHTTPRoute
mesh: default
name: route-1
spec:
  to:
    - targetRef: {kind: MeshService, name: backend}
      rules:
        - matches: [{path: {type: PathPrefix, value: /v1}}]
          default: {}
---
type: MeshRetry
mesh: default
name: mr-route
spec:
  targetRef: {kind: MeshHTTPRoute, name: route-1}
  to:
    - targetRef: {kind: Mesh}
      default: {http: {numRetries: 7}}
`

func TestPutCreatesThenUpdatesThenDeletes(t *testing.T) {
	t.Parallel()
	p := start(t, config(t))
	const path = "/meshes/default/meshretries/mr-1"
	p.want(http.StatusNotFound, http.MethodGet, path, "")
	if got := p.want(http.StatusCreated, http.MethodPut, path, retryAll); strings.TrimSpace(got) != "{}" {
		t.Errorf("created: %s", got)
	}
	p.want(http.StatusOK, http.MethodPut, path, strings.ReplaceAll(retryAll, "3", "4"))
	item := get[map[string]any](p, path)
	for field, want := range map[string]string{"type": "MeshRetry", "mesh": "default", "name": "mr-1", "kri": "kri_mr_default_default__mr-1_"} {
		if item[field] != want {
			t.Errorf("%s is %v", field, item[field])
		}
	}
	labels, _ := json.Marshal(item["labels"])
	if string(labels) != `{"kuma.io/display-name":"mr-1","kuma.io/env":"universal","kuma.io/origin":"zone","kuma.io/zone":"default","team":"a"}` {
		t.Errorf("labels are %s", labels)
	}
	if item["creationTime"] == nil || item["modificationTime"] == nil {
		t.Error("times are missing")
	}
	conditions, _ := json.Marshal(item["status"])
	if !strings.Contains(string(conditions), `"type":"Accepted"`) {
		t.Errorf("status is %s", conditions)
	}
	if got := get[map[string]any](p, "/_kri/kri_mr_default_default__mr-1_"); got["name"] != "mr-1" {
		t.Errorf("by KRI: %v", got)
	}
	p.want(http.StatusOK, http.MethodDelete, path, "")
	p.want(http.StatusNotFound, http.MethodDelete, path, "")
}

func TestRefusalsHaveTheShapeOfKuma(t *testing.T) {
	t.Parallel()
	p := start(t, config(t))
	const path = "/meshes/default/meshretries/mr-1"
	for name, c := range map[string]struct {
		method, path, body string
		status             int
		field              string
	}{
		"unknown field":       {http.MethodPut, path, strings.ReplaceAll(retryAll, "numRetries", "retries"), 400, "spec.to[0].default.http.retries"},
		"other name":          {http.MethodPut, path + "0", retryAll, 400, "name"},
		"other type":          {http.MethodPut, "/meshes/default/meshtimeouts/mr-1", retryAll, 400, "type"},
		"unknown mesh":        {http.MethodPut, "/meshes/none/meshretries/mr-1", strings.ReplaceAll(retryAll, `"mesh":"default"`, `"mesh":"none"`), 400, "mesh"},
		"no body":             {http.MethodPut, path, "", 400, ""},
		"unknown type":        {http.MethodGet, "/meshes/default/things/x", "", 404, ""},
		"unknown path":        {http.MethodGet, "/a/b/c/d/e", "", 404, ""},
		"page too large":      {http.MethodGet, "/meshes/default/meshretries?size=1001", "", 400, "size"},
		"unknown filter":      {http.MethodGet, "/meshes/default/meshretries?filter[spec]=x", "", 400, "filter[spec]"},
		"too large":           {http.MethodPut, path, strings.Repeat(" ", 3<<20), 413, ""},
		"not found dataplane": {http.MethodGet, "/meshes/default/dataplanes/none/_explain", "", 404, ""},
		"bad KRI":             {http.MethodGet, "/_kri/nonsense", "", 400, "kri"},
	} {
		code, text := p.call(c.method, c.path, c.body)
		var got struct {
			Type, Title, Detail, Details string
			Status                       int
			Invalid                      []struct{ Field, Reason string } `json:"invalid_parameters"`
			Causes                       []struct{ Field, Message string }
		}
		if err := json.Unmarshal([]byte(text), &got); err != nil {
			t.Errorf("%s: %d %q is no JSON", name, code, text)
			continue
		}
		if code != c.status || got.Status != c.status || got.Type != "/std-errors" || got.Title == "" || got.Detail == "" || got.Details != got.Detail {
			t.Errorf("%s: %d %s", name, code, text)
		}
		if c.field != "" && (len(got.Invalid) == 0 || got.Invalid[0].Field != c.field || got.Causes[0].Field != c.field || got.Causes[0].Message == "") {
			t.Errorf("%s: %s", name, text)
		}
	}
}

func TestListsHavePagesAndFilters(t *testing.T) {
	t.Parallel()
	p := start(t, config(t))
	for i := range 7 {
		p.want(http.StatusCreated, http.MethodPut, fmt.Sprintf("/meshes/default/meshretries/mr-%d", i),
			strings.NewReplacer("mr-1", fmt.Sprintf("mr-%d", i), `"a"`, fmt.Sprintf(`"%c"`, 'a'+i%2)).Replace(retryAll))
	}
	for query, want := range map[string]string{
		"":                                    "mr-0 mr-1 mr-2 mr-3 mr-4 mr-5 mr-6",
		"?size=3":                             "mr-0 mr-1 mr-2",
		"?size=3&offset=6":                    "mr-6",
		"?size=3&offset=60":                   "",
		"?name=r-4":                           "mr-4",
		"?filter%5Blabels.team%5D=b":          "mr-1 mr-3 mr-5",
		"?filter%5Blabels.team%5D=b&size=1":   "mr-1",
		"?filter%5Blabels.kuma.io/zone%5D=no": "",
	} {
		if got := names(get[list](p, "/meshes/default/meshretries"+query)); got != want {
			t.Errorf("%s: %s, want %s", query, got, want)
		}
	}
	first := get[list](p, "/meshretries?size=4")
	if first.Total != 7 || first.Next == nil {
		t.Fatalf("the first page is %+v", first)
	}
	next, err := url.Parse(*first.Next)
	if err != nil || next.Host != p.API() {
		t.Fatalf("next is %s, %v", *first.Next, err)
	}
	if second := get[list](p, next.RequestURI()); names(second) != "mr-4 mr-5 mr-6" || second.Next != nil {
		t.Errorf("the second page is %+v", second)
	}
	p.want(http.StatusNotFound, http.MethodGet, "/meshes/none/meshretries", "")
}

func TestApplyIsAllOrNone(t *testing.T) {
	t.Parallel()
	p := start(t, config(t))
	type applied struct {
		Revision uint64
		Results  []struct{ Object, Action string }
		Warnings []struct{ Code, Object, Message string }
	}
	apply := func(query, docs string) applied {
		t.Helper()
		var a applied
		if err := json.Unmarshal([]byte(p.want(http.StatusOK, http.MethodPost, "/_apply"+query, docs)), &a); err != nil {
			t.Fatal(err)
		}
		return a
	}
	if a := apply("?dryRun=true", worldDocs); len(a.Results) != 6 || a.Results[1].Action != "created" || a.Results[0].Action != "updated" {
		t.Errorf("dry run: %+v", a)
	}
	if got := get[list](p, "/dataplanes"); got.Total != 0 {
		t.Error("a dry run wrote")
	}
	bad := worldDocs + "---\ntype: MeshRetry\nmesh: default\nname: bad\nspec: {to: [{targetRef: {kind: Mesh}, default: {http: {numRetries: many}}}]}\n"
	if text := p.want(http.StatusBadRequest, http.MethodPost, "/_apply", bad); !strings.Contains(text, "spec.to[0].default.http.numRetries") || !strings.Contains(text, `"line":`) {
		t.Errorf("the refusal is %s", text)
	}
	if got := get[list](p, "/dataplanes"); got.Total != 0 {
		t.Error("a refused apply wrote")
	}
	first := apply("", worldDocs)
	second := apply("", worldDocs)
	if second.Revision != first.Revision || second.Results[3].Action != "unchanged" || second.Results[3].Object != "Dataplane/default/backend-1" {
		t.Errorf("applied twice: %+v", second)
	}
	lost := apply("", strings.NewReplacer("mr-1", "mr-lost", `"kind":"Mesh"}`, `"kind":"MeshHTTPRoute","name":"rout-1"}`).Replace("["+retryAll+"]"))
	if len(lost.Warnings) != 1 || lost.Warnings[0].Code != "TargetNotFound" || !strings.Contains(lost.Warnings[0].Message, "route-1") {
		t.Errorf("a reference that leads nowhere: %+v", lost)
	}
	p.want(http.StatusBadRequest, http.MethodPost, "/_apply", strings.ReplaceAll("["+retryAll+"]", `"mesh":"default"`, `"mesh":"none"`))
	p.want(http.StatusBadRequest, http.MethodPost, "/_apply", "type: MeshPassthrough\nmesh: default\nname: x\nspec: {}\n")
	p.want(http.StatusBadRequest, http.MethodPost, "/_apply", "# nothing\n")
}

func TestDeletingAMeshTakesItsPoliciesAndSparesItsDataplanes(t *testing.T) {
	t.Parallel()
	p := start(t, config(t))
	p.want(http.StatusOK, http.MethodPost, "/_apply", worldDocs)
	p.want(http.StatusConflict, http.MethodDelete, "/meshes/default", "")
	for _, dp := range []string{"frontend-1", "backend-1"} {
		p.want(http.StatusOK, http.MethodDelete, "/meshes/default/dataplanes/"+dp, "")
	}
	p.want(http.StatusOK, http.MethodDelete, "/meshes/default", "")
	if got := get[list](p, "/meshretries"); got.Total != 0 {
		t.Errorf("policies without a mesh: %+v", got)
	}
}

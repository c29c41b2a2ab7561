package control_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
)

const unavailable = `{"type":"MeshService","mesh":"default","name":"%","spec":{"selector":{"dataplaneTags":{"app":"%"}},"ports":[{"port":80,"targetPort":8080,"appProtocol":"http"}],"state":"Unavailable"}}`

// A service is available as long as somebody answers for it, whatever a document
// says; that is kept as it was written.
func TestTheStateOfAServiceFollowsFromItsEndpoints(t *testing.T) {
	t.Parallel()
	p := start(t, config(t))
	p.want(http.StatusOK, http.MethodPost, "/_apply", worldDocs)
	for name, want := range map[string]string{"backend": "Available", "nobody": "Unavailable"} {
		path := "/meshes/default/meshservices/" + name
		document := strings.ReplaceAll(unavailable, "%", name)
		p.call(http.MethodPut, path, document)
		for _, address := range []string{path, path + "?format=kubernetes", "/meshes/default/meshservices?name=" + name} {
			if text := p.want(http.StatusOK, http.MethodGet, address, ""); !strings.Contains(text, `"state":"`+want+`"`) {
				t.Errorf("%s: %s, want %s", address, text, want)
			}
		}
		if text := p.want(http.StatusOK, http.MethodGet, path+"?format=written", ""); !strings.Contains(text, `"state":"Unavailable"`) {
			t.Errorf("written: %s", text)
		}
	}
}

// An object of a namespace shows its namespace and its role, and lists find it by them.
func TestObjectsOfANamespaceShowNamespaceAndRole(t *testing.T) {
	t.Parallel()
	p := start(t, config(t))
	p.want(http.StatusOK, http.MethodPost, "/_apply", `apiVersion: kuma.io/v1alpha1
kind: MeshTimeout
metadata: {name: slow, namespace: shop, labels: {kuma.io/mesh: default}}
spec: {to: [{targetRef: {kind: Mesh}, default: {http: {requestTimeout: 9s}}}]}
---
type: MeshTimeout
mesh: default
name: plain
spec: {to: [{targetRef: {kind: Mesh}, default: {http: {requestTimeout: 9s}}}]}
`)
	for filter, want := range map[string]string{"k8s.kuma.io/namespace]=shop": "slow.shop", "kuma.io/policy-role]=consumer": "slow.shop", "k8s.kuma.io/namespace]=other": ""} {
		if got := names(get[list](p, "/meshes/default/meshtimeouts?filter[labels."+filter)); got != want {
			t.Errorf("%s finds %q, want %q", filter, got, want)
		}
	}
	const path = "/meshes/default/meshtimeouts/slow.shop"
	var shown map[string]any
	if shown = get[map[string]any](p, path); shown["name"] != "slow.shop" || shown["namespace"] != "shop" {
		t.Errorf("%s answers %v", path, shown)
	}
	text, _ := json.Marshal(shown)
	p.want(http.StatusOK, http.MethodPut, path, string(text))
	if got := names(get[list](p, "/meshes/default/meshtimeouts?filter[labels.k8s.kuma.io/namespace]=shop")); got != "slow.shop" {
		t.Errorf("what GET shows was put back, and now there are %q", got)
	}
	p.want(http.StatusBadRequest, http.MethodPut, "/meshes/default/dataplanes/gw", `{"type":"Dataplane","mesh":"default","name":"gw","networking":{"address":"127.0.0.1","gateway":{"type":"DELEGATED"},"listeners":[{"type":"ZoneEgress","address":"127.0.0.1","port":10002}]}}`)
}

package web_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

const viewed = `
{type: Dataplane, mesh: default, name: a-1, networking: {address: 10.0.0.1, inbound: [{port: 80, tags: {kuma.io/service: a}}]}}
---
{type: MeshService, mesh: default, name: a, spec: {selector: {dataplaneRef: {name: a-1}}, ports: [{port: 80}]}}
---
{type: MeshTimeout, mesh: default, name: all, spec: {to: [{targetRef: {kind: Mesh}, default: {idleTimeout: 1s}}]}}
`

// TestKumasClientsGetTheirShapes: the forms of spec/kuma.md 5.2 and 5.4 that
// Kuma's clients were seen to need.
func TestKumasClientsGetTheirShapes(t *testing.T) {
	t.Parallel()
	s, _ := serve(t, viewed, false)
	for path, want := range map[string]string{
		"/meshes/default/meshtimeouts/all/dataplanes":                                    `{"total":1,"items":[{"kind":"SidecarDataplane","dataplane":{"mesh":"default","name":"a-1"},"attachments":[{"type":"dataplane"}]}],"next":null}`,
		"/meshes/default/meshtimeouts/all/dataplanes?name=b":                             `{"total":0,"items":[],"next":null}`,
		"/meshes/default/meshservices/a/_resources/dataplanes":                           `"name":"a-1"`,
		"/meshes/default/meshservices/a/_dataplanes":                                     `"name":"a-1"`,
		"/meshes/default/dataplanes/a-1/_inbounds/none/_policies":                        `"status":400`,
		"/meshes/default/dataplanes/a-1/_outbounds/none/_policies":                       `"status":400`,
		"/meshes/default/dataplanes/a-1/_outbounds/none/_routes":                         `"status":400`,
		"/meshes/default/meshtimeouts/all/_hostnames":                                    `"status":400`,
		"/meshes/default/dataplanes/a-1/_outbounds/kri_msvc_default___b_80/_policies":    `"status":404`,
		"/meshes/default/dataplanes/a-1/_outbounds/kri_host_default___a.test_80/_routes": `"status":404`, // a host has a name too
	} {
		r, err := http.Get(s.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(r.Body)
		if err := r.Body.Close(); err != nil {
			t.Fatal(err)
		}
		if err != nil || !strings.Contains(string(body), want) {
			t.Errorf("%s: %v, no %s in %s", path, err, want, body)
		}
	}
}

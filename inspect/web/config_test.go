package web_test

import (
	"encoding/json"
	"net/http"
	"reflect"
	"strings"
	"testing"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
)

const previewed = `
{type: Dataplane, mesh: default, name: a-1, networking: {address: 10.0.0.1, inbound: [{port: 80, tags: {kuma.io/service: a, kuma.io/protocol: http}}], outbound: [{port: 10001, tags: {kuma.io/service: a}}]}}
---
{type: MeshRetry, mesh: default, name: now, spec: {to: [{targetRef: {kind: Mesh}, default: {http: {numRetries: 3}}}]}}
---
{type: MeshTimeout, mesh: default, name: one-day, labels: {kuma.io/effect: shadow}, spec: {to: [{targetRef: {kind: Mesh}, default: {http: {requestTimeout: 7s}}}]}}
---
{type: MeshRetry, mesh: default, name: before-now, labels: {kuma.io/effect: shadow}, spec: {to: [{targetRef: {kind: Mesh}, default: {http: {numRetries: 5}}}]}}
`

// The configuration with shadow policies is what it is without, and the difference that is
// told beside it; each change of that tests what was.
func TestShadowPoliciesArePreviewed(t *testing.T) {
	t.Parallel()
	s, _ := serve(t, previewed, false)
	ask := func(query string) (answer struct {
		XDS  json.RawMessage
		Diff json.RawMessage
	}) {
		t.Helper()
		code, text := call(t, http.MethodGet, s.URL+"/meshes/default/dataplanes/a-1/_config"+query, "")
		if err := json.Unmarshal([]byte(text), &answer); err != nil || code != http.StatusOK {
			t.Fatal(code, text)
		}
		return answer
	}
	now, soon := ask(""), ask("?shadow=true&include=diff")
	if now.Diff != nil || !strings.Contains(string(now.XDS), `"num_retries":3`) || strings.Contains(string(now.XDS), `"7s"`) {
		t.Errorf("without shadows: %s %s", now.XDS, now.Diff)
	}
	if text := string(soon.XDS); !strings.Contains(text, `"num_retries":5`) || !strings.Contains(text, `"timeout":"7s"`) {
		t.Errorf("with shadows: %s", text)
	}
	if same := ask("?shadow=false&include=diff"); string(same.Diff) != "[]" {
		t.Errorf("without shadows there is a difference: %s", same.Diff)
	}
	patch, err := jsonpatch.DecodePatch(soon.Diff)
	if err != nil {
		t.Fatal(err)
	}
	applied, err := patch.Apply(now.XDS)
	if err != nil {
		t.Fatal(err)
	}
	var got, want any
	if json.Unmarshal(applied, &got) != nil || json.Unmarshal(soon.XDS, &want) != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("the patch makes\n%s\nof what it should make\n%s", applied, soon.XDS)
	}
	for _, o := range patch {
		if kind := o.Kind(); kind != "test" && kind != "remove" && kind != "add" {
			t.Errorf("the patch has a %s", kind)
		}
	}
	for _, query := range []string{"?shadow=perhaps", "?include=everything", "?shadow=true&include=diff,all"} {
		if code, text := call(t, http.MethodGet, s.URL+"/meshes/default/dataplanes/a-1/_config"+query, ""); code != http.StatusBadRequest || !strings.Contains(text, `"invalid_parameters"`) {
			t.Errorf("%s: %d %s", query, code, text)
		}
	}
	if code, text := call(t, http.MethodGet, s.URL+"/meshes/default/dataplanes/a-2/_config", ""); code != http.StatusNotFound || !strings.Contains(text, "a-1") {
		t.Errorf("an unknown one: %d %s", code, text)
	}
}

// What is attached to a dataplane is told as kumactl wants it.
func TestPoliciesOfADataplane(t *testing.T) {
	t.Parallel()
	s, _ := serve(t, previewed, false)
	_, text := call(t, http.MethodGet, s.URL+"/meshes/default/dataplanes/a-1/policies", "")
	const want = `{"kind":"SidecarDataplane","total":1,"items":[{"type":"dataplane","name":"","service":"","matchedPolicies":{"MeshRetry":[{"type":"MeshRetry","mesh":"default","name":"now",` +
		`"creationTime":"2026-08-01T12:00:00Z","modificationTime":"2026-08-01T12:00:00Z","kri":"kri_mr_default_east__now_"}]}}]}`
	if strings.TrimSpace(text) != want {
		t.Errorf("%s\nwant\n%s", text, want)
	}
}

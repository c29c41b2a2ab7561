package control_test

import (
	"net/http"
	"strings"
	"testing"
)

func TestQuestionsAreAnsweredFromWhatWasJustWritten(t *testing.T) {
	t.Parallel()
	p := start(t, config(t))
	p.want(http.StatusOK, http.MethodPost, "/_apply", worldDocs)
	const dp = "/meshes/default/dataplanes/frontend-1"
	if text := p.want(http.StatusOK, http.MethodGet, dp+"/_explain?to=backend", ""); !strings.Contains(text, `"mr-route"`) || !strings.Contains(text, `"layer":"route"`) {
		t.Errorf("explain: %s", text)
	}
	text := p.want(http.StatusOK, http.MethodPost, dp+"/_simulate", `{"method":"GET","url":"http://backend:80/v1/x"}`)
	if !strings.Contains(text, `"numRetries":7`) || !strings.Contains(text, `"route-1"`) {
		t.Errorf("simulate: %s", text)
	}
	p.want(http.StatusBadRequest, http.MethodPost, dp+"/_simulate", `{"url":"http://nobody/"}`)
	p.want(http.StatusBadRequest, http.MethodPost, dp+"/_simulate", `not JSON`)
	for path, part := range map[string]string{
		"/meshes/default/meshretries/mr-route/_explain":                                                     `"dataplanes":["frontend-1"]`,
		"/meshes/default/meshhttproutes/route-1/_explain":                                                   `"frontend-1"`,
		"/meshes/default/meshretries/mr-route/_resources/dataplanes":                                        `"frontend-1"`,
		"/meshes/default/_status":                                                                           `"MeshRetry/default/mr-route"`,
		"/meshes/default/meshservices/backend/_dataplanes":                                                  `"backend-1"`,
		"/meshes/default/meshservices/backend/_hostnames":                                                   `"total":0`,
		"/meshes/default/dataplanes/_overview":                                                              `"DataplaneOverview"`,
		"/meshes/default/dataplanes+insights/frontend-1":                                                    `"frontend-1"`,
		"/meshes/default/meshretries/mr-route?format=kubernetes":                                            `"apiVersion":"kuma.io/v1alpha1"`,
		"/meshes/default/dataplanes/frontend-1/_rules":                                                      `"httpMatches"`,
		"/meshes/default/dataplanes/frontend-1/rules":                                                       `"matches":[{"path":{"value":"/v1","type":"PathPrefix"}}]`,
		"/meshes/default/dataplanes/frontend-1/_layout":                                                     `"kri_msvc_default_default__backend_80"`,
		"/meshes/default/dataplanes/frontend-1/_policies":                                                   `"policies":[]`,
		"/meshes/default/dataplanes/frontend-1/_inbounds/kri_dp_default_default__frontend-1_9090/_policies": `"policies":[]`,
		"/meshes/default/dataplanes/frontend-1/_outbounds/kri_msvc_default_default__backend_80/_routes":     `"kri_mhttpr_default_default__route-1_rule_0"`,
		"/meshes/default/dataplanes/frontend-1/_outbounds/kri_msvc_default_default__backend_80/_routes/kri_mhttpr_default_default__route-1_/_policies": `"numRetries":7`,
		"/global-insight":        `"standard":{"total":2`,
		"/mesh-insights":         `"policies":{"MeshHTTPRoute":{"total":1}`,
		"/mesh-insights/default": `"services":{"total":2,"internal":2}`,
		"/meshes/default/service-insights?type=internal": `"total":2,"items":[{"type":"ServiceOverview","mesh":"default","name":"backend"`,
		"/meshes/default/service-insights?type=external": `{"total":0,"items":[],"next":null}`,
		"/meshes/default/service-insights?size=1":        `"next":"http`,
		"/meshes/default/service-insights/backend":       `"type":"ServiceInsight"`,
		"/dataplanes?tag=app:back":                       `"backend-1"`,
		"/dataplanes?gateway=true":                       `"total":0`,
		"/_openapi.json":                                 `"/meshes/{mesh}/{plural}/{name}"`,
		"/_schemas/MeshRetry.json":                       `"numRetries"`,
		"/_resources":                                    `"shortName":"mr"`,
		"/policies":                                      `"meshretries"`,
		"/config":                                        `"store":"memory"`,
		"/who-am-i":                                      `"mesh-system:admin"`,
		"/":                                              `"product":"Kuma"`,
		"/metrics":                                       `weft_changes_total{action="created"}`,
	} {
		if got := p.want(http.StatusOK, http.MethodGet, path, ""); !strings.Contains(got, part) {
			t.Errorf("%s: no %s in %s", path, part, got)
		}
	}
}

func TestAKubernetesDocumentAnswersToItsNameInKuma(t *testing.T) {
	t.Parallel()
	p := start(t, config(t))
	p.want(http.StatusOK, http.MethodPost, "/_apply", `{"apiVersion":"kuma.io/v1alpha1","kind":"MeshRetry","metadata":{"name":"mr-1","namespace":"team-a"},
		"spec":{"to":[{"targetRef":{"kind":"Mesh"},"default":{"http":{"numRetries":3}}}]}}`)
	for _, path := range []string{"mr-1.team-a", "mr-1?namespace=team-a", "mr-1.team-a/_explain"} {
		p.want(http.StatusOK, http.MethodGet, "/meshes/default/meshretries/"+path, "")
	}
	p.want(http.StatusNotFound, http.MethodGet, "/meshes/default/meshretries/mr-1", "")
	p.want(http.StatusOK, http.MethodDelete, "/meshes/default/meshretries/mr-1.team-a", "")
}

func TestAReferenceThatLeadsNowhereIsAProblem(t *testing.T) {
	t.Parallel()
	p := start(t, config(t))
	p.want(http.StatusOK, http.MethodPost, "/_apply", strings.ReplaceAll(worldDocs, "{kind: MeshHTTPRoute, name: route-1}", "{kind: MeshHTTPRoute, name: rout-1}"))
	type problems struct {
		Total int
		Items []struct {
			Owner    string
			Problems []struct{ Severity, Code, Field, Message string }
		}
	}
	got := get[problems](p, "/_problems")
	if got.Total != 1 || got.Items[0].Owner != "MeshRetry/default/mr-route" || got.Items[0].Problems[0].Code != "TargetNotFound" ||
		!strings.Contains(got.Items[0].Problems[0].Message, "route-1") {
		t.Errorf("problems are %+v", got)
	}
	if text := p.want(http.StatusOK, http.MethodGet, "/meshes/default/meshretries/mr-route", ""); !strings.Contains(text, `"status":"False","reason":"TargetNotFound"`) {
		t.Errorf("its status is %s", text)
	}
	if text := p.want(http.StatusOK, http.MethodGet, "/meshes/default/dataplanes/frontend-1/_explain", ""); !strings.Contains(text, `"TargetNotFound"`) {
		t.Errorf("the dataplane does not hear of it: %s", text)
	}
}

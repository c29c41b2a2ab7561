package kuma_test

import (
	"encoding/json"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/inspect/explain"
	"github.com/weftmesh/weft/inspect/kuma"
	"github.com/weftmesh/weft/internal/cases"
	"github.com/weftmesh/weft/internal/inspecttest"
)

func plane(name string) api.Ref {
	return api.Ref{Kind: api.KindDataplane, Mesh: "default", Name: name}
}

// TestViews holds the answers of Kuma's inspect API to their JSON.
func TestViews(t *testing.T) {
	t.Parallel()
	const (
		web     = "kri_msvc_default___web_main"
		inbound = "kri_dp_default___a-1_main"
		route   = "kri_mhttpr_default___route-1_"
	)
	m, c, dp := inspecttest.Model(t, inspecttest.Street), world.Catalog(), plane("a-1")
	retry := api.Ref{Kind: "MeshRetry", Mesh: "default", Name: "mr-top"}
	service := api.Ref{Kind: "MeshService", Mesh: "default", Name: "web"}
	got := txtar.Archive{Comment: []byte("Kuma's views of dataplane a-1 of the street in internal/inspecttest/testdata/street.yaml.\n")}
	add := func(name string, v any, err error) {
		t.Helper()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		text, err := json.MarshalIndent(v, "", " ")
		if err != nil {
			t.Fatal(err)
		}
		got.Files = append(got.Files, txtar.File{Name: name, Data: append(text, '\n')})
	}
	layout, err := kuma.LayoutOf(m, c, dp)
	add("_layout", layout, err)
	list, err := kuma.OutboundPolicies(m, c, dp, web, "")
	add("_outbounds/web/_policies", list, err)
	list, err = kuma.OutboundPolicies(m, c, dp, web, route)
	add("_outbounds/web/_routes/route-1/_policies", list, err)
	list, err = kuma.InboundPolicies(m, c, dp, inbound)
	add("_inbounds/main/_policies", list, err)
	list, err = kuma.DataplanePolicies(m, c, dp)
	add("_policies", list, err)
	routes, err := kuma.Routes(m, c, dp, web)
	add("_outbounds/web/_routes", routes, err)
	refs, err := kuma.Dataplanes(m, retry)
	add("mr-top/_resources/dataplanes", kuma.Metas(m, c, refs), err)
	refs, err = kuma.ServiceDataplanes(m, service)
	add("web/_dataplanes", kuma.Metas(m, c, refs), err)
	names, err := kuma.Hostnames(m, service, "zone-1")
	add("web/_hostnames", names, err)
	rules, err := kuma.Rules(m, c, dp)
	add("_rules", rules, err)
	legacy, err := kuma.Legacy(m, dp)
	add("rules", legacy, err)

	cases.Equal(t, "testdata/views.txtar", txtar.Format(&got))
}

func TestViewsSayWhatTheyDoNotFind(t *testing.T) {
	t.Parallel()
	m, c, dp := inspecttest.Model(t, inspecttest.Street), world.Catalog(), plane("a-1")
	_, outbound := kuma.OutboundPolicies(m, c, dp, "kri_msvc_default___wep_main", "")
	_, route := kuma.OutboundPolicies(m, c, dp, "kri_msvc_default___web_main", "kri_mhttpr_default___no_")
	_, inbound := kuma.InboundPolicies(m, c, dp, "kri_dp_default___a-1_other")
	_, nobody := explain.Of(m, plane("a-2"), "")
	_, nowhere := explain.Of(m, dp, "wep:8080")
	for what, err := range map[string]error{"wep": outbound, "no_": route, "other": inbound, "a-1": nobody, "web:8080": nowhere} {
		if err == nil || !strings.Contains(err.Error(), what) || !strings.Contains(err.Error(), "not found") {
			t.Errorf("%v does not say %q", err, what)
		}
	}
}

// contradictions are what the views said other than what holds.
const contradictions = `
{type: Dataplane, mesh: default, name: two, networking: {address: 10.0.0.1, inbound: [
  {port: 80, name: main, tags: {kuma.io/service: a, kuma.io/protocol: http}}, {port: 81, name: side, tags: {kuma.io/service: a, kuma.io/protocol: http}}],
  outbound: [{port: 10001, backendRef: {kind: MeshService, name: web, port: 8080}}]}}
---
{type: Dataplane, mesh: default, name: web-1, labels: {app: web}, networking: {address: 10.0.0.3, inbound: [{port: 8080, tags: {kuma.io/service: shop, app: shop, kuma.io/protocol: http}}]}}
---
{type: MeshService, mesh: default, name: web, labels: {team: red}, spec: {selector: {dataplaneTags: {app: shop}}, ports: [{port: 8080, name: main, appProtocol: http}]}}
---
{type: MeshTimeout, mesh: default, name: on-main, spec: {targetRef: {kind: Dataplane, name: two, sectionName: main}, from: [{targetRef: {kind: Mesh}, default: {http: {requestTimeout: 1s}}}]}}
---
{type: MeshHTTPRoute, mesh: default, name: of-web, spec: {to: [{targetRef: {kind: MeshService, name: web}, rules: [{matches: [{path: {type: PathPrefix, value: /v1}}], default: {}}]}]}}
---
{type: MeshTimeout, mesh: default, name: lost, spec: {targetRef: {kind: MeshHTTPRoute, name: of-web}, to: [{targetRef: {kind: MeshService, name: other}, default: {http: {requestTimeout: 2s}}}]}}
---
{type: MeshTimeout, mesh: default, name: by-labels, spec: {to: [{targetRef: {kind: MeshService, labels: {team: red}}, default: {http: {requestTimeout: 3s}}}]}}
`

func TestViewsDoNotContradictWhatHolds(t *testing.T) {
	t.Parallel()
	m := inspecttest.Model(t, contradictions)
	v, err := kuma.Rules(m, world.Catalog(), plane("two"))
	if err != nil {
		t.Fatal(err)
	}
	var k kuma.KindRules
	for _, x := range v.Rules {
		if x.Type == "MeshTimeout" {
			k = x
		}
	}
	if len(k.FromRules) != 1 || k.FromRules[0].Inbound.Port != 80 {
		t.Errorf("a policy for one inbound is shown at %+v", k.FromRules)
	}
	if len(k.ToRules) != 1 || k.ToRules[0].Origin[0].Name != "by-labels" || k.ToRules[0].Matchers[0].Value != "web" {
		t.Errorf("wanted the policy by labels, and not the one whose target is lost: %+v", k.ToRules)
	}
	if len(k.Warnings) != 1 || !strings.Contains(k.Warnings[0], "lost") {
		t.Errorf("warnings are %v", k.Warnings)
	}
	list, err := kuma.ServiceDataplanes(m, api.Ref{Kind: api.KindMeshService, Mesh: "default", Name: "web"})
	if err != nil || len(list) != 1 || list[0].Name != "web-1" {
		t.Errorf("%v: %+v", err, list)
	}
}

package kuma_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/inspect/kuma"
	"github.com/weftmesh/weft/internal/inspecttest"
)

// overriding has items with nothing but an override, for the mesh, for a service, for
// a route and for callers, each beside a nearer default that it beats.
const overriding = `
{type: Dataplane, mesh: default, name: a, networking: {address: 10.0.0.1, inbound: [{port: 80, name: main, tags: {kuma.io/service: a, kuma.io/protocol: http}}],
  outbound: [{port: 10001, backendRef: {kind: MeshService, name: web, port: 8080}}]}}
---
{type: MeshService, mesh: default, name: web, spec: {selector: {dataplaneTags: {kuma.io/service: a}}, ports: [{port: 8080, name: main, appProtocol: http}]}}
---
{type: MeshHTTPRoute, mesh: default, name: of-web, spec: {to: [{targetRef: {kind: MeshService, name: web}, rules: [{matches: [{path: {type: PathPrefix, value: /v1}}], default: {}}]}]}}
---
{type: MeshTimeout, mesh: default, name: mesh, spec: {to: [{targetRef: {kind: Mesh}, override: {http: {requestTimeout: 1s}}}]}}
---
{type: MeshTimeout, mesh: default, name: service, spec: {to: [{targetRef: {kind: MeshService, name: web}, override: {http: {requestTimeout: 2s, maxStreamDuration: 2s}}}]}}
---
{type: MeshTimeout, mesh: default, name: near, spec: {to: [{targetRef: {kind: MeshService, name: web}, default: {idleTimeout: 3s, http: {requestTimeout: 3s, streamIdleTimeout: 3s}}}]}}
---
{type: MeshTimeout, mesh: default, name: route, spec: {targetRef: {kind: MeshHTTPRoute, name: of-web}, to: [{targetRef: {kind: MeshService, name: web}, override: {http: {requestTimeout: 4s, streamIdleTimeout: 4s}}}]}}
---
{type: MeshTimeout, mesh: default, name: callers, spec: {from: [{targetRef: {kind: Mesh}, override: {http: {requestTimeout: 5s}}}]}}
---
{type: MeshTimeout, mesh: default, name: callers-near, spec: {targetRef: {kind: Dataplane, name: a}, from: [{targetRef: {kind: Mesh}, default: {http: {requestTimeout: 6s}}}]}}
`

// TestOverridesStandInRules: what an item says over everything is in Kuma's rules, and
// in each it beats what is said by default and the overrides that are nearer.
func TestOverridesStandInRules(t *testing.T) {
	t.Parallel()
	v, err := kuma.Rules(inspecttest.Model(t, overriding), world.Catalog(), plane("a"))
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	line := func(what string, conf any, names []string) {
		text, err := json.Marshal(conf)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "%s: %s by %s\n", what, text, strings.Join(names, " "))
	}
	names := func(list []*kuma.Meta) (out []string) {
		for _, m := range list {
			out = append(out, m.Name)
		}
		return out
	}
	for _, k := range v.Rules {
		if k.Type != "MeshTimeout" {
			continue
		}
		for _, r := range k.ToRules {
			line(fmt.Sprintf("to of %d tags", len(r.Matchers)), r.Conf, names(r.Origin))
		}
		for _, r := range k.FromRules {
			line("from", r.Rules[0].Conf, names(r.Rules[0].Origin))
		}
		for _, r := range k.ToResourceRules {
			var by []*kuma.Meta
			for _, o := range r.Origin {
				by = append(by, o.ResourceMeta)
			}
			line(r.ResourceMeta.Type, r.Conf[0], names(by))
		}
	}
	want := `to of 2 tags: {"idleTimeout":"3s","http":{"requestTimeout":"1s","streamIdleTimeout":"4s","maxStreamDuration":"2s"}} by near route service mesh
to of 2 tags: {"http":{"requestTimeout":"1s"}} by mesh
to of 2 tags: {"idleTimeout":"3s","http":{"requestTimeout":"1s","streamIdleTimeout":"3s","maxStreamDuration":"2s"}} by near service mesh
to of 2 tags: {"http":{"requestTimeout":"1s"}} by mesh
from: {"http":{"requestTimeout":"5s"}} by callers-near callers
Mesh: {"http":{"requestTimeout":"1s"}} by mesh
MeshService: {"idleTimeout":"3s","http":{"requestTimeout":"1s","streamIdleTimeout":"3s","maxStreamDuration":"2s"}} by near service mesh
`
	if d := cmp.Diff(want, b.String()); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// attaching are items on a route and on one rule of it, whose top-level targetRef
// says otherwise than where they attach who is the stronger one.
const attaching = `
{type: MeshTimeout, mesh: default, name: whole, spec: {targetRef: {kind: Dataplane}, to: [{targetRef: {kind: MeshHTTPRoute, name: of-web}, default: {http: {streamIdleTimeout: 1s}}, override: {http: {requestTimeout: 1s}}}]}}
---
{type: MeshTimeout, mesh: default, name: one, spec: {to: [{targetRef: {kind: MeshHTTPRoute, name: of-web, sectionName: "0"}, default: {http: {streamIdleTimeout: 2s}}, override: {http: {requestTimeout: 2s}}}]}}
---
{type: MeshTimeout, mesh: default, name: nearer, spec: {targetRef: {kind: Dataplane, name: a}, to: [{targetRef: {kind: MeshService, name: web}, default: {http: {streamIdleTimeout: 3s}}}]}}
`

// TestRulesOfRoutesByLayer: the resource rule of a route lays what attaches to it
// over what does not, and that of one of its rules what attaches to that over both; of
// overrides the route's holds.
func TestRulesOfRoutesByLayer(t *testing.T) {
	t.Parallel()
	v, err := kuma.Rules(inspecttest.Model(t, strings.Join(strings.Split(overriding, "---\n")[:3], "---\n")+"---"+attaching), world.Catalog(), plane("a"))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, k := range v.Rules {
		for _, r := range k.ToResourceRules {
			if text, _ := json.Marshal(r.Conf); k.Type == "MeshTimeout" && r.ResourceMeta.Type == "MeshHTTPRoute" {
				got = append(got, fmt.Sprintf("%s %s", r.ResourceSectionName, text))
			}
		}
	}
	want := []string{
		` [{"http":{"requestTimeout":"1s","streamIdleTimeout":"1s"}}]`,
		`0 [{"http":{"requestTimeout":"1s","streamIdleTimeout":"2s"}}]`,
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

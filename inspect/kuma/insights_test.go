package kuma_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/inspect/kuma/insights"
)

// TestInsights: two dataplanes of web, of which one is not ready, one of api without a
// sidecar, a gateway and an external service (spec/kuma.md 5.4).
func TestInsights(t *testing.T) {
	t.Parallel()
	s := world.Snapshot(objects(t, `
{type: Dataplane, mesh: default, name: web-1, networking: {address: 127.0.0.1, inbound: [{port: 80, tags: {kuma.io/service: web, kuma.io/zone: east}}]}}
---
{type: Dataplane, mesh: default, name: web-2, networking: {address: 127.0.0.2, inbound: [{port: 80, state: NotReady, tags: {kuma.io/service: web}}]}}
---
{type: Dataplane, mesh: default, name: web-3, networking: {address: 127.0.0.3, inbound: [{port: 80, tags: {kuma.io/service: web}}, {port: 81, state: NotReady, tags: {kuma.io/service: admin}}]}}
---
{type: Dataplane, mesh: default, name: api-1, networking: {address: 127.0.0.4, inbound: [{port: 80, tags: {kuma.io/service: api}}]}}
---
{type: Dataplane, mesh: default, name: gw, networking: {address: 127.0.0.5, gateway: {type: DELEGATED, tags: {kuma.io/service: gw}}}}
---
{type: MeshExternalService, mesh: default, name: ext, spec: {match: {type: HostnameGenerator, port: 443, protocol: tcp}, endpoints: [{address: 192.0.2.1, port: 443}]}}
---
{type: MeshTimeout, mesh: default, name: t, spec: {to: [{targetRef: {kind: Mesh}, default: {idleTimeout: 1s}}]}}
`)...)
	mesh, _ := s.Get(api.Ref{Kind: api.KindMesh, Name: "default"})
	got, services := insights.InsightsOf(world.Catalog(), s, mesh, func(r api.Ref) insights.Seen {
		return insights.Seen{Connected: r.Name != "api-1", Agent: "1.0", Envoy: map[bool]string{true: "1.40.0", false: ""}[r.Name == "gw"]}
	})
	var told []string
	for _, x := range services {
		told = append(told, strings.Join([]string{x.Name, x.ServiceType, x.Status, x.AddressPort, strings.Join(x.Zones, ",")}, " "))
	}
	if diff := cmp.Diff([]string{
		"admin internal partially_degraded admin.mesh:80 ",
		"api internal offline api.mesh:80 ",
		"ext external not_available ext.mesh:443 ",
		"gw gateway_delegated online gw.mesh:80 ",
		"web internal partially_degraded web.mesh:80 east",
	}, told); diff != "" {
		t.Errorf("services (-want +got):\n%s", diff)
	}
	text, err := json.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{
		`"dataplanes":{"total":5,"online":2,"offline":2,"partiallyDegraded":1}`,
		`"gatewayDelegated":{"total":1,"online":1}`, `"gatewayBuiltin":{}`, `"standard":{"total":4,"online":1,"offline":2,"partiallyDegraded":1}`,
		`"policies":{"MeshTimeout":{"total":1}}`, `"MeshExternalService":{"total":1}`, `"envoy":{"1.40.0":{"total":1,"online":1}}`,
		`"mTLS":{}`, `"services":{"total":5,"internal":4,"external":1}`,
	} {
		if !strings.Contains(string(text), part) {
			t.Errorf("no %s in %s", part, text)
		}
	}
}

func objects(t *testing.T, text string) []*api.Object {
	t.Helper()
	list, violations := world.Decode("world.yaml", []byte(text))
	if len(violations) > 0 {
		t.Fatal(violations[0])
	}
	return list
}

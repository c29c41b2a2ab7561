package weft_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/control/admission"
	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/xds"
)

// TestNoLabelMakesAnObjectAnothersOrStronger: what a team writes in its namespace acts as if labels that weft
// computes were not there, whatever they say, and each such label is told.
func TestNoLabelMakesAnObjectAnothersOrStronger(t *testing.T) {
	t.Parallel()
	const policies = `
---
{apiVersion: kuma.io/v1alpha1, kind: MeshTimeout, metadata: {name: of-a, namespace: a, labels: {%s}}, spec: {to: [{targetRef: {kind: MeshService, name: a}, default: {http: {requestTimeout: 3s}}}]}}
---
{apiVersion: kuma.io/v1alpha1, kind: MeshTimeout, metadata: {name: of-b, namespace: b}, spec: {to: [{targetRef: {kind: MeshService, name: a, namespace: a}, default: {http: {requestTimeout: 9s}}}]}}
---
{apiVersion: kuma.io/v1alpha1, kind: MeshRetry, metadata: {name: calls-of-a, namespace: a, labels: {%[1]s}}, spec: {to: [{targetRef: {kind: Mesh}, default: {http: {numRetries: 4}}}]}}
---
{apiVersion: kuma.io/v1alpha1, kind: MeshService, metadata: {name: taken, namespace: a, labels: {%[1]s}}, spec: {selector: {dataplaneTags: {app: b}}, ports: [{port: 80, targetPort: 8080, appProtocol: http}]}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: of-a, namespace: a, labels: {%[1]s}}, spec: {parentRefs: [{group: "", kind: Service, name: a}], rules: [{backendRefs: [{name: b, namespace: b, port: 80}]}]}}
---
{apiVersion: projectcontour.io/v1, kind: HTTPProxy, metadata: {name: of-a, namespace: a, labels: {%[1]s}}, spec: {virtualhost: {fqdn: of-a.example}, routes: [{services: [{name: b, port: 80}]}]}}
---
{apiVersion: zalando.org/v1, kind: RouteGroup, metadata: {name: of-a, namespace: a, labels: {%[1]s}}, spec: {hosts: [group-of-a.example], backends: [{name: b, type: service, serviceName: b, servicePort: 80}], defaultBackends: [{backendName: b}], routes: [{path: /}]}}
`
	renderer := xds.NewRenderer(world.Kinds())
	of := func(labels string) (map[string]map[string]string, []*api.Violation) {
		written, found := world.Decode("", []byte(twoTenants+fmt.Sprintf(policies, labels)))
		all, refused := admission.WithSidecars(world.Snapshot(), written)
		if len(refused) > 0 {
			t.Fatal(refused)
		}
		m, _ := world.Compile(world.Snapshot(all...))
		out := map[string]map[string]string{}
		for r := range m.Dataplanes("") {
			out[r.Ref.Namespace] = byHost(t, renderer.Render(r))
		}
		return out, found
	}
	want, _ := of("")
	for labels, told := range map[string]int{
		"k8s.kuma.io/namespace: b": 6, "k8s.kuma.io/namespace: weft-system": 6, "kuma.io/policy-role: system": 6, "kuma.io/origin: zone": 0,
		"k8s.kuma.io/namespace: weft-system, kuma.io/policy-role: system, kuma.io/origin: zone": 12,
	} {
		got, found := of(labels)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s changes what sidecars have (-without +with):\n%s", labels, diff)
		}
		ignored := 0
		for _, v := range found {
			if v.Code == "ReadOnly" {
				ignored++
			}
		}
		if ignored != told {
			t.Errorf("%s: %d warnings, want %d: %v", labels, ignored, told, found)
		}
	}
}

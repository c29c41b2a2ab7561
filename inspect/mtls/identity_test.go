package mtls_test

import (
	"maps"
	"testing"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/inspect"
	"github.com/weftmesh/weft/inspect/mtls"
	"github.com/weftmesh/weft/internal/inspecttest"
)

// TestTheNameOfADataplaneIsTold: who asks how far a mesh is with mutual TLS is told the first name of each
// dataplane, be it the only one.
func TestTheNameOfADataplaneIsTold(t *testing.T) {
	t.Parallel()
	q := inspecttest.Model(t, `
{type: MeshIdentity, mesh: default, name: own, spec: {selector: {dataplane: {matchLabels: {}}}, spiffeID: {trustDomain: shop.test, path: '/{{ label "app" }}'}, provider: {type: Bundled, bundled: {insecureAllowSelfSigned: true, autogenerate: {enabled: true}}}}}
---
{type: Dataplane, mesh: default, name: web, labels: {app: web}, networking: {address: 127.0.0.1, inbound: [{port: 80, tags: {kuma.io/service: web}}]}}
---
{type: Dataplane, mesh: default, name: lost, networking: {address: 127.0.0.2, inbound: [{port: 80, tags: {kuma.io/service: web}}]}}
`)
	known := mtls.ObservedBy{Sidecar: inspect.Listed(nil), Observed: func(api.Ref) (mtls.Observed, bool) { return mtls.Observed{}, false }}
	out, err := mtls.Of(q, "default", inspect.ListOptions{}, known)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, d := range out.Items {
		got[d.Name] = d.Identity
	}
	if want := map[string]string{"web": "spiffe://shop.test/web", "lost": ""}; !maps.Equal(got, want) {
		t.Errorf("the names are %v, not %v", got, want)
	}
}

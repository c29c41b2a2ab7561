package resolve_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/internal/worlds"
	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/resolve/effective"
)

// routeOf is a route of a namespace for the requests to the service of some namespace.
func routeOf(t *rapid.T, c *composition, namespace string) *api.Object {
	return worlds.Decode(t, c.catalog, fmt.Sprintf(`{"apiVersion":"kuma.io/v1alpha1","kind":"MeshHTTPRoute","metadata":{"name":%q,"namespace":%q},"spec":{"targetRef":{"kind":"Mesh"},
		"to":[{"targetRef":{"kind":"MeshService","name":"web","namespace":%q},"rules":[{"matches":[{"path":{"type":"PathPrefix","value":%q}}],"default":{%s}}]}]}}`,
		rapid.SampledFrom([]string{"r1", "r2"}).Draw(t, "route"), namespace,
		rapid.SampledFrom([]string{"a", "b"}).Draw(t, "service of"), rapid.SampledFrom([]string{"/", "/v1"}).Draw(t, "path"),
		rapid.SampledFrom([]string{"", `"backendRefs":[{"kind":"MeshService","name":"web","namespace":"a","port":80}]`, `"backendRefs":[{"kind":"MeshService","name":"web","namespace":"b","port":80}]`}).Draw(t, "backends")))
}

// permissionOnRoute is a permission of a namespace on one of its routes.
func permissionOnRoute(t *rapid.T, c *composition, namespace string) *api.Object {
	return worlds.Decode(t, c.catalog, fmt.Sprintf(`{"apiVersion":"kuma.io/v1alpha1","kind":"MeshTrafficPermission","metadata":{"name":%q,"namespace":%q},"spec":{
		"targetRef":{"kind":"MeshHTTPRoute","name":%q},"rules":[{"default":{%q:[{"spiffeID":{"type":"Prefix","value":"spiffe://default"}}]}}]}}`,
		rapid.SampledFrom([]string{"p1", "p2"}).Draw(t, "policy"), namespace,
		rapid.SampledFrom([]string{"r1", "r2"}).Draw(t, "on"), rapid.SampledFrom([]string{"allow", "deny"}).Draw(t, "list")))
}

// TestRoutesOfNamespacesStayApart: routes of a namespace, be they for its own services or for those of
// another one, and permissions on them, change nothing of an inbound in another namespace
// (spec/identity.md 7, I12).
func TestRoutesOfNamespacesStayApart(t *testing.T) {
	t.Parallel()
	c := newComposition(t)
	asked := 0
	rapid.Check(t, func(t *rapid.T) {
		changes := []snapshot.Change{{After: worlds.Decode(t, c.catalog, `{"type":"Mesh","name":"default","meshServices":{"mode":"Exclusive"},"mtls":`+worlds.StrictMTLS+`}`)}}
		for i, ns := range []string{"a", "b"} {
			changes = append(changes,
				snapshot.Change{After: worlds.Decode(t, c.catalog, fmt.Sprintf(`{"type":"Dataplane","mesh":"default","name":"d.%s","labels":{"k8s.kuma.io/namespace":%q,"in":%q},
					"networking":{"address":"10.0.0.%d","inbound":[{"port":80,"name":"main","tags":{"kuma.io/service":"web_%s","kuma.io/protocol":"http"}}]}}`, ns, ns, ns, i+1, ns))},
				snapshot.Change{After: worlds.Decode(t, c.catalog, fmt.Sprintf(`{"apiVersion":"kuma.io/v1alpha1","kind":"MeshService","metadata":{"name":"web","namespace":%q},
					"spec":{"selector":{"dataplaneLabels":{"matchLabels":{"in":%q}}},"ports":[{"port":80,"targetPort":80,"appProtocol":"http"}]}}`, ns, ns))})
		}
		drawn := func(namespace string) snapshot.Change {
			if rapid.Bool().Draw(t, "a route") {
				return snapshot.Change{After: routeOf(t, c, namespace)}
			}
			return snapshot.Change{After: permissionOnRoute(t, c, namespace)}
		}
		for range rapid.IntRange(0, 8).Draw(t, "documents") {
			changes = append(changes, drawn(rapid.SampledFrom([]string{"a", "b"}).Draw(t, "namespace")))
		}
		s := snapshot.New(0).With(1, changes)
		model, _ := resolve.Compile(s, c.dialects, c.kinds)
		edit := []snapshot.Change{drawn("a")}
		next, _ := model.Update(s.With(2, edit), edit)
		for r := range next.Dataplanes("") {
			was, _ := model.Dataplane(r.Ref)
			same := slices.EqualFunc(was.Inbounds, r.Inbounds, func(a, b effective.InboundUse) bool { return a.Inbound == b.Inbound })
			if strings.HasPrefix(r.Ref.Name, "d.b") && !same {
				t.Fatalf("%s has other inbounds after %s", r.Ref, describe(edit))
			}
			if !same {
				asked++
			}
		}
	})
	if asked == 0 {
		t.Error("no edit changed an inbound of its own namespace")
	}
}

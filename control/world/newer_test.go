package world_test

import (
	"testing"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/decode"
	"github.com/weftmesh/weft/control/world"
)

// TestNewerDocumentsAreNotWidened: of a document that an API server has validated, a field
// that weft lacks is a warning; where without it the object would take or allow more it is a
// mistake.
func TestNewerDocumentsAreNotWidened(t *testing.T) {
	t.Parallel()
	const (
		gateway = "apiVersion: gateway.networking.k8s.io/v1\nmetadata: {name: a, namespace: b}\n"
		contour = "apiVersion: projectcontour.io/v1\nmetadata: {name: a, namespace: b}\n"
		skipper = "apiVersion: zalando.org/v1\nmetadata: {name: a, namespace: b}\n"
		parent  = "{group: '', kind: Service, name: s}"
	)
	for _, c := range []struct {
		text    string
		refused bool
	}{
		{gateway + "kind: HTTPRoute\nspec: {parentRefs: [" + parent + "], rules: [{later: 1}]}", false},
		{gateway + "kind: HTTPRoute\nspec: {parentRefs: [" + parent + "], rules: [{matches: [{cookies: []}]}]}", true},
		{gateway + "kind: HTTPRoute\nspec: {parentRefs: [{group: '', kind: Service, name: s, later: 1}]}", true},
		{gateway + "kind: GRPCRoute\nspec: {parentRefs: [" + parent + "], rules: [{matches: [{cookies: []}]}]}", true},
		{gateway + "kind: Gateway\nspec: {gatewayClassName: weft, later: 1, listeners: [{name: a, port: 80, protocol: HTTP}]}", false},
		{gateway + "kind: Gateway\nspec: {gatewayClassName: weft, listeners: [{name: a, port: 80, protocol: HTTP, allowedRoutes: {later: 1}}]}", true},
		{gateway + "kind: ReferenceGrant\nspec: {later: 1, from: [{group: g, kind: K, namespace: n}], to: [{group: '', kind: Service}]}", false},
		{gateway + "kind: ReferenceGrant\nspec: {from: [{group: g, kind: K, namespace: n}], to: [{group: '', kind: Service, later: 1}]}", true},
		{contour + "kind: HTTPProxy\nspec: {virtualhost: {fqdn: h.test}, routes: [{later: 1, services: [{name: s, port: 80}]}]}", false},
		{contour + "kind: HTTPProxy\nspec: {virtualhost: {fqdn: h.test}, routes: [{conditions: [{later: 1}], services: [{name: s, port: 80}]}]}", true},
		{contour + "kind: TLSCertificateDelegation\nspec: {delegations: [{secretName: s, targetNamespaces: [n], later: 1}]}", true},
		{skipper + "kind: RouteGroup\nspec: {later: 1, hosts: [h.test], backends: [{name: s, type: shunt}], routes: [{path: /, backends: [{backendName: s}]}]}", false},
		{skipper + "kind: RouteGroup\nspec: {hosts: [h.test], backends: [{name: s, type: shunt}], routes: [{path: /, later: 1, backends: [{backendName: s}]}]}", true},
	} {
		objects, err := decode.Objects(world.Catalog().Validated(), "", []byte(c.text))
		if api.Refuses(err) != c.refused || (len(objects) == 0) != c.refused || err == nil {
			t.Errorf("%s\nrefused %t, %d objects: %v", c.text, api.Refuses(err), len(objects), err)
		}
	}
}

package identity_test

import (
	"testing"

	"github.com/weftmesh/weft/control/identity"
)

// TestAccessInWords: whoever may not do something is told what it is, as RBAC would grant it.
func TestAccessInWords(t *testing.T) {
	t.Parallel()
	for want, a := range map[string]identity.AccessRequest{
		"get /metrics": {Verb: "get", Path: "/metrics"},
		"list meshes.kuma.io in the whole cluster":            {Verb: "list", Group: "kuma.io", Resource: "meshes"},
		"create pods/exec in namespace shop":                  {Verb: "create", Resource: "pods", Subresource: "exec", Namespace: "shop"},
		"update meshretries.kuma.io/status in namespace shop": {Verb: "update", Group: "kuma.io", Resource: "meshretries", Subresource: "status", Namespace: "shop"},
	} {
		if got := a.String(); got != want {
			t.Errorf("%+v is %q, want %q", a, got, want)
		}
	}
}

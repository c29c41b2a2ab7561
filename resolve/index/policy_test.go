package index_test

import (
	"testing"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/resolve/index"
)

// TestWhereAPolicyAuthorizes: a policy of a namespace has a say at dataplanes of that namespace alone, one of a
// system namespace or of none at all of them (spec/identity.md 7, I12).
func TestWhereAPolicyAuthorizes(t *testing.T) {
	t.Parallel()
	of := func(kind, namespace string) *api.Object {
		o := &api.Object{Ref: api.Ref{Kind: kind, Mesh: "default", Name: "x"}}
		if o.InSystemNamespace = namespace == "system"; namespace != "" {
			o.Labels = map[string]string{api.LabelNamespace: namespace}
		}
		return o
	}
	for _, c := range []struct {
		policy, plane string
		says          bool
	}{
		{"shop", "shop", true}, {"shop", "bank", false}, {"shop", "", false}, {"", "", true}, {"", "shop", true}, {"system", "shop", true}, {"system", "", true},
	} {
		p, plane := &index.Policy{Object: of("MeshTrafficPermission", c.policy)}, &index.Dataplane{Object: of(api.KindDataplane, c.plane)}
		if got := p.AuthorizesAt(plane); got != c.says {
			t.Errorf("a policy of %q at a dataplane of %q: %v", c.policy, c.plane, got)
		}
	}
}

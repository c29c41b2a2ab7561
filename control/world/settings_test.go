package world_test

import (
	"testing"

	"github.com/weftmesh/weft/control/world"
)

// TestRootsOfSomeNamespaces: with root namespaces only HTTPProxies of those serve a host.
func TestRootsOfSomeNamespaces(t *testing.T) {
	t.Parallel()
	objects, violations := world.Decode("proxy.yaml", []byte(`
apiVersion: projectcontour.io/v1
kind: HTTPProxy
metadata: {name: a, namespace: team}
spec: {virtualhost: {fqdn: a.example.org}, routes: [{directResponsePolicy: {statusCode: 410}}]}
`))
	if len(violations) > 0 {
		t.Fatal(violations)
	}
	for _, c := range []struct {
		roots  []string
		served bool
	}{{nil, true}, {[]string{"platform", "team"}, true}, {[]string{"platform"}, false}} {
		model, _ := world.Settings{RootNamespaces: c.roots}.Compile(world.Snapshot(objects...))
		if _, served := model.Destination("default", "host_a.example.org:80"); served != c.served {
			t.Errorf("roots in %q: served %v", c.roots, served)
		}
	}
}

package server_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/internal/envoytest"
)

// TestEndpointsNearTheCaller: a caller sends nine of ten requests to the endpoints that share its tag, all to the
// others once those are gone, and one who has no such tag sends to all alike (spec/kinds.md 3.3).
func TestEndpointsNearTheCaller(t *testing.T) {
	t.Parallel()
	racks := map[string]*envoytest.Backend{"r1": envoytest.StartBackend(t, "r1"), "r2": envoytest.StartBackend(t, "r2"), "r3": envoytest.StartBackend(t, "r3")}
	here, elsewhere := envoytest.Port(t), envoytest.Port(t)
	from := func(name, tags string, at uint32) string {
		return fmt.Sprintf("type: Dataplane\nmesh: default\nname: %s\nnetworking: {address: 127.0.0.1, inbound: [{port: %d, tags: {kuma.io/service: %s%s}}], outbound: [{port: %d, backendRef: {kind: MeshService, name: web, port: 8080}}]}\n",
			name, envoytest.Port(t), name, tags, at)
	}
	documents := []string{exclusive, "type: MeshService\nmesh: default\nname: web\nspec: {selector: {dataplaneTags: {app: web}}, ports: [{port: 8080, targetPort: main, appProtocol: http}]}\n",
		from("here", ", rack: r1", here), from("elsewhere", "", elsewhere), `
type: MeshLoadBalancingStrategy
mesh: default
name: near
spec: {to: [{targetRef: {kind: Mesh}, default: {localityAwareness: {localZone: {affinityTags: [{key: rack}]}}}}]}
`}
	for rack, b := range racks {
		documents = append(documents, fmt.Sprintf("type: Dataplane\nmesh: default\nname: web-%s\nnetworking: {address: 127.0.0.1, inbound: [{name: main, port: %d, tags: {app: web, rack: %s, kuma.io/service: web, kuma.io/protocol: http}}]}\n", rack, b.Port, rack))
	}
	p := serve(t, nil, documents...)
	for _, name := range []string{"here", "elsewhere"} {
		p.envoy(name, "delta")
		p.synced(name)
	}
	const sent = 300
	met := func(at uint32) map[string]int {
		out := map[string]int{}
		for range sent {
			resp, err := client(t).Get(fmt.Sprintf("http://127.0.0.1:%d/", at))
			if err != nil {
				t.Fatal(err)
			}
			_ = resp.Body.Close()
			if resp.StatusCode != http.StatusOK {
				t.Fatal(resp.Status)
			}
			out[resp.Header.Get(envoytest.NameHeader)]++
		}
		return out
	}
	if got := met(here); got["r1"] < sent*85/100 || got["r2"]+got["r3"] < sent*5/100 {
		t.Errorf("of rack r1: %v", got)
	}
	if got := met(elsewhere); got["r1"] > sent/2 || len(got) != 3 {
		t.Errorf("of no rack: %v", got)
	}
	p.remove(api.Ref{Kind: api.KindDataplane, Mesh: "default", Name: "web-r1"})
	p.synced("here")
	if got := met(here); got["r1"] > 0 || len(got) != 2 {
		t.Errorf("of rack r1, where nobody answers: %v", got)
	}
}

package gateway_test

import (
	"fmt"
	"testing"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/inspect"
	"github.com/weftmesh/weft/inspect/conditions"
	"github.com/weftmesh/weft/route/gateway"
)

// TestGatewayIsProgrammed: a Gateway is programmed once all connected edge dataplanes
// have confirmed what they got, and its served listeners with it.
func TestGatewayIsProgrammed(t *testing.T) {
	t.Parallel()
	objects, found := world.Decode("gateway.yaml", []byte(fmt.Sprintf(gatewayDocuments, 80, 81)))
	if len(found) > 0 {
		t.Fatal(found)
	}
	m, _ := world.Compile(world.Snapshot(objects...))
	edge := api.Ref{Kind: api.KindDataplane, Mesh: "default", Name: "edge"}
	for _, c := range []struct {
		sidecar inspect.Sidecar
		want    string
	}{
		{inspect.Sidecar{Dataplane: edge}, "False Pending"},
		{inspect.Sidecar{Dataplane: edge, Connected: true}, "False Pending"},
		{inspect.Sidecar{Dataplane: edge, Connected: true, InSync: true}, "True Programmed"},
		{inspect.Sidecar{Dataplane: edge, Connected: true, Refusal: &inspect.Refusal{Type: "lds", Message: "no"}}, "False Invalid"},
	} {
		s, err := conditions.StatusOf(m.Reader(nil), api.Ref{Kind: gateway.KindGateway, Mesh: "default", Namespace: "shop", Name: "public"}, inspect.Listed([]inspect.Sidecar{c.sidecar}))
		if err != nil {
			t.Fatal(err)
		}
		own := s.Own.(gateway.GatewayStatus)
		if got := own.Conditions[1].Status + " " + own.Conditions[1].Reason; got != c.want || own.Conditions[1].Type != "Programmed" {
			t.Errorf("%+v: %+v, want %s", c.sidecar, own.Conditions[1], c.want)
		}
		for _, l := range own.Listeners {
			if l.Conditions[1].Type != "Programmed" || l.Conditions[1].Status != own.Conditions[1].Status {
				t.Errorf("listener %s: %+v", l.Name, l.Conditions[1])
			}
		}
	}
}

package resolve_test

import (
	"strings"
	"testing"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/internal/worlds"
	"github.com/weftmesh/weft/resolve"
)

// TestGRPCWithoutASidecarIsRefusedByStrict (spec/identity.md 3.3): a gRPC client without a sidecar speaks
// plain text, so that both ends of its calls of a strict destination are told; one with a sidecar is
// not.
func TestGRPCWithoutASidecarIsRefusedByStrict(t *testing.T) {
	t.Parallel()
	dataplane := func(name, service string, outbound ...api.Outbound) *api.Object {
		return &api.Object{Ref: api.Ref{Kind: api.KindDataplane, Mesh: "default", Name: name}, Spec: &api.Dataplane{Networking: &api.Networking{Address: "10.0.0.1",
			Inbound: []api.Inbound{{Port: 80, Tags: map[string]string{api.TagService: service}}}, Outbound: outbound}}}
	}
	for _, proxyless := range []bool{true, false} {
		calls := api.Outbound{Port: 9090, Tags: map[string]string{api.TagService: "pay"}}
		m, _ := resolve.Compile(snapshot.New(1, worlds.SecureMesh(t, world.Catalog(), `{"enabledBackend":"ca","backends":[{"name":"ca","type":"builtin"}]}`), dataplane("pay-1", "pay"), dataplane("web-1", "web", calls),
			&api.Object{Ref: api.InsightRef(api.Ref{Mesh: "default", Name: "web-1"}), Spec: &api.DataplaneInsight{Proxyless: proxyless}}), world.Dialects(), world.Kinds())
		for name, says := range map[string]string{"web-1": "no sidecar and calls in plain text", "pay-1": "web-1"} {
			told := false
			for _, n := range m.Reader(nil).NotesOn(api.Ref{Kind: api.KindDataplane, Mesh: "default", Name: name}) {
				told = told || n.Code == "StrictDestination" && strings.Contains(n.Message, says)
			}
			if told != proxyless {
				t.Errorf("without a sidecar %v: %s is told %v", proxyless, name, told)
			}
		}
	}
}

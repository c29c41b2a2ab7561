package accesslog_test

import (
	"strings"
	"testing"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/policies/accesslog"
)

// TestProducersSendNoTextForOthers: what makes sidecars of other namespaces send text, or write files, is
// refused in a namespace; for its own sidecars, and for operators, it is not.
func TestProducersSendNoTextForOthers(t *testing.T) {
	t.Parallel()
	tcp := accesslog.Backend{Type: "Tcp", TCP: &accesslog.TCP{Address: "redis:6379"}}
	file := accesslog.Backend{Type: "File", File: &accesslog.File{Path: "/var/log/weft/a.log"}}
	endpoint := "collector"
	harmless := []accesslog.Backend{{Type: "File", File: &accesslog.File{Path: "/dev/stdout"}}, {Type: "OpenTelemetry", OpenTelemetry: &accesslog.OpenTelemetry{Endpoint: &endpoint}}}
	own, mesh := api.TargetRef{Kind: "MeshService", Name: "shop"}, api.TargetRef{Kind: "Mesh"}
	list := func(b ...accesslog.Backend) *accesslog.Conf { return &accesslog.Conf{Backends: b} }
	for name, c := range map[string]struct {
		system bool
		item   policies.Item
		want   []string
	}{
		"tcp":      {false, policies.Item{TargetRef: own, Default: list(harmless[0], tcp)}, []string{"spec.to[0].default.backends[1].type: "}},
		"override": {false, policies.Item{TargetRef: own, Default: list(file), Override: list(tcp)}, []string{"spec.to[0].default.backends[0].file.path: ", "spec.to[0].override.backends[0].type: "}},
		"harmless": {false, policies.Item{TargetRef: own, Default: list(harmless...)}, nil},
		"consumer": {false, policies.Item{TargetRef: mesh, Default: list(tcp, file)}, nil},
		"operator": {true, policies.Item{TargetRef: own, Default: list(tcp, file)}, nil},
	} {
		s := &policies.Spec{Kind: accesslog.Kind, TargetRef: &mesh, To: []policies.Item{c.item}}
		o := &api.Object{Ref: api.Ref{Kind: accesslog.Kind.Name, Mesh: "default", Name: "a", Namespace: "shop"}, InSystemNamespace: c.system, Spec: s}
		var got string
		if err := s.ValidateObject(o, api.NewCatalog(api.Types()...), "spec"); err != nil {
			got = err.Error()
		}
		if strings.Count(got, "sidecars of other namespaces") != len(c.want) {
			t.Errorf("%s: %s", name, got)
		}
		for _, w := range c.want {
			if !strings.Contains(got, w) {
				t.Errorf("%s: %q is not in %s", name, w, got)
			}
		}
	}
}

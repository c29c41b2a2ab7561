package permissions_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/inspect/permissions"
	"github.com/weftmesh/weft/inspect/terminal"
	"github.com/weftmesh/weft/resolve"
)

// TestShadowsAreCounted (spec/identity.md 4.2): what shadows would have refused is summed up by
// service from the counters of several Envoys, and whoever did not answer is named. The names of
// the counters are those that a real Envoy has, which package trafficpermission tests.
func TestShadowsAreCounted(t *testing.T) {
	t.Parallel()
	objects := []*api.Object{{Ref: api.Ref{Kind: api.KindMesh, Name: "default"}, Spec: &api.Mesh{MTLS: &api.MeshTLS{EnabledBackend: "ca", Backends: []api.MeshBackend{{Name: "ca", Type: "builtin"}}}}}}
	for i, service := range []string{"pay", "pay", "pay", "web"} {
		name := fmt.Sprintf("%s-%d", service, i)
		objects = append(objects, &api.Object{Ref: api.Ref{Kind: api.KindDataplane, Mesh: "default", Name: name}, Spec: &api.Dataplane{Networking: &api.Networking{Address: fmt.Sprintf("10.0.0.%d", i),
			Inbound: []api.Inbound{{Port: 80, Tags: map[string]string{api.TagService: service, "kuma.io/protocol": "http"}}}}}})
	}
	m, _ := resolve.Compile(snapshot.New(1, objects...), world.Dialects(), world.Kinds())
	q := m.Reader(nil)
	asked, left := permissions.CountedIn(q, "default", "pay")
	if len(asked) != 3 || left != 0 {
		t.Fatalf("asked are %v and %d", asked, left)
	}
	stats := func(i int) []byte {
		const at = `{"name":"http.inbound_10.0.0.%[1]d_80%[2]s.rbac.weft_.%[3]s","value":%[4]d},`
		text := `{"stats":[{"histograms":{"supported_quantiles":[0,25]}},{"name":"cluster.x.upstream_rq_total","value":7},`
		for _, s := range []struct {
			chain, what string
			n           int
		}{{".mtls", "shadow_denied", 6}, {".mtls", "shadow_allowed", 1694}, {".mtls", "policy.kri_mtp_default_default__p_:0.allowWithShadowDeny0.shadow_denied", 6}, {".plain", "shadow_denied", 2}} {
			text += fmt.Sprintf(at, i, s.chain, s.what, s.n)
		}
		return []byte(text + `{"name":"http.inbound_10.0.0.9_80.mtls.rbac.weft_.shadow_denied","value":99}]}`)
	}
	got := permissions.CountShadows(q, "default", "pay", map[api.Ref][]byte{asked[0]: stats(0), asked[1]: stats(1), asked[2]: nil})
	want := &permissions.ShadowCounts{Asked: 2, Silent: []string{"pay-2"}, Items: []permissions.ShadowCount{{Service: "pay", Port: 80, WouldDeny: 12, Of: 3400, Plain: 4,
		Entries: []permissions.EntryCount{{Entry: "kri_mtp_default_default__p_:0.allowWithShadowDeny0", WouldDeny: 12}}}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	var text bytes.Buffer
	if err := (&permissions.Permissions{Counts: got}).Text(&text, terminal.Style{}); err != nil || !bytes.Contains(text.Bytes(), []byte("pay at port 80: would deny 12 of 3400; 4 in plain text")) {
		t.Errorf("%v %s", err, text.String())
	}
}

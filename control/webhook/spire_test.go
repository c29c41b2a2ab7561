package webhook_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/weftmesh/weft/sidecar/inject"
)

// TestAPIServerSpire: a pod that asks gets the socket of its node's SPIRE agent as the API server
// takes it. By the CSI driver it passes where Pod Security is strictest; a directory of the node is
// refused there, which the warning explains.
func TestAPIServerSpire(t *testing.T) {
	t.Parallel()
	var volume atomic.Value
	volume.Store(inject.SpireByCSI)
	b := newBed(t, func(c *cluster) {
		c.given = func() inject.SpireValues {
			v := inject.Default("1").Spire
			v.Volume = volume.Load().(string)
			return v
		}
	})
	b.create("/api/v1/namespaces", map[string]any{"metadata": map[string]any{"name": "strict", "labels": map[string]any{inject.LabelInjection: "enabled", "pod-security.kubernetes.io/enforce": "restricted"}}})
	create := func(namespace, name, asks string) (int, map[string]any, string) {
		t.Helper()
		status, got, warnings := b.SendWarned(t, http.MethodPost, "/api/v1/namespaces/"+namespace+"/pods", pod(name, nil, func(meta, spec map[string]any) {
			meta["annotations"] = map[string]any{"weft.io/interception-mode": "none", "k8s.kuma.io/spire-support": asks}
			spec["securityContext"] = map[string]any{"runAsNonRoot": true, "seccompProfile": map[string]any{"type": "RuntimeDefault"}}
			spec["containers"].([]any)[0].(map[string]any)["securityContext"] = map[string]any{"allowPrivilegeEscalation": false, "capabilities": map[string]any{"drop": []any{"ALL"}}}
		}))
		return status, got, strings.Join(append(warnings, fmt.Sprint(got["message"])), "\n")
	}
	has := func(status int, got map[string]any, said string, want ...string) {
		t.Helper()
		spec := fmt.Sprint(got["spec"])
		for _, part := range append(want, "name:SPIFFE_ENDPOINT_SOCKET value:unix:///run/spire/sockets/socket", "mountPath:/run/spire/sockets name:weft-spire readOnly:true") {
			if status != http.StatusCreated || !strings.Contains(spec, part) {
				t.Errorf("%d %s: %q is not in %s", status, said, part, spec)
			}
		}
	}
	status, got, said := create("strict", "by-csi", "true")
	has(status, got, said, "csi:map[driver:csi.spiffe.io readOnly:true]")
	if status, got, said := create("strict", "without", "false"); status != http.StatusCreated || strings.Contains(fmt.Sprint(got["spec"]), "weft-spire") {
		t.Errorf("%d %s %v", status, said, got["spec"])
	}
	if status, _, said := create("strict", "perhaps", "perhaps"); status != http.StatusUnprocessableEntity || !strings.Contains(said, "metadata.annotations[k8s.kuma.io/spire-support]: \"perhaps\" is neither yes nor no") {
		t.Errorf("%d %s", status, said)
	}
	volume.Store(inject.SpireByHostPath)
	status, got, said = create("on", "by-node", "true")
	has(status, got, said, "hostPath:map[path:/run/spire/sockets type:Directory]")
	if status, _, said := create("strict", "by-node", "true"); status != http.StatusForbidden || !strings.Contains(said, "PodSecurity") || !strings.Contains(said, "spire.volume: csi") {
		t.Errorf("%d %s", status, said)
	}
}

package control_test

import (
	"encoding/base64"
	"net/http"
	"strings"
	"testing"
)

// TestAPIServerARestoredRevocation: in a cluster whose documents were restored, while no control plane
// ran, from a backup of before an identity was revoked, all replicas tell so until it is revoked again;
// who takes the revocation back while they run hears nothing, and a document that is broken counts for
// what it said.
func TestAPIServerARestoredRevocation(t *testing.T) {
	t.Parallel()
	const permissions = "/apis/kuma.io/v1alpha1/namespaces/weft-system/meshtrafficpermissions"
	const revocations = permissions + "/revoked-identities-default"
	const document = `{apiVersion: kuma.io/v1alpha1, kind: MeshTrafficPermission, metadata: {name: revoked-identities-default},
spec: {targetRef: {kind: Mesh}, rules: [{override: {deny: [{spiffeID: {type: Exact, value: "spiffe://default/payments"}}]}}]}}`
	c := defined(t)
	replica := func(name string) *plane {
		cfg := replicated(t, c, name)
		cfg.Webhooks = "127.0.0.1:0" // for which they share an authority
		return start(t, cfg)
	}
	recorded := func() string {
		text, _ := field(read(t, c, secretOfRoots), "data", "revoked-identities.json").(string)
		out, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	}
	tells := func(p *plane) bool {
		_, text := p.call(http.MethodGet, "/_problems", "")
		return strings.Contains(text, identityReturned)
	}
	before := replica("before")
	create(t, c, permissions, document)
	eventually(t, "it is recorded", func() bool { return strings.Contains(recorded(), "spiffe://default/payments") })
	before.stop()
	remove(t, c, revocations)

	first, second := replica("first"), replica("second")
	for _, p := range []*plane{first, second} {
		eventually(t, "the restored backup is told", func() bool { return tells(p) })
	}
	first.stop()
	eventually(t, "the other replica leads", second.leads)
	if !strings.Contains(recorded(), "spiffe://default/payments") || !tells(second) {
		t.Errorf("the next leader has %q in the record", recorded())
	}
	create(t, c, permissions, document)
	third := replica("third")
	for _, p := range []*plane{second, third} {
		eventually(t, "it is told no more", func() bool { return !tells(p) })
	}
	// A document that nobody can read says nothing of whom it revokes.
	broken := read(t, c, revocations)
	broken["spec"] = map[string]any{"targetRef": map[string]any{"kind": "Mesh"}, "rules": []any{map[string]any{"override": map[string]any{"deny": []any{map[string]any{"spiffeID": map[string]any{"type": "Exact", "value": "payments"}}}}}}}
	if status, got := c.Send(t, http.MethodPut, revocations, broken); status != http.StatusOK {
		t.Fatalf("%d %v", status, got["message"])
	}
	create(t, c, meshes, `{apiVersion: kuma.io/v1alpha1, kind: Mesh, metadata: {name: second}}`)
	create(t, c, permissions, strings.NewReplacer("-default", "-second", "metadata: {", "metadata: {labels: {kuma.io/mesh: second}, ", "default/payments", "second/other").Replace(document))
	eventually(t, "another is recorded", func() bool { return strings.Contains(recorded(), "spiffe://second/other") })
	if !strings.Contains(recorded(), "spiffe://default/payments") {
		t.Errorf("of a document that cannot be read %q is recorded", recorded())
	}
	remove(t, c, permissions+"/revoked-identities-second")
	remove(t, c, revocations)
	eventually(t, "that it was taken back is recorded", func() bool { return recorded() == "[]" })
	for _, p := range []*plane{second, third, replica("fourth")} {
		if tells(p) {
			t.Error("a revocation that was taken back is told as a restored backup")
		}
	}
}

package control_test

import (
	"fmt"
	"testing"
)

// TestAPIServerKeepsNoEarlierDefault: of a cluster that an earlier release installed the leader rewrites the
// default retry as that release wrote it, whose bound of an attempt ended every longer request, once; one that
// people edited stays to the letter, and so does a copy in another namespace.
func TestAPIServerKeepsNoEarlierDefault(t *testing.T) {
	t.Parallel()
	c := defined(t)
	workload(t, c)
	// earlier is what that release wrote of a mesh, and with another number of retries what people made of it.
	earlier := func(mesh string, retries int) string {
		return fmt.Sprintf(`{apiVersion: kuma.io/v1alpha1, kind: MeshRetry, metadata: {name: mesh-retry-all-%[1]s, labels: {kuma.io/mesh: %[1]s, weft.io/default: "true"}}, spec: {targetRef: {kind: Mesh}, to: [{targetRef: {kind: Mesh}, default: {
tcp: {maxConnectAttempt: 5}, http: {numRetries: %[2]d, perTryTimeout: 16s, retryOn: [ConnectFailure, RefusedStream], backOff: {baseInterval: 25ms, maxInterval: 250ms}}}}]}}`, mesh, retries)
	}
	for _, mesh := range []string{"default", "edited"} {
		create(t, c, meshes, fmt.Sprintf(`{apiVersion: kuma.io/v1alpha1, kind: Mesh, metadata: {name: %s}, spec: {}}`, mesh))
	}
	create(t, c, systemRetries, earlier("default", 5))
	create(t, c, systemRetries, earlier("edited", 3))
	create(t, c, shop+"meshretries", earlier("default", 5))
	edited, copied := systemRetries+"/mesh-retry-all-edited", shop+"meshretries/mesh-retry-all-default"
	spec := func(path string) string { return fmt.Sprint(read(t, c, path)["spec"]) }
	was := map[string]string{edited: spec(edited), copied: spec(copied)}
	const renewed = systemRetries + "/mesh-retry-all-default"
	if got := spec(renewed); got != was[copied] {
		t.Fatalf("stored as %s", got)
	}
	generation := func() string { return fmt.Sprint(read(t, c, renewed)["metadata"].(map[string]any)["generation"]) }
	for _, replica := range []string{"a", "b"} {
		p := start(t, replicated(t, c, replica))
		eventually(t, "the replica leads", p.leads)
		eventually(t, "what the earlier release wrote is rewritten", func() bool { return spec(renewed) != was[copied] })
		eventually(t, "the leader has seen to the other policies", func() bool { return listed(t, c, systemTimeouts) == "mesh-timeout-all-default mesh-timeout-all-edited" })
		if got := generation(); got != "2" {
			t.Errorf("replica %s: it was written so often: %s", replica, got)
		}
		p.stop()
	}
	if http := field(read(t, c, renewed), "metadata", "labels", "weft.io/default"); http != "true" {
		t.Errorf("it is no default any more: %v", read(t, c, renewed))
	}
	for path, want := range was {
		if got := spec(path); got != want {
			t.Errorf("%s was rewritten:\n%s\nwas\n%s", path, got, want)
		}
	}
}

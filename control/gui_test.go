package control_test

import (
	"os"
	"os/exec"
	"testing"
)

// TestAPIServerShowsUsersTheirPart: in a browser, who may read one namespace of a cluster sees
// that on every screen, and what is hidden is said. What the pages show is asserted in
// inspect/web/ui/test/cluster.kube.mjs.
func TestAPIServerShowsUsersTheirPart(t *testing.T) {
	t.Parallel()
	if os.Getenv("REQUIRE_BROWSER") == "" {
		t.Skip("REQUIRE_BROWSER is not set: `make test-ui-kube` runs tests with an API server and a browser")
	}
	a := withUsers(t)
	run := exec.CommandContext(t.Context(), "node", "--test", "--test-force-exit", "--test-timeout=300000", "--test-reporter=spec", "test/cluster.kube.mjs")
	run.Dir = "../inspect/web/ui"
	run.Env = append(os.Environ(), "SERVER=https://"+a.plane.APITLS(), "READER="+a.tokenOf("reader", "weft-api"), "OPERATOR="+a.tokenOf("operator", "weft-api"))
	out, err := run.CombinedOutput()
	t.Logf("%s", out)
	if err != nil {
		t.Fatal(err)
	}
}

package control_test

import (
	"os"
	"os/exec"
	"testing"
)

// BenchmarkScreens asks how soon each screen of the GUI is ready in a browser, with 10,000
// connected sidecars, 1,000 services, problems, and changes that sidecars have confirmed.
// What is measured, and the bound, is in inspect/web/ui/test/ready.bench.mjs; `make bench-ui` runs
// it.
func BenchmarkScreens(b *testing.B) {
	p := largeMesh(b, config(b))
	run := exec.CommandContext(b.Context(), "node", "--test", "--test-force-exit", "--test-timeout=600000", "--test-reporter=spec", "test/ready.bench.mjs")
	run.Dir = "../inspect/web/ui"
	run.Env = append(os.Environ(), "SERVER=http://"+p.API())
	out, err := run.CombinedOutput()
	b.Logf("%s", out)
	if err != nil {
		b.Fatal(err)
	}
}

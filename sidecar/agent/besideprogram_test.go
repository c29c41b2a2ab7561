package agent_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/weftmesh/weft/sidecar/agent"
)

// TestEnvoyIsFoundBesideTheProgram: who calls weft by its path, or by a link to it, from any
// directory finds the Envoy that `make tools` put beside it. The program is this test's own.
func TestEnvoyIsFoundBesideTheProgram(t *testing.T) {
	if os.Getenv("FIND_ENVOY") != "" {
		path, err := agent.FindEnvoy("")
		fmt.Printf("found=%s error=%v\n", path, err)
		os.Exit(0)
	}
	t.Parallel()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	envoy := filepath.Join(root, "weft", ".tools", "bin", "envoy")
	program := filepath.Join(root, "weft", "bin", "weft")
	link := filepath.Join(root, "usr", "bin", "weft")
	for _, f := range []string{envoy, program, link} {
		if err := os.MkdirAll(filepath.Dir(f), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	for file, content := range map[string][]byte{program: text, envoy: nil} {
		if err := os.WriteFile(file, content, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(program, link); err != nil {
		t.Fatal(err)
	}
	for _, called := range []string{program, link} {
		cmd := exec.Command(called, "-test.run", "^TestEnvoyIsFoundBesideTheProgram$")
		cmd.Dir, cmd.Env = t.TempDir(), []string{"FIND_ENVOY=1"}
		out, err := cmd.Output()
		if want := fmt.Sprintf("found=%s error=<nil>\n", envoy); err != nil || string(out) != want {
			t.Errorf("called as %s: %q %v, want %q", called, out, err, want)
		}
	}
}

package differential

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/weftmesh/weft/internal/envoytest"
)

// TestMain starts the program anew in an environment in which servers of Go take a
// WebSocket over HTTP/2: they read it before anything of the program runs.
func TestMain(m *testing.M) {
	const key, setting = "GODEBUG", "http2xconnect=1"
	self, err := os.Executable()
	if old := os.Getenv(key); err == nil && !strings.Contains(old, setting) {
		environment := append(os.Environ(), key+"="+strings.Trim(old+","+setting, ","))
		err = syscall.Exec(self, os.Args, environment)
		fmt.Fprintln(os.Stderr, "start anew:", err)
		os.Exit(1)
	}
	envoytest.Waits(8)
	os.Exit(m.Run())
}

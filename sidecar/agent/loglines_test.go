package agent_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/weftmesh/weft/internal/envoytest"
)

const logging = calling + `---
type: MeshAccessLog
mesh: default
name: all
spec:
  to:
    - targetRef: {kind: Mesh}
      default: {backends: [{type: File, file: {path: /var/log/weft/calls.log, format: {type: Plain, plain: '%%KUMA_SOURCE_SERVICE%%>%%KUMA_DESTINATION_SERVICE%% %%RESPONSE_CODE%% %%PATH(NQ)%%'}}}]}
`

// TestLinesInFiles: an agent writes to its directory of logs what a policy says.
func TestLinesInFiles(t *testing.T) {
	t.Parallel()
	c := &control{t: t}
	out := envoytest.Port(t)
	c.docs = fmt.Sprintf(logging, envoytest.Port(t), envoytest.Port(t), out, envoytest.Port(t)) // nobody is there
	c.start(envoytest.Address(t))
	t.Cleanup(func() { c.stop() })
	conf := config("http://" + c.addr)
	conf.LogDir = t.TempDir()
	start(t, conf)
	eventually(t, "an answer of the outbound", func() bool {
		resp, err := http.Get(fmt.Sprintf("http://127.0.0.1:%d/v1?secret=x", out))
		if err != nil {
			return false
		}
		_ = resp.Body.Close()
		return resp.StatusCode == http.StatusServiceUnavailable
	})
	eventually(t, "the line", func() bool {
		got, err := os.ReadFile(filepath.Join(conf.LogDir, "calls.log"))
		return err == nil && string(got) == "web-1>shop 503 /v1\n" // this control plane knows nodes by their names alone
	})
}

package control_test

import (
	"bytes"
	"maps"
	"net/http"
	"strings"
	"testing"
)

// TestAPIServerAuthorityThatIsBroken: the Secret weft-ca is edited by somebody. The replica that runs
// serves on and says so in its problems and its metric; one that starts now stays not ready and says why. When the
// Secret is restored both are as before, without a restart.
func TestAPIServerAuthorityThatIsBroken(t *testing.T) {
	t.Parallel()
	a := admitting(t, nil)
	eventually(t, "the authority is kept", func() bool {
		return strings.Contains(a.plane.want(http.StatusOK, http.MethodGet, "/metrics", ""), "weft_authority_healthy 1")
	})
	sound := a.bundle().Data()
	broken := maps.Clone(sound)
	for name := range broken {
		broken[name] = bytes.Repeat([]byte("x"), 100)
	}
	a.put(broken)
	a.plane.problemsSay("it is a problem", "AuthorityUnreadable", "the authority of the cluster cannot be read")
	a.plane.want(http.StatusOK, http.MethodGet, "/readyz", "")
	if text := a.plane.want(http.StatusOK, http.MethodGet, "/metrics", ""); !strings.Contains(text, "weft_authority_healthy 0") {
		t.Error("the metric says that it is healthy")
	}
	cfg := clustered(t, a.URL, a.Cluster)
	cfg.Namespace, cfg.Replica, cfg.Webhooks = "weft-system", "b", "127.0.0.1:0"
	second := serving(t, cfg, discard())
	eventually(t, "one that starts says why it is not ready", func() bool {
		code, text := second.call(http.MethodGet, "/readyz", "")
		return code == http.StatusServiceUnavailable && strings.Contains(text, "authority")
	})
	a.put(sound)
	eventually(t, "all is as before", func() bool {
		code, _ := second.call(http.MethodGet, "/readyz", "")
		return code == http.StatusOK && !strings.Contains(a.plane.want(http.StatusOK, http.MethodGet, "/_problems", ""), "AuthorityUnreadable") &&
			strings.Contains(a.plane.want(http.StatusOK, http.MethodGet, "/metrics", ""), "weft_authority_healthy 1")
	})
	if bytes.Contains([]byte(a.plane.want(http.StatusOK, http.MethodGet, "/_problems", "")), []byte("xxxx")) {
		t.Error("what stood in the Secret is told")
	}
}

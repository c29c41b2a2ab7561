package timeout_test

import (
	"testing"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/internal/envoytest"
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/policies/internal/policytest"
	"github.com/weftmesh/weft/policies/timeout"
	"github.com/weftmesh/weft/xds/envoy"
)

// TestEnvoyCutsAtTheBound sends a request that takes longer than every bound
// that is on, and shorter than every bound that is not.
func TestEnvoyCutsAtTheBound(t *testing.T) {
	t.Parallel()
	short, off := new(api.Duration(100*time.Millisecond)), new(api.Duration(0))
	trials := []struct {
		name string
		conf timeout.HTTP
		want int
	}{
		{"request", timeout.HTTP{RequestTimeout: short}, 504},
		{"request off", timeout.HTTP{RequestTimeout: off}, 200},
		{"stream idle", timeout.HTTP{RequestTimeout: off, StreamIdleTimeout: short}, 504},
		{"stream idle off", timeout.HTTP{RequestTimeout: off, StreamIdleTimeout: off}, 200},
		{"stream duration", timeout.HTTP{RequestTimeout: off, MaxStreamDuration: short}, 504},
		{"stream duration off", timeout.HTTP{RequestTimeout: off, MaxStreamDuration: off}, 200},
		{"connection duration off", timeout.HTTP{RequestTimeout: off, MaxConnectionDuration: off}, 200},
		{"headers off", timeout.HTTP{RequestTimeout: off, RequestHeadersTimeout: off}, 200},
	}
	var written []policytest.Written
	for _, c := range trials {
		written = append(written, policytest.Write(envoy.Place{Protocol: api.HTTP}, &timeout.Conf{IdleTimeout: off, HTTP: &c.conf}))
	}
	proxy := policytest.StartProxy(t, envoytest.StartBackend(t, "backend").Port, []*policies.Kind{timeout.Kind}, written...)
	for i, c := range trials {
		got := proxy.Send(t, i, "GET", envoytest.ScriptHeader, "slow:600ms").StatusCode
		if got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}

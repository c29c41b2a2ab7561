package control_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/weftmesh/weft/internal/envoytest"
	"github.com/weftmesh/weft/sidecar/agent"
)

// runs starts the sidecar of a dataplane with a real Envoy, over plaintext, and returns when
// it is in sync.
func (p *plane) runs(name string) {
	p.t.Helper()
	conf := agent.Default()
	conf.XDS, conf.Name, conf.Envoy, conf.DrainTime = "http://"+p.XDS(), name, envoytest.Path(p.t), 0
	ctx, stop := context.WithCancel(p.t.Context())
	ended := make(chan error, 1)
	go func() { ended <- agent.New(conf, discard()).Run(ctx) }()
	p.t.Cleanup(func() { stop(); <-ended })
	eventually(p.t, name+" is in sync", func() bool {
		return strings.Contains(p.want(http.StatusOK, http.MethodGet, "/metrics", ""), "\nweft_sidecars{state=\"in_sync\"} 1\n")
	})
}

// TestProfilesAreForProgramsOfThisHost: Go's profiles are at an address of their own and
// never at that of the API; a page in a browser does not get them.
func TestProfilesAreForProgramsOfThisHost(t *testing.T) {
	t.Parallel()
	c := config(t)
	c.Pprof = "127.0.0.1:0"
	p := start(t, c)
	if code, _ := p.call(http.MethodGet, "/debug/pprof/", ""); code != http.StatusNotFound {
		t.Errorf("the API answers %d", code)
	}
	for _, x := range []struct {
		host, origin string
		want         int
	}{{p.Pprof(), "", http.StatusOK}, {"localhost:6060", "", http.StatusOK}, {"rebound.example.org", "", http.StatusForbidden}, {p.Pprof(), "http://example.org", http.StatusForbidden}} {
		r, err := http.NewRequest(http.MethodGet, "http://"+p.Pprof()+"/debug/pprof/heap?debug=1", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Host = x.host
		if x.origin != "" {
			r.Header.Set("Origin", x.origin)
		}
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != x.want {
			t.Errorf("host %q, origin %q: %d, want %d", x.host, x.origin, resp.StatusCode, x.want)
		}
	}
	c.Pprof = "0.0.0.0:6060"
	if err := c.Validate(); err == nil || !strings.Contains(err.Error(), "--pprof 0.0.0.0:6060") {
		t.Errorf("an address that others reach: %v", err)
	}
}

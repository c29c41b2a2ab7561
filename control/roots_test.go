package control_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/weftmesh/weft/internal/envoytest"
	"github.com/weftmesh/weft/sidecar/agent"
	"github.com/weftmesh/weft/xds/server/authority"
)

// TestANewRootReachesSidecars: a sidecar hears of a second root over the connection that it
// trusts. When the control plane shows certificates of that one alone, its Envoy, the same
// process, connects again; so does a sidecar that starts anew and was given the old root,
// where it has a directory to remember in.
func TestANewRootReachesSidecars(t *testing.T) {
	t.Parallel()
	first, second := config(t), config(t)
	first.XDSPlaintext, second.XDSPlaintext = false, false
	p := start(t, first)
	p.want(http.StatusOK, http.MethodPost, "/_apply", worldDocs)
	before, err := os.ReadFile(filepath.Join(first.DataDir, "ca.pem"))
	if err != nil {
		t.Fatal(err)
	}
	next, err := authority.Load(second.DataDir, "127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	conf := agent.Default()
	conf.XDS, conf.Name, conf.CA, conf.StateDir = "https://"+p.XDS(), "frontend-1", before, t.TempDir()
	conf.Envoy, conf.DrainTime = envoytest.Path(t), 0
	var starts counting
	run := func() func() {
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- agent.New(conf, slog.New(&starts)).Run(ctx) }()
		return func() { stop(); <-ended }
	}
	stop := run()
	defer func() { stop() }()
	const stats = "/meshes/default/dataplanes/frontend-1/stats"
	answers := func(p *plane) func() bool {
		return func() bool {
			code, text := p.call(http.MethodGet, stats, "")
			return code == http.StatusOK && strings.Contains(text, "control_plane.connected_state: 1")
		}
	}
	eventually(t, "the sidecar is connected", answers(p))
	p.TellAuthorities(slices.Concat(before, next.PEM()))
	eventually(t, "the sidecar keeps both roots", func() bool {
		text, err := os.ReadFile(filepath.Join(conf.StateDir, "authorities.json"))
		return err == nil && len(text) > 0
	})

	second.XDS = p.XDS()
	p.stop()
	p = start(t, second)
	p.want(http.StatusOK, http.MethodPost, "/_apply", worldDocs)
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(before)
	if c, err := tls.Dial("tcp", second.XDS, &tls.Config{RootCAs: pool}); err == nil {
		c.Close()
		t.Fatal("the second control plane shows a certificate of the first root")
	}
	eventually(t, "the same Envoy is connected to a control plane with another root", answers(p))
	if n := starts.Load(); n != 1 {
		t.Errorf("Envoy was started %d times", n)
	}
	stop()
	stop = run()
	eventually(t, "a sidecar that was given the old root remembers the new one", answers(p))
}

// counting counts the starts of Envoy in the log of an agent.
type counting struct{ atomic.Int32 }

func (*counting) Enabled(context.Context, slog.Level) bool { return true }
func (c *counting) WithAttrs([]slog.Attr) slog.Handler     { return c }
func (c *counting) WithGroup(string) slog.Handler          { return c }
func (c *counting) Handle(_ context.Context, r slog.Record) error {
	if r.Message == "envoy started" {
		c.Add(1)
	}
	return nil
}

package agent_test

import (
	"crypto/tls"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weftmesh/weft/sidecar/agent"
	"github.com/weftmesh/weft/xds/server/authority"
	"github.com/weftmesh/weft/xds/server/token"
)

// TestTheEndOfATokenIsAnnounced: well before, and once it has come.
func TestTheEndOfATokenIsAnnounced(t *testing.T) {
	t.Parallel()
	keys, err := token.Load(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	issued, err := keys.Issue(token.Claims{Mesh: "default", Name: "web-1"}, 720*time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	const soon, over = "ends soon", "has ended"
	said := &logs{}
	look := agent.Looker(write(t, "token", issued.Text), t.TempDir(), slog.New(slog.NewTextHandler(said, nil)))
	for _, step := range []struct {
		after       time.Duration
		soon, ended int
	}{{0, 0, 0}, {500 * time.Hour, 0, 0}, {600 * time.Hour, 1, 0}, {601 * time.Hour, 1, 0}, {721 * time.Hour, 1, 1}, {722 * time.Hour, 1, 1}} {
		look(now.Add(step.after))
		if a, b := strings.Count(said.String(), soon), strings.Count(said.String(), over); a != step.soon || b != step.ended {
			t.Errorf("after %v: warned %d and %d times, want %d and %d:\n%s", step.after, a, b, step.soon, step.ended, said)
		}
	}
}

// TestTheTokenFollowsNoRedirect: it is for the control plane of --xds alone.
func TestTheTokenFollowsNoRedirect(t *testing.T) {
	t.Parallel()
	p := newPlane(t, bootstrap)
	for _, code := range []int{http.StatusFound, http.StatusTemporaryRedirect, http.StatusPermanentRedirect} {
		s := httptest.NewServer(http.RedirectHandler(p.URL, code))
		t.Cleanup(s.Close)
		c := config(s.URL)
		c.TokenFile = write(t, "token", "secret")
		refusal(t, c, "redirects to "+p.URL+", and the token must not follow")
	}
	if p.asked.Load() != 0 {
		t.Error("it followed")
	}
}

func (r *running) kill(t *testing.T) {
	t.Helper()
	resp, err := http.Post("http://"+r.Admin()+"/quitquitquit", "", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
}

// TestARefusalDoesNotStopARunningSidecar: what it has serves on.
func TestARefusalDoesNotStopARunningSidecar(t *testing.T) {
	t.Parallel()
	port, _ := workload(t)
	p := newPlane(t, strings.ReplaceAll(bootstrap, "WORKLOAD", port))
	r := start(t, config(p.URL))
	eventually(t, "ready", func() bool { return r.ready() == http.StatusOK })
	p.status.Store(http.StatusUnauthorized)
	r.kill(t)
	eventually(t, "started again and ready", func() bool { return r.Starts() == 2 && r.ready() == http.StatusOK })
}

// TestTheAuthorityIsRenewed: another one in its file is heeded without a restart.
func TestTheAuthorityIsRenewed(t *testing.T) {
	t.Parallel()
	var shown [2]*authority.Authority
	for i := range shown {
		var err error
		if shown[i], err = authority.Load(t.TempDir()); err != nil {
			t.Fatal(err)
		}
	}
	port, _ := workload(t)
	var now, asked atomic.Int64
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/bootstrap" { // it has no streams for agents
			http.NotFound(w, r)
			return
		}
		asked.Add(1)
		io.WriteString(w, strings.ReplaceAll(bootstrap, "WORKLOAD", port))
	}))
	s.TLS = &tls.Config{GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return shown[now.Load()].TLS(), nil }}
	s.StartTLS()
	t.Cleanup(s.Close)
	c := config(s.URL)
	c.CAFile = filepath.Join(t.TempDir(), "ca.pem")
	trust := func() {
		if err := os.WriteFile(c.CAFile, shown[now.Load()].PEM(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	trust()
	r := start(t, c)
	eventually(t, "ready", func() bool { return r.ready() == http.StatusOK })
	now.Store(1)
	trust()
	s.CloseClientConnections()
	r.kill(t)
	eventually(t, "started again", func() bool { return r.Starts() == 2 })
	if asked.Load() != 2 || r.says("starting from the last bootstrap") {
		t.Errorf("asked %d times:\n%s", asked.Load(), r.logs)
	}
}

// TestLastWordsOfEnvoy: an abort without the end of a line is in the log, and
// lines without end fill no memory.
func TestLastWordsOfEnvoy(t *testing.T) {
	t.Parallel()
	said := &logs{}
	log := slog.New(slog.NewTextHandler(said, nil))
	agent.Forward(log, "info\x1fmain\x1fstart", "ing\ncritical\x1fassert\x1fno way on")
	for _, want := range []string{"level=INFO msg=starting", `level=ERROR msg="no way on"`} {
		if !strings.Contains(said.String(), want) {
			t.Errorf("%s is lost:\n%s", want, said)
		}
	}
	said = &logs{}
	agent.Forward(slog.New(slog.NewTextHandler(said, nil)), strings.Repeat("x", 200<<10))
	if n := strings.Count(said.String(), "msg="); n != 4 || strings.Count(said.String(), "x") != 200<<10 {
		t.Errorf("one line without end became %d", n)
	}
}

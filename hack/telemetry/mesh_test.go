package telemetry

import (
	"bytes"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// mesh is a control plane and two sidecars, each a program: frontend calls web.
type mesh struct {
	t             *testing.T
	dir, api      string
	logs          string // of frontend's sidecar
	in, out, port int    // frontend's inbound and outbound, and a free one
}

// freePort is a port of loopback that nobody has.
func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// need is what the run script says.
func need(t *testing.T, name string) string {
	t.Helper()
	v := os.Getenv(name)
	if v == "" {
		t.Fatalf("%s is not set; run make telemetry", name)
	}
	return v
}

// program runs a program until the test ends, and shows what it said where the test fails.
func program(t *testing.T, dir string, env []string, name string, args ...string) {
	t.Helper()
	c := exec.Command(name, args...)
	out := &bytes.Buffer{}
	c.Dir, c.Env, c.Stdout, c.Stderr = dir, append(os.Environ(), env...), out, out
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = syscall.Kill(-c.Process.Pid, syscall.SIGTERM)
		done := make(chan struct{})
		go func() { _ = c.Wait(); close(done) }()
		select {
		case <-done:
		case <-time.After(20 * time.Second):
			_ = syscall.Kill(-c.Process.Pid, syscall.SIGKILL)
			<-done
		}
		if t.Failed() {
			t.Logf("%s %s:\n%s", filepath.Base(name), strings.Join(args, " "), out)
		}
	})
}

const dataplanes = `
type: Dataplane
mesh: default
name: frontend-1
networking: {address: 127.0.0.1, inbound: [{port: %d, tags: {kuma.io/service: frontend, kuma.io/protocol: http}}], outbound: [{port: %d, tags: {kuma.io/service: web}}]}
---
type: Dataplane
mesh: default
name: web-1
networking: {address: 127.0.0.1, inbound: [{port: %d, servicePort: %s, tags: {kuma.io/service: web, kuma.io/protocol: http}}]}
---
type: MeshHTTPRoute
mesh: default
name: quiet
spec:
  targetRef: {kind: Mesh}
  to: [{targetRef: {kind: MeshService, name: web}, rules: [{matches: [{path: {type: PathPrefix, value: /quiet}}], default: {}}]}]
---
`

// startMesh runs one with policies.
func startMesh(t *testing.T, policies string) *mesh {
	t.Helper()
	workload := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprintln(w, r.URL.Path) }))
	t.Cleanup(workload.Close)
	at, err := url.Parse(workload.URL)
	if err != nil {
		t.Fatal(err)
	}
	m := &mesh{t: t, dir: t.TempDir(), api: fmt.Sprintf("127.0.0.1:%d", freePort(t)), out: freePort(t)}
	m.logs = filepath.Join(m.dir, "logs")
	if err := os.Mkdir(m.logs, 0o755); err != nil {
		t.Fatal(err)
	}
	xds := fmt.Sprintf("127.0.0.1:%d", freePort(t))
	weft := need(t, "WEFT")
	program(t, m.dir, nil, weft, "serve", "--api", m.api, "--xds", xds, "--xds-plaintext", "--dataplane-auth", "none", "--admin-auth", "none")
	m.until("the control plane serves", func() bool {
		resp, err := http.Get("http://" + m.api + "/readyz")
		if err == nil {
			_ = resp.Body.Close()
		}
		return err == nil && resp.StatusCode == http.StatusOK
	})
	m.apply(fmt.Sprintf(dataplanes, freePort(t), m.out, freePort(t), at.Port()) + policies)
	for _, name := range []string{"web-1", "frontend-1"} {
		program(t, m.dir, nil, weft, "sidecar", "--xds", "http://"+xds, "--name", name, "--drain-time", "0s", "--access-log-dir", m.logs, "--concurrency", "1")
	}
	m.until("frontend reaches web", func() bool { return m.get("/ready") == http.StatusOK })
	return m
}

// apply writes documents.
func (m *mesh) apply(text string) {
	m.t.Helper()
	c := exec.Command(need(m.t, "WEFT"), "apply", "--server", "http://"+m.api, "-f", "-")
	c.Stdin, c.Dir = strings.NewReader(text), m.dir
	if out, err := c.CombinedOutput(); err != nil {
		m.t.Fatalf("apply: %v\n%s", err, out)
	}
}

// get is the status of a request of frontend to web; 0 where there is none.
func (m *mesh) get(path string) int {
	resp, err := http.Get(fmt.Sprintf("http://127.0.0.1:%d%s", m.out, path))
	if err != nil {
		return 0
	}
	_ = resp.Body.Close()
	return resp.StatusCode
}

func (m *mesh) until(what string, cond func() bool) {
	m.t.Helper()
	for end := time.Now().Add(90 * time.Second); !cond(); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(end) {
			m.t.Fatal("never: " + what)
		}
	}
}

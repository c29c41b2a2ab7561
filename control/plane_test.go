package control_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weftmesh/weft/control"
	"github.com/weftmesh/weft/control/auth"
	"github.com/weftmesh/weft/internal/apitest"
)

// plane is a running control plane and a client of it.
type plane struct {
	*control.Plane
	t      testing.TB
	token  string
	trusts *tls.Config // of the address for sidecars; nil is plaintext
	stop   func()
	dir    string // its data directory, where a test needs it
}

// config is one without credentials, in memory.
func config(t testing.TB) control.Config {
	c := control.Default()
	c.Store, c.DataDir, c.API, c.XDS = "memory", t.TempDir(), "127.0.0.1:0", "127.0.0.1:0"
	c.AdminAuth, c.DataplaneAuth, c.XDSPlaintext, c.SkipDefaultPolicies = "none", "none", true, true
	return c
}

func start(t testing.TB, c control.Config) *plane {
	t.Helper()
	return startLogging(t, c, discard())
}

// startLogging starts one whose log a test reads.
func startLogging(t testing.TB, c control.Config, log *slog.Logger) *plane {
	t.Helper()
	r := serving(t, c, log)
	eventually(t, "the control plane is ready", func() bool {
		code, _ := r.call(http.MethodGet, "/readyz", "")
		return code == http.StatusOK
	})
	return r
}

// serving starts one that may not be ready yet, after it was prepared.
func serving(t testing.TB, c control.Config, log *slog.Logger, prepare ...func(*control.Plane)) *plane {
	t.Helper()
	p, err := control.New(t.Context(), c, log)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range prepare {
		f(p)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- p.Serve(ctx) }()
	stopped := false
	stop := func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		select {
		case err := <-done:
			if err != nil {
				t.Errorf("serving ended with %v", err)
			}
		case <-time.After(time.Minute):
			t.Error("the control plane does not stop")
		}
	}
	t.Cleanup(stop)
	r := &plane{Plane: p, t: t, stop: stop}
	if c.AdminAuth == "token" {
		text, err := os.ReadFile(filepath.Join(c.DataDir, auth.AdminTokenFile))
		if err != nil {
			t.Fatal(err)
		}
		r.token = strings.TrimSpace(string(text))
	}
	return r
}

// eventually polls until what holds, or fails.
func eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not in a minute: %s", what)
		}
	}
}

// call is one request to the API.
func (p *plane) call(method, path, body string) (int, string) {
	p.t.Helper()
	req, err := http.NewRequest(method, "http://"+p.API()+path, strings.NewReader(body))
	if err != nil {
		p.t.Fatal(err)
	}
	if p.token != "" {
		req.Header.Set("Authorization", "Bearer "+p.token)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		p.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	doc, err := described()
	if err != nil {
		p.t.Fatal(err)
	}
	if err := doc.Check(req, resp.StatusCode, resp.Header.Get("Content-Type"), text); err != nil {
		p.t.Errorf("not as GET /_openapi.json describes it: %v", err)
	}
	return resp.StatusCode, string(text)
}

// described is the document of the API, by which every answer is judged.
var described = sync.OnceValues(func() (*apitest.Document, error) {
	text, err := os.ReadFile("../inspect/web/openapi.json")
	if err != nil {
		return nil, err
	}
	return apitest.Read(text)
})

// want makes a request that must have that status.
func (p *plane) want(status int, method, path, body string) string {
	p.t.Helper()
	code, text := p.call(method, path, body)
	if code != status {
		p.t.Fatalf("%s %s: %d %s, want %d", method, path, code, text, status)
	}
	return text
}

// get decodes the answer to a GET.
func get[T any](p *plane, path string) T {
	p.t.Helper()
	return decoded[T](p.t, p.want(http.StatusOK, http.MethodGet, path, ""))
}

// decoded is an answer as a value.
func decoded[T any](t testing.TB, text string) (v T) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	return v
}

type list struct {
	Total int
	Items []struct{ Type, Mesh, Name string }
	Next  *string
}

func names(l list) string {
	var all []string
	for _, i := range l.Items {
		all = append(all, i.Name)
	}
	return strings.Join(all, " ")
}

func TestAnEmptyStoreGetsMeshDefaultWithItsPolicies(t *testing.T) {
	t.Parallel()
	for _, skip := range []bool{false, true} {
		c := config(t)
		c.SkipDefaultPolicies = skip
		p := start(t, c)
		if got := names(get[list](p, "/meshes")); got != "default" {
			t.Errorf("meshes are %q", got)
		}
		want := map[bool]string{false: "mesh-retry-all-default", true: ""}[skip]
		if got := names(get[list](p, "/meshes/default/meshretries")); got != want {
			t.Errorf("skip %v: policies are %q", skip, got)
		}
	}
}

func TestWhatBoltAcknowledgedIsThereAfterARestart(t *testing.T) {
	t.Parallel()
	c := config(t)
	c.Store, c.SkipDefaultPolicies = "bolt", false
	p := start(t, c)
	p.want(http.StatusCreated, http.MethodPut, "/meshes/prod", `{"type":"Mesh","name":"prod"}`)
	p.want(http.StatusOK, http.MethodDelete, "/meshes/default/meshretries/mesh-retry-all-default", "")
	p.stop()
	p = start(t, c)
	if got := names(get[list](p, "/meshes")); got != "default prod" {
		t.Errorf("meshes are %q", got)
	}
	if got := names(get[list](p, "/meshretries")); got != "mesh-retry-all-prod" {
		t.Errorf("a deleted default policy comes back: %q", got)
	}
}

func TestWhatCannotBeServedIsRefusedWithWhatHelps(t *testing.T) {
	t.Parallel()
	damaged := config(t)
	damaged.Store = "bolt"
	start(t, damaged).stop()
	path := filepath.Join(damaged.DataDir, "weft.db")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text[bytes.Index(text, []byte("type: Mesh"))] ^= 1
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	taken := config(t)
	taken.API = start(t, config(t)).API()
	lost := config(t)
	lost.Dir = filepath.Join(t.TempDir(), "none")
	for name, c := range map[string]struct {
		config control.Config
		parts  []string
	}{
		"damaged":   {damaged, []string{path, "weft store"}},
		"taken":     {taken, []string{"--api " + taken.API}},
		"directory": {lost, []string{"--dir", lost.Dir}},
	} {
		_, err := control.New(t.Context(), c.config, discard())
		if err == nil {
			t.Errorf("%s: it starts", name)
			continue
		}
		for _, part := range c.parts {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%s: %v does not name %s", name, err, part)
			}
		}
	}
}

// discard is a log for nobody.
func discard() *slog.Logger { return slog.New(slog.DiscardHandler) }

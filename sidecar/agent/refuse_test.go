package agent_test

import (
	"encoding/pem"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/weftmesh/weft/sidecar/agent"
)

func write(t *testing.T, name, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
	return file
}

func refusal(t *testing.T, c agent.Config, want string) {
	t.Helper()
	r := start(t, c)
	err := <-r.done
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want an error that says %q", err, want)
	}
}

func TestTheAuthorityIsRequired(t *testing.T) {
	t.Parallel()
	refusal(t, config("https://127.0.0.1:5678"), "--ca-file is missing")
	refusal(t, config("http://192.0.2.1:5678"), "plaintext and leaves this host")
	refusal(t, config("grpc://127.0.0.1:5678"), `the scheme "grpc"`)
	c := config("https://127.0.0.1:5678")
	c.CAFile = write(t, "ca.pem", "nonsense")
	refusal(t, c, "holds no certificate")
}

// A server with another authority must see no token, and waiting would not help.
func TestAnImpostorGetsNoToken(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	impostor := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	t.Cleanup(impostor.Close)
	// A certificate that is somebody's, and not an authority of the impostor's.
	other := untrusted(t)
	c := config(impostor.URL)
	c.CAFile = write(t, "ca.pem", other)
	c.TokenFile = write(t, "token", "secret")
	refusal(t, c, "is not the one of --ca-file")
	if asked.Load() != 0 {
		t.Error("the impostor saw a request")
	}
}

func TestTheAuthorityOfTheControlPlaneIsEnough(t *testing.T) {
	t.Parallel()
	var auth atomic.Pointer[string]
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := r.Header.Get("Authorization")
		auth.Store(&h)
		w.WriteHeader(http.StatusForbidden)
		io.WriteString(w, `{"title":"Not yours","detail":"this token is for web-2","invalid_parameters":[{"field":"name","reason":"web-1"}]}`)
	}))
	t.Cleanup(s.Close)
	c := config(s.URL)
	c.CAFile = write(t, "ca.pem", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})))
	c.TokenFile = write(t, "token", "secret\n")
	refusal(t, c, "403): Not yours: this token is for web-2; name: web-1")
	if got := auth.Load(); got == nil || *got != "Bearer secret" {
		t.Errorf("authorization: %v", got)
	}
}

// Without the key, Envoy would refuse expressions that the control plane accepts.
func TestABootstrapWithoutTheRegexBudgetIsRefused(t *testing.T) {
	t.Parallel()
	p := newPlane(t, strings.ReplaceAll(bootstrap, "re2.max_program_size.error_level", "something.else"))
	refusal(t, config(p.URL), "lacks the runtime key re2.max_program_size.error_level")
	if err := agent.CheckBootstrap([]byte("layered_runtime: {layers: [{static_layer: {re2: {max_program_size: {error_level: 1}}}}]}")); err != nil {
		t.Errorf("a nested key counts: %v", err)
	}
}

func TestAnAbsentControlPlaneIsWaitedFor(t *testing.T) {
	t.Parallel()
	port, _ := workload(t)
	p := newPlane(t, strings.ReplaceAll(bootstrap, "WORKLOAD", port))
	p.status.Store(http.StatusServiceUnavailable)
	r := start(t, config(p.URL))
	eventually(t, "asked twice", func() bool { return p.asked.Load() >= 2 })
	p.status.Store(0)
	eventually(t, "ready", func() bool { return r.ready() == http.StatusOK })
}

func TestEnvoyIsFound(t *testing.T) {
	given := write(t, "given", "")
	t.Setenv("WEFT_ENVOY", write(t, "by-environment", ""))
	bin := filepath.Dir(write(t, "envoy", ""))
	t.Setenv("PATH", bin)
	for _, c := range []struct{ given, env, want string }{
		{given, os.Getenv("WEFT_ENVOY"), given},
		{"", os.Getenv("WEFT_ENVOY"), os.Getenv("WEFT_ENVOY")},
		{"", "", filepath.Join(bin, "envoy")},
	} {
		t.Setenv("WEFT_ENVOY", c.env)
		if got, err := agent.FindEnvoy(c.given); err != nil || got != c.want {
			t.Errorf("FindEnvoy(%q) with WEFT_ENVOY=%q: %q %v, want %q", c.given, c.env, got, err, c.want)
		}
	}
	root := t.TempDir()
	tools := filepath.Join(root, ".tools", "bin")
	deep := filepath.Join(root, "a", "b")
	for _, d := range []string{tools, deep} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", "")
	t.Chdir(deep)
	if _, err := agent.FindEnvoy(""); err == nil || !strings.Contains(err.Error(), "make tools") {
		t.Errorf("without any Envoy: %v", err)
	}
	want := filepath.Join(tools, "envoy")
	if err := os.WriteFile(want, nil, 0o755); err != nil {
		t.Fatal(err)
	}
	if got, err := agent.FindEnvoy(""); err != nil || got != want {
		t.Errorf("below .tools: %q %v, want %q", got, err, want)
	}
	if _, err := agent.FindEnvoy(filepath.Join(root, "none")); err == nil || !strings.Contains(err.Error(), "--envoy") {
		t.Errorf("a path that is not there: %v", err)
	}
}

package client

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The admin token of a local data directory is for a local server; what is
// given by name goes wherever it is sent.
func TestTheAdminTokenStaysOnThisHost(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	given := filepath.Join(dir, "given")
	for file, token := range map[string]string{filepath.Join(dir, "admin-token"): "admin\n", given: "given\n"} {
		if err := os.WriteFile(file, []byte(token), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct{ server, file, env, want string }{
		{server: "", want: "admin"},
		{server: "http://127.0.0.1:5681", want: "admin"},
		{server: "https://127.1.2.3", want: "admin"},
		{server: "http://localhost:5681", want: "admin"},
		{server: "http://[::1]:5681", want: "admin"},
		{server: "http://control.example.com:5681", want: ""},
		{server: "https://192.0.2.1:5681", want: ""},
		{server: "http://localhost.example.com", want: ""},
		{server: "http://127.0.0.1.example.com", want: ""},
		{server: "http://127.0.0.1@192.0.2.1", want: ""},
		{server: "http://0.0.0.0:5681", want: ""},
		{server: "https://control.example.com", env: "mine", want: "mine"},
		{server: "https://control.example.com", file: given, env: "mine", want: "given"},
	} {
		env := map[string]string{"WEFT_DATA_DIR": dir, "WEFT_TOKEN": c.env}
		got, err := find(c.server, c.file, func(name string) string { return env[name] })
		if err != nil || got.token != c.want {
			t.Errorf("%+v: the token is %q, %v", c, got.token, err)
		}
	}
}

func TestATokenFileThatIsNotThereIsAnError(t *testing.T) {
	t.Parallel()
	if _, err := find("", filepath.Join(t.TempDir(), "none"), func(string) string { return "" }); err == nil {
		t.Error("it is ignored")
	}
}

// A server may stand below a path, as behind a proxy that serves several.
func TestAServerBelowAPath(t *testing.T) {
	t.Parallel()
	var asked string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = r.URL.EscapedPath() + "?" + r.URL.RawQuery
		_, _ = io.WriteString(w, "{}")
	}))
	t.Cleanup(server.Close)
	for base, want := range map[string]string{"": "", "/": "", "/weft": "/weft", "/a%2Fb/weft/": "/a%2Fb/weft"} {
		c, err := find(server.URL+base, "", func(string) string { return "" })
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Get(t.Context(), "/meshes/a%2Fb/meshretries?size=1", nil); err != nil {
			t.Fatal(err)
		}
		if asked != want+"/meshes/a%2Fb/meshretries?size=1" {
			t.Errorf("below %q: %s", base, asked)
		}
	}
}

// A change whose answer does not come may be stored: nobody is told that there
// is no control plane, or that nothing happened.
func TestAnAnswerThatDoesNotCome(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if r.URL.Path == "/half" {
			w.Header().Set("Content-Length", "100")
			_, _ = io.WriteString(w, "{")
		}
		panic(http.ErrAbortHandler)
	}))
	t.Cleanup(server.Close)
	c, err := find(server.URL, "", func(string) string { return "" })
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		method, path string
		stored       bool
	}{
		{http.MethodPost, "/_apply", true},
		{http.MethodPut, "/meshes/default/meshretries/x", true},
		{http.MethodDelete, "/half", true},
		{http.MethodPost, "/_apply?dryRun=true", false},
		{http.MethodPost, "/tokens/user", false},
		{http.MethodGet, "/meshes", false},
		{http.MethodGet, "/half", false},
	} {
		err := c.Call(t.Context(), x.method, x.path, "", []byte("{}"), nil)
		if err == nil || errors.Is(err, ErrUnanswered) != x.stored || strings.Contains(err.Error(), "may have stored") != x.stored || strings.Contains(err.Error(), "no control plane") {
			t.Errorf("%s %s: %v", x.method, x.path, err)
		}
	}
	server.Close()
	if err := c.Call(t.Context(), http.MethodPut, "/x", "", nil, nil); err == nil || errors.Is(err, ErrUnanswered) || !strings.Contains(err.Error(), "no control plane at") {
		t.Errorf("a server that is not there: %v", err)
	}
}

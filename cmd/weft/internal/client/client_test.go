package client

import (
	"os"
	"path/filepath"
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

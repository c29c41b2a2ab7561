package control_test

import (
	"bytes"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weftmesh/weft/control"
	"github.com/weftmesh/weft/internal/certs"
)

const secretPath = "/k8s/core/v1/namespaces/edge/secrets/shop"

// What a Secret holds is shown to nobody, administrators included, is sealed in the file
// of the store, and outlives a restart: who writes back what was shown changes nothing.
func TestSecretsAreSealed(t *testing.T) {
	t.Parallel()
	c := config(t)
	c.Store, c.AdminAuth = "bolt", "token"
	pair := certs.New(t, "shop.example.org")
	var log journal
	p := startLogging(t, c, slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})))
	p.want(http.StatusCreated, http.MethodPut, secretPath, pair.Secret("edge", "shop"))
	shown := p.want(http.StatusOK, http.MethodGet, secretPath, "")
	if strings.Count(shown, `"sha256:`) != 2 {
		t.Errorf("the Secret is shown as %s", shown)
	}
	for _, path := range []string{secretPath, "/meshes/default/secrets", "/meshes/default/secrets/shop.edge?format=written", "/meshes/default/secrets/shop?namespace=edge",
		"/secrets", "/_problems", "/meshes/default/_status"} {
		if found := certs.Canary(p.want(http.StatusOK, http.MethodGet, path, ""), pair.Canaries()); found != "" {
			t.Errorf("%s shows %q", path, found)
		}
	}
	if text := p.want(http.StatusOK, http.MethodPost, "/_apply", shown); !strings.Contains(text, `"unchanged"`) {
		t.Errorf("to write back what was shown: %s", text)
	}
	p.stop()
	for name, text := range files(t, c.DataDir) {
		if found := certs.Canary(string(text), pair.Canaries()); found != "" {
			t.Errorf("%s holds %q", name, found)
		}
	}
	if found := certs.Canary(log.String(), pair.Canaries()); found != "" {
		t.Errorf("the log holds %q", found)
	}
	if info, err := os.Stat(filepath.Join(c.DataDir, "secrets-key")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the key: %v, %v", info, err)
	}
	p = start(t, c)
	if again := p.want(http.StatusOK, http.MethodGet, secretPath, ""); again != shown {
		t.Errorf("after a restart the Secret is shown as\n%s\nand not as\n%s", again, shown)
	}
	p.stop()
}

// Without the key, or with another one, nothing is served: no document is lost in silence.
func TestWithoutTheKeyOfSecrets(t *testing.T) {
	t.Parallel()
	c := config(t)
	c.Store, c.AdminAuth = "bolt", "token"
	p := start(t, c)
	p.want(http.StatusCreated, http.MethodPut, secretPath, certs.New(t, "shop.example.org").Secret("edge", "shop"))
	p.stop()
	key := filepath.Join(c.DataDir, "secrets-key")
	for name, spoil := range map[string]func() error{
		"is gone":         func() error { return os.Rename(key, key+".saved") },
		"does not open":   func() error { return os.WriteFile(key, []byte(strings.Repeat("ab", 32)), 0o600) },
		"is no key":       func() error { return os.WriteFile(key, []byte("short"), 0o600) },
		"others can read": func() error { return os.Chmod(key, 0o644) },
	} {
		saved, err := os.ReadFile(key)
		if err != nil {
			t.Fatal(err)
		}
		if err := spoil(); err != nil {
			t.Fatal(err)
		}
		if _, err := control.New(t.Context(), c, slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), key) {
			t.Errorf("%s: %v", name, err)
		}
		if err := os.WriteFile(key, saved, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(key, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// TestSecretsAreSealedAnew: with another key everything is there as before, in the history too, and
// nothing opens with the former one. Whoever is stopped in between goes on.
func TestSecretsAreSealedAnew(t *testing.T) {
	t.Parallel()
	c := config(t)
	c.Store, c.AdminAuth = "bolt", "token"
	c.SecretsKeyFile = filepath.Join(t.TempDir(), "key")
	if _, err := control.Rekey(c); err == nil || !strings.Contains(err.Error(), c.SecretsKeyFile) {
		t.Errorf("without a key: %v", err)
	}
	pairs := []*certs.Pair{certs.New(t, "shop.example.org"), certs.New(t, "shop.example.org")}
	p := start(t, c)
	p.want(http.StatusCreated, http.MethodPut, secretPath, pairs[0].Secret("edge", "shop"))
	first := p.want(http.StatusOK, http.MethodGet, secretPath, "")
	p.want(http.StatusOK, http.MethodPut, secretPath, pairs[1].Secret("edge", "shop"))
	second := p.want(http.StatusOK, http.MethodGet, secretPath, "")
	if _, err := control.Rekey(c); err == nil || !strings.Contains(err.Error(), "both keys") {
		t.Errorf("while it runs: %v", err)
	}
	p.stop()
	former, err := os.ReadFile(c.SecretsKeyFile)
	if err != nil || bytes.Count(former, []byte("\n")) != 2 {
		t.Fatalf("%d bytes, %v", len(former), err)
	}
	if n, err := control.Rekey(c); err != nil || n != 1 {
		t.Fatalf("%d Secrets, %v", n, err)
	}
	now, err := os.ReadFile(c.SecretsKeyFile)
	if err != nil || bytes.Count(now, []byte("\n")) != 1 || !bytes.HasPrefix(former, now) {
		t.Fatalf("%d bytes, %v", len(now), err)
	}
	if err := os.WriteFile(c.SecretsKeyFile, former[len(now):], 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := control.New(t.Context(), c, slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), "does not open") {
		t.Errorf("with the former key: %v", err)
	}
	if err := os.WriteFile(c.SecretsKeyFile, now, 0o600); err != nil {
		t.Fatal(err)
	}
	p = start(t, c)
	defer p.stop()
	if got := p.want(http.StatusOK, http.MethodGet, secretPath, ""); got != second {
		t.Errorf("%s and not %s", got, second)
	}
	revisions := p.want(http.StatusOK, http.MethodGet, "/_history?object=Secret/edge/shop", "")
	t.Log(revisions)
	p.want(http.StatusOK, http.MethodPost, "/_rollback?to=2", "")
	if got := p.want(http.StatusOK, http.MethodGet, secretPath, ""); data(t, got) != data(t, first) {
		t.Errorf("of the history %s and not %s", got, first)
	}
}

// data is what a Secret is shown to hold.
func data(t *testing.T, text string) string {
	t.Helper()
	_, after, ok := strings.Cut(text, `"data":`)
	if !ok {
		t.Fatalf("no data in %s", text)
	}
	before, _, _ := strings.Cut(after, "}")
	return before
}

// A Secret that no proxy could use is refused, and so is what stands for a value that
// nobody has; the refusal quotes nothing of it.
func TestRefusedSecrets(t *testing.T) {
	t.Parallel()
	c := config(t)
	p := start(t, c)
	defer p.stop()
	pair, other := certs.New(t, "shop.example.org"), certs.New(t, "shop.example.org")
	mixed := &certs.Pair{Chain: pair.Chain, Key: other.Key}
	doc := pair.Secret("edge", "shop")
	for _, w := range []struct{ why, text, want string }{
		{"another key", mixed.Secret("edge", "shop"), "is not the private key"},
		{"no base64", strings.Replace(doc, "  tls.key: ", "  tls.key: ?", 1), "is not base64"},
		{"no certificate", (&certs.Pair{Chain: []byte("hello"), Key: pair.Key}).Secret("edge", "shop"), "holds no certificate"},
		{"key and chain exchanged", (&certs.Pair{Chain: pair.Key, Key: pair.Chain}).Secret("edge", "shop"), "holds no certificate"},
		{"a key alone", strings.Replace(doc, "  tls.crt", "  other", 1), "is missing"},
		{"a list for a value", strings.Replace(doc, "  tls.key: ", "  tls.key: [", 1) + "]", "stands where text belongs"},
		{"another type", strings.Replace(doc, "kubernetes.io/tls", "helm.sh/release.v1", 1), "reads Secrets of type"},
		{"a value that nobody has", strings.NewReplacer("  tls.key: ", "  tls.key: sha256:", "  tls.crt: ", "  tls.crt: sealed:").Replace(doc), "is not stored under this name"},
		{"the envelope of Kuma", "type: Secret\nmesh: default\nname: shop\ndata: " + string(bytes.ReplaceAll(pair.Key, []byte("\n"), nil)), "is not base64"},
	} {
		code, text := p.call(http.MethodPost, "/_apply", w.text)
		if code != http.StatusBadRequest || !strings.Contains(text, w.want) {
			t.Errorf("%s: %d %s", w.why, code, text)
		}
		for _, secret := range []*certs.Pair{pair, other} {
			if found := certs.Canary(text, secret.Canaries()); found != "" {
				t.Errorf("%s: the refusal quotes %q", w.why, found)
			}
		}
	}
	p.want(http.StatusCreated, http.MethodPut, secretPath, doc)
	if code, text := p.call(http.MethodPut, secretPath, strings.Replace(p.want(http.StatusOK, http.MethodGet, secretPath, ""), `"tls.crt":"`, `"tls.crt":"AAAA","was":"`, 1)); code != http.StatusBadRequest {
		t.Errorf("a certificate that does not fit the key that is kept: %d %s", code, text)
	}
}

// files are all files below a directory, by their names.
func files(t testing.TB, dir string) map[string][]byte {
	t.Helper()
	out := map[string][]byte{}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.Type().IsRegular() {
			if out[e.Name()], err = os.ReadFile(filepath.Join(dir, e.Name())); err != nil {
				t.Fatal(err)
			}
		}
	}
	return out
}

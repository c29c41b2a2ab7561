package authority

import (
	"crypto/x509"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestAuthorityStays: clients that trust the authority trust what it shows,
// under each of its names, after a restart and after a renewal.
func TestAuthorityStays(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first, err := Load(dir, "weft.example")
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(first.PEM())
	again, err := Load(dir, "weft.example", "192.0.2.1")
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	for _, at := range []time.Time{now, now.Add(servingLife * 3 / 4), now.Add(2 * servingLife)} {
		shown, err := again.current(at)
		if err != nil {
			t.Fatal(err)
		}
		leaf, err := x509.ParseCertificate(shown.Certificate[0])
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"weft.example", "192.0.2.1", "localhost", "127.0.0.1", "::1"} {
			if _, err := leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: name, CurrentTime: at.Add(servingLife / 3)}); err != nil {
				t.Errorf("%s, a month after %v: %v", name, at, err)
			}
		}
		if same, _ := again.current(at.Add(time.Minute)); same != shown {
			t.Error("renewed too soon")
		}
	}
}

// TestDamagedAuthority: it is not replaced in silence, for no sidecar would
// trust the new one.
func TestDamagedAuthority(t *testing.T) {
	t.Parallel()
	for _, file := range []string{CertificateFile, keyFile} {
		dir := t.TempDir()
		if _, err := Load(dir); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, file), []byte("damaged"), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Load(dir); err == nil || !strings.Contains(err.Error(), "restore") {
			t.Errorf("%s: %v", file, err)
		}
	}
	dir := t.TempDir()
	if _, err := Load(dir); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(filepath.Join(dir, keyFile))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info, err)
	}
	if err := os.Remove(filepath.Join(dir, keyFile)); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(dir); err == nil {
		t.Error("an authority without its key was replaced")
	}
}

// TestStartAfterALossOfPower: a key whose certificate was not written yet gets
// one, and a key that others can read, or that is empty, is not used.
func TestStartAfterALossOfPower(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if _, err := Load(dir); err != nil {
		t.Fatal(err)
	}
	key, certificate := filepath.Join(dir, keyFile), filepath.Join(dir, CertificateFile)
	before, err := os.ReadFile(key)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(certificate); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(dir); err != nil {
		t.Fatal(err)
	}
	if after, err := os.ReadFile(key); err != nil || string(after) != string(before) {
		t.Errorf("the key was replaced: %v", err)
	}
	if err := os.Chmod(key, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(dir); err == nil || !strings.Contains(err.Error(), "chmod 600 "+key) {
		t.Errorf("a key that others can read: %v", err)
	}
	if err := os.Chmod(key, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(key, 0); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(dir); err == nil || !strings.Contains(err.Error(), "is empty") {
		t.Errorf("an empty key: %v", err)
	}
}

package agent

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"log/slog"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// certificate is one in PEM.
func certificate(t *testing.T, number int64) []byte {
	t.Helper()
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(number), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, public, private)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: raw})
}

// TestAuthorities: what the control plane tells stands in the place of what the user gave when
// the connection was made, and of nothing that the user gave since then.
func TestAuthorities(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c := Config{CAFile: filepath.Join(dir, "ca.pem"), StateDir: filepath.Join(dir, "state")}
	give := func(pem []byte) {
		t.Helper()
		if err := os.WriteFile(c.CAFile, pem, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(c.StateDir, 0o700); err != nil {
		t.Fatal(err)
	}
	state := filepath.Join(c.StateDir, authoritiesFile)
	var log bytes.Buffer
	open := func() *authorities { return newAuthorities(c, t.TempDir(), slog.New(slog.NewTextHandler(&log, nil))) }
	want := func(a *authorities, want []byte) []byte {
		t.Helper()
		got, given, err := a.current()
		if err != nil || !bytes.Equal(got, want) {
			t.Fatalf("%v\n%s\nwant\n%s", err, got, want)
		}
		return given
	}
	old, told, other, later := certificate(t, 1), certificate(t, 2), certificate(t, 3), certificate(t, 4)

	give(old)
	a := open()
	connected := want(a, old)
	a.trust(told, connected)
	want(a, told)
	want(open(), told)

	// The file is for its owner alone, and is not written again with the same.
	before, err := os.Stat(state)
	if err != nil || before.Mode().Perm() != 0o600 {
		t.Fatalf("%v %v", before.Mode(), err)
	}
	a.trust(told, connected)
	again := open()
	again.trust(told, want(again, told))
	if after, err := os.Stat(state); err != nil || !os.SameFile(before, after) {
		t.Errorf("what is there already is written again: %v", err)
	}

	// The user gives another one: what comes over the connection of before says nothing about it.
	give(other)
	want(a, other)
	a.trust(later, connected)
	want(a, other)
	want(open(), other)
	a.trust(later, want(a, other))
	want(a, later)

	// What is no state says nothing, and stops nobody; it is put right by what is told next.
	for _, text := range []string{"", "{", "null", `{"given": 7}`, `{"given": "", "told": ""}`} {
		if err := os.WriteFile(state, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		a := open()
		a.trust(told, want(a, other))
		want(open(), told)
		if left, err := os.ReadDir(c.StateDir); err != nil || len(left) != 1 {
			t.Errorf("left over: %v %v", left, err)
		}
	}
	if now, err := os.Stat(state); err != nil || now.Mode().Perm() != 0o600 || !strings.Contains(log.String(), "cannot be read") {
		t.Errorf("%v %v: %s", now.Mode(), err, &log)
	}
	a.trust([]byte("nothing"), want(a, later))
	want(a, later)
}

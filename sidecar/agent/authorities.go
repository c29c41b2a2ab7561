package agent

import (
	"bytes"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/weftmesh/weft/xds"
)

// authoritiesFile is what --state-dir keeps of what the control plane told.
const authoritiesFile = "authorities.json"

// authorities is by whom the control plane is known: what the user has given, or what the
// control plane told since then over a connection that was trusted (spec/kubernetes.md 6.6).
type authorities struct {
	config Config
	path   string // that Envoy reads; empty where nobody reads it
	log    *slog.Logger

	given, told []byte // told takes the place of given
	shown       []byte // what path holds
}

// toldAuthorities is what is kept across restarts.
type toldAuthorities struct {
	Given []byte `json:"given"`
	Told  []byte `json:"told"`
}

// newAuthorities remembers what was told before a restart, if the user has given nothing
// else since then.
func newAuthorities(c Config, dir string, log *slog.Logger) *authorities {
	a := &authorities{config: c, path: filepath.Join(dir, "authorities.json"), log: log}
	given, err := a.read()
	if c.StateDir == "" || err != nil {
		return a
	}
	var kept toldAuthorities
	text, err := os.ReadFile(filepath.Join(c.StateDir, authoritiesFile))
	if err == nil && json.Unmarshal(text, &kept) == nil && bytes.Equal(kept.Given, given) && certified(kept.Told) {
		a.given, a.told = kept.Given, kept.Told
	}
	return a
}

// read is what the user gives now.
func (a *authorities) read() ([]byte, error) {
	if a.config.CAFile == "" {
		return a.config.CA, nil
	}
	pem, err := os.ReadFile(a.config.CAFile)
	if err != nil {
		return nil, fmt.Errorf("--ca-file: %w", err)
	}
	return pem, nil
}

// current are the authorities of now. Envoy finds the same.
func (a *authorities) current() ([]byte, error) {
	given, err := a.read()
	if len(a.told) > 0 && (err != nil || bytes.Equal(given, a.given)) {
		given, err = a.told, nil
	}
	if err != nil {
		return nil, err
	}
	return given, a.show(given)
}

// trust takes others from the control plane; what holds no certificate is left aside.
func (a *authorities) trust(pem []byte) {
	given, err := a.read()
	if err != nil || !certified(pem) {
		return
	}
	if !bytes.Equal(pem, a.told) {
		a.log.Info("the control plane tells its authorities")
	}
	a.given, a.told = given, pem
	if err := a.show(pem); err != nil {
		a.log.Warn("envoy keeps the authorities of before", "error", err)
	}
	if a.config.StateDir == "" {
		return
	}
	text, err := json.Marshal(toldAuthorities{given, pem})
	if err == nil {
		err = replace(filepath.Join(a.config.StateDir, authoritiesFile), text)
	}
	if err != nil {
		a.log.Warn("what the control plane told of its authorities will be forgotten at a restart", "error", err)
	}
}

// show gives them to Envoy.
func (a *authorities) show(pem []byte) error {
	if a.path == "" || bytes.Equal(pem, a.shown) {
		return nil
	}
	text, err := xds.CAFile(string(pem))
	if err != nil {
		return err
	}
	if err := replace(a.path, text); err != nil {
		return fmt.Errorf("keep the authorities: %w", err)
	}
	a.shown = pem
	return nil
}

// certified reports whether a text holds a certificate.
func certified(pem []byte) bool { return x509.NewCertPool().AppendCertsFromPEM(pem) }

// replace puts a file in the place of the one before, whole.
func replace(path string, text []byte) error {
	next := path + ".new"
	if err := os.WriteFile(next, text, 0o600); err != nil {
		return err
	}
	return os.Rename(next, path)
}

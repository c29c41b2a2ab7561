package agent

import (
	"bytes"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"path/filepath"

	"github.com/weftmesh/weft/files"
	"github.com/weftmesh/weft/xds/bootstrap"
)

// authoritiesFile is what --state-dir keeps of what the control plane told.
const authoritiesFile = "authorities.json"

// largestBundle is how much the control plane may tell of its authorities, in bytes.
const largestBundle = 1 << 20

// authorities is by whom the control plane is known: what the user has given, or what the
// control plane told since then over a connection that was trusted (spec/kubernetes.md 6.6).
type authorities struct {
	config Config
	path   string // that Envoy reads; empty where nobody reads it
	log    *slog.Logger

	given, told []byte           // told takes the place of given
	shown       []byte           // what path holds
	kept        savedAuthorities // what the state directory holds
}

// savedAuthorities is what is kept across restarts.
type savedAuthorities struct {
	Given []byte `json:"given"`
	Told  []byte `json:"told"`
}

func (t savedAuthorities) equal(o savedAuthorities) bool {
	return bytes.Equal(t.Given, o.Given) && bytes.Equal(t.Told, o.Told)
}

// newAuthorities remembers what was told before a restart, if the user has given nothing
// else since then. What cannot be read is as if nothing had been told.
func newAuthorities(c Config, dir string, log *slog.Logger) *authorities {
	a := &authorities{config: c, path: filepath.Join(dir, "authorities.json"), log: log}
	given, err := a.read()
	if c.StateDir == "" || err != nil {
		return a
	}
	path := filepath.Join(c.StateDir, authoritiesFile)
	text, err := files.Read(path, files.MostSecret)
	if errors.Is(err, fs.ErrNotExist) {
		return a
	}
	if err == nil {
		err = json.Unmarshal(text, &a.kept)
	}
	switch {
	case err == nil && bytes.Equal(a.kept.Given, given) && certified(a.kept.Told):
		a.given, a.told = a.kept.Given, a.kept.Told
	case err != nil:
		a.kept = savedAuthorities{}
		log.Warn("what the control plane sent of its authorities before cannot be read; going by what is given", "file", path, "error", err)
	}
	return a
}

// read is what the user gives now.
func (a *authorities) read() ([]byte, error) {
	if a.config.CAFile == "" {
		return a.config.CA, nil
	}
	pem, err := files.Read(a.config.CAFile, files.MostSecret)
	if err != nil {
		return nil, fmt.Errorf("--ca-file: %w", err)
	}
	return pem, nil
}

// current are the authorities of now, and what the user gives. Envoy finds the same.
func (a *authorities) current() (known, given []byte, err error) {
	given, err = a.read()
	if known = given; len(a.told) > 0 && (err != nil || bytes.Equal(given, a.given)) {
		known, given, err = a.told, a.given, nil
	}
	if err != nil {
		return nil, nil, err
	}
	return known, given, a.show(known)
}

// trust takes others from the control plane, as whoever the user gave then knows it. What
// holds no certificate is left aside, and so is what comes after the user gave others: a
// connection that the old ones trust must not say who is trusted now.
func (a *authorities) trust(pem, then []byte) {
	given, err := a.read()
	if err != nil || !bytes.Equal(given, then) || len(pem) > largestBundle || !certified(pem) {
		return
	}
	if !bytes.Equal(pem, a.told) {
		a.log.Info("the control plane tells its authorities")
	}
	a.given, a.told = given, pem
	if err := a.show(pem); err != nil {
		a.log.Warn("envoy keeps the authorities of before", "error", err)
	}
	if err := a.keep(savedAuthorities{given, pem}); err != nil {
		a.log.Warn("what the control plane sent of its authorities will be forgotten at a restart", "error", err)
	}
}

// keep writes to the state directory what is not there already.
func (a *authorities) keep(t savedAuthorities) error {
	if a.config.StateDir == "" || a.kept.equal(t) {
		return nil
	}
	text, err := json.Marshal(t)
	if err != nil {
		return err
	}
	if err := files.Replace(filepath.Join(a.config.StateDir, authoritiesFile), text, files.Private); err != nil {
		return err
	}
	a.kept = t
	return nil
}

// show gives them to Envoy.
func (a *authorities) show(pem []byte) error {
	if a.path == "" || bytes.Equal(pem, a.shown) {
		return nil
	}
	text, err := bootstrap.CAFile(string(pem))
	if err != nil {
		return err
	}
	if err := files.Replace(a.path, text, files.Private); err != nil {
		return fmt.Errorf("keep the authorities: %w", err)
	}
	a.shown = pem
	return nil
}

// certified reports whether a text holds a certificate.
func certified(pem []byte) bool { return x509.NewCertPool().AppendCertsFromPEM(pem) }

package agent

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/weftmesh/weft/xds"
)

// errHopeless marks failures that another attempt would meet again.
var errHopeless = errors.New("giving up")

// source is where the bootstrap comes from.
type source struct {
	config Config
	client *http.Client
	url    string
}

// newSource refuses connections that could show the token to a stranger.
func newSource(c Config) (*source, error) {
	u, err := url.Parse(c.XDS)
	if err != nil || u.Host == "" {
		return nil, fmt.Errorf("--xds %q is no URL; write https://HOST:PORT", c.XDS)
	}
	transport := &http.Transport{}
	switch u.Scheme {
	case "http":
		if !loopback(u.Hostname()) {
			return nil, fmt.Errorf("--xds %s is plaintext and leaves this host; use https:// and --ca-file FILE", c.XDS)
		}
	case "https":
		pool, err := authority(c.CAFile)
		if err != nil {
			return nil, err
		}
		transport.TLSClientConfig = &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
	default:
		return nil, fmt.Errorf("--xds %s has the scheme %q; use https://, or http:// on loopback", c.XDS, u.Scheme)
	}
	return &source{
		config: c,
		client: &http.Client{Transport: transport, Timeout: 10 * time.Second},
		url:    u.JoinPath("bootstrap").String(),
	}, nil
}

func authority(file string) (*x509.CertPool, error) {
	if file == "" {
		return nil, errors.New("--ca-file is missing: without the authority the control plane cannot be told from an impostor; give the ca.pem of its data directory")
	}
	pem, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("--ca-file: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("--ca-file %s holds no certificate; give the ca.pem of the control plane's data directory", file)
	}
	return pool, nil
}

// systemAuthorities is the file of the authorities that this host trusts, by
// which Envoy knows external services; empty where there is none.
func systemAuthorities() string {
	for _, file := range []string{
		"/etc/ssl/certs/ca-certificates.crt", // Debian, Alpine, Arch
		"/etc/pki/tls/certs/ca-bundle.crt",   // Fedora, RHEL
		"/etc/ssl/ca-bundle.pem",             // SUSE
		"/etc/ssl/cert.pem",
	} {
		if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() {
			return file
		}
	}
	return ""
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// request is the body of POST /bootstrap.
type request struct {
	Mesh              string  `json:"mesh"`
	Name              string  `json:"name"`
	ProxyType         string  `json:"proxyType"`
	DataplaneToken    string  `json:"dataplaneToken,omitempty"`
	DataplaneResource string  `json:"dataplaneResource,omitempty"`
	CACert            string  `json:"caCert,omitempty"`
	SystemCAPath      string  `json:"systemCaPath,omitempty"`
	AdminPort         uint32  `json:"adminPort"`
	Version           version `json:"version"`
}

type version struct {
	Weft string `json:"weft"`
}

// fetch asks for the bootstrap once. An error that wraps errHopeless would come
// again at the next attempt.
func (s *source) fetch(ctx context.Context) ([]byte, error) {
	body := request{
		Mesh: s.config.Mesh, Name: s.config.Name, ProxyType: "dataplane",
		DataplaneResource: string(s.config.Dataplane), AdminPort: s.config.AdminPort,
		Version: version{s.config.Version}, SystemCAPath: systemAuthorities(),
	}
	if err := s.credentials(&body); err != nil {
		return nil, err
	}
	text, err := json.Marshal(body)
	if err != nil {
		return nil, fmt.Errorf("encode the bootstrap request: %w", err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url, bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("ask for the bootstrap: %w", err)
	}
	req.Header.Set("Content-Type", "application/json")
	if body.DataplaneToken != "" {
		req.Header.Set("Authorization", "Bearer "+body.DataplaneToken)
	}
	resp, err := s.client.Do(req)
	if err != nil {
		return nil, unreachable(err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, 4<<20))
	if err != nil {
		return nil, fmt.Errorf("read the bootstrap: %w", err)
	}
	if resp.StatusCode != http.StatusOK {
		return nil, refused(resp.StatusCode, answer)
	}
	return answer, CheckBootstrap(answer)
}

// credentials reads the files anew at each attempt: tokens and authorities are renewed.
func (s *source) credentials(r *request) error {
	if s.config.TokenFile != "" {
		token, err := os.ReadFile(s.config.TokenFile)
		if err != nil {
			return fmt.Errorf("--token-file: %w; %w", err, errHopeless)
		}
		r.DataplaneToken = strings.TrimSpace(string(token))
	}
	if s.config.CAFile != "" {
		pem, err := os.ReadFile(s.config.CAFile)
		if err != nil {
			return fmt.Errorf("--ca-file: %w; %w", err, errHopeless)
		}
		r.CACert = string(pem)
	}
	return nil
}

// unreachable tells an impostor, with whom waiting does not help, from an absent server.
func unreachable(err error) error {
	var unknown x509.UnknownAuthorityError
	var host x509.HostnameError
	var invalid x509.CertificateInvalidError
	var verify *tls.CertificateVerificationError
	if errors.As(err, &unknown) || errors.As(err, &host) || errors.As(err, &invalid) || errors.As(err, &verify) {
		return fmt.Errorf("the control plane is not the one of --ca-file: %w; %w", err, errHopeless)
	}
	return fmt.Errorf("reach the control plane: %w", err)
}

func refused(status int, answer []byte) error {
	var problem struct {
		Title, Detail string
		Parameters    []struct{ Field, Reason string } `json:"invalid_parameters"`
	}
	message := strings.TrimSpace(string(answer))
	if json.Unmarshal(answer, &problem) == nil && problem.Title+problem.Detail != "" {
		message = strings.TrimSpace(problem.Title + ": " + problem.Detail)
		for _, p := range problem.Parameters {
			message += "; " + p.Field + ": " + p.Reason
		}
	}
	err := fmt.Errorf("the control plane refuses the bootstrap (%d): %s", status, message)
	// What does not exist yet and what is overloaded may do so later.
	if status >= 500 || status == http.StatusNotFound || status == http.StatusTooManyRequests {
		return err
	}
	return fmt.Errorf("%w; %w", err, errHopeless)
}

// CheckBootstrap refuses a bootstrap without the runtime key that lets Envoy
// take every regular expression that the control plane accepts.
func CheckBootstrap(text []byte) error {
	var b struct {
		Runtime struct {
			Layers []struct {
				Static map[string]any `yaml:"static_layer"`
			} `yaml:"layers"`
		} `yaml:"layered_runtime"`
	}
	if err := yaml.Unmarshal(text, &b); err != nil {
		return fmt.Errorf("the bootstrap is no YAML: %w; %w", err, errHopeless)
	}
	for _, l := range b.Runtime.Layers {
		if has(l.Static, xds.RegexBudgetKey) {
			return nil
		}
	}
	return fmt.Errorf("the bootstrap lacks the runtime key %s: regular expressions that the control plane accepts would be refused here; upgrade the control plane; %w", xds.RegexBudgetKey, errHopeless)
}

// has finds a runtime key written flat or nested.
func has(layer map[string]any, key string) bool {
	if _, ok := layer[key]; ok {
		return true
	}
	for i, c := range key {
		if c == '.' {
			if inner, ok := layer[key[:i]].(map[string]any); ok && has(inner, key[i+1:]) {
				return true
			}
		}
	}
	return false
}

package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/weftmesh/weft/sidecar/metrics"
	"github.com/weftmesh/weft/xds/bootstrap"
)

// errPermanent marks failures that another attempt would meet again.
var errPermanent = errors.New("giving up")

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

// request is the body of POST /bootstrap.
type request struct {
	Mesh              string `json:"mesh"`
	Name              string `json:"name"`
	ProxyType         string `json:"proxyType"`
	DataplaneToken    string `json:"dataplaneToken,omitempty"`
	TokenPath         string `json:"tokenPath,omitempty"` // where Envoy finds it
	DataplaneResource string `json:"dataplaneResource,omitempty"`
	XDSAddress        string `json:"xdsAddress,omitempty"` // where the control plane's name cannot be resolved
	CACert            string `json:"caCert,omitempty"`
	CAPath            string `json:"caPath,omitempty"` // where Envoy finds what takes its place
	SystemCAPath      string `json:"systemCaPath,omitempty"`
	AgentSocket       string `json:"agentSocket,omitempty"` // where the agent serves the certificate of the workload
	AdminPort         uint32 `json:"adminPort"`
	AdminSocket       string `json:"adminSocket,omitempty"` // where there is no port
	// Features are what the agent does beyond an older one; the control plane shows them to those who send Envoy
	// its configuration.
	Features []string `json:"features,omitempty"`
	metrics.Paths
	Version version `json:"version"`
	// Clock is the time here: one that is far off keeps certificates from being believed.
	Clock time.Time `json:"clock"`
}

type version struct {
	Weft string `json:"weft"`
}

// fetch asks for the bootstrap once. An error that wraps errHopeless would come
// again at the next attempt.
func (s *source) fetch(ctx context.Context) ([]byte, error) {
	body := request{
		Mesh: s.config.Mesh, Name: s.config.Name, ProxyType: "dataplane",
		DataplaneResource: string(s.config.Dataplane), AdminPort: s.config.AdminPort, AdminSocket: s.admin,
		Version: version{s.config.Version}, SystemCAPath: systemAuthorities(), AgentSocket: s.socket, Features: s.features, Paths: s.metrics, Clock: time.Now(),
	}
	if s.unresolved(ctx) {
		body.XDSAddress = s.config.XDSFallback
	}
	client, err := s.connect(&body)
	if err != nil {
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
	resp, err := client.Do(req)
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

func refused(status int, answer []byte) error {
	err := fmt.Errorf("the control plane refuses the bootstrap (%d): %s", status, wordsOf(answer))
	// What does not exist yet and what is overloaded may do so later.
	if status >= 500 || status == http.StatusNotFound || status == http.StatusTooManyRequests {
		return err
	}
	return fmt.Errorf("%w; %w", err, errPermanent)
}

// wordsOf is what an answer says that is no success.
func wordsOf(answer []byte) string {
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
	return message
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
		return fmt.Errorf("the bootstrap is not valid YAML: %w; %w", err, errPermanent)
	}
	for _, l := range b.Runtime.Layers {
		if has(l.Static, bootstrap.RegexBudgetKey) {
			return nil
		}
	}
	return fmt.Errorf("the bootstrap lacks the runtime key %s: regular expressions that the control plane accepts would be refused here; upgrade the control plane; %w", bootstrap.RegexBudgetKey, errPermanent)
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

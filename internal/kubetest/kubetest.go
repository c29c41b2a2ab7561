// Package kubetest runs a real etcd and a real kube-apiserver for tests.
//
// It promises that what it starts is gone when the test is over, that both listen on
// loopback alone, and that a binary that is missing fails the test. Where REQUIRE_KUBE is
// not set such tests are skipped: `make test-kube` builds what they need, and sets it.
// There is no kubelet, no scheduler and no controller: a test that needs one plays it.
package kubetest

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/weftmesh/weft/internal/envoytest"
)

// patience bounds every wait; it only costs time where something is broken.
const patience = 2 * time.Minute

// Cluster is an API server with nothing in it, and how to reach it.
type Cluster struct {
	URL   string // https://127.0.0.1:PORT
	CA    []byte // PEM: who signed its certificate
	Token string // of a user whom nothing is denied

	host   host
	client *http.Client
	user   string // whom every request impersonates; empty for none
	dir    string // of what both keep
	store  string // address of etcd
	flags  []string
	server *process
}

// Start runs both until the test ends, and returns when the API server is ready. Flags are
// those of kube-apiserver, after those that Start gives it.
func Start(t testing.TB, flags ...string) *Cluster {
	t.Helper()
	return start(t, host{command: exec.Command, dial: new(net.Dialer).DialContext, address: "127.0.0.1", port: envoytest.Port}, flags)
}

func start(t testing.TB, on host, flags []string) *Cluster {
	t.Helper()
	if os.Getenv("REQUIRE_KUBE") == "" {
		t.Skip("REQUIRE_KUBE is not set: `make test-kube` runs tests with an API server")
	}
	dir := envoytest.Dir(t)
	c := &Cluster{URL: on.url(t, "https"), Token: secret(t), host: on}
	store := startEtcd(t, on, dir)
	key, tokens := filepath.Join(dir, "account.key"), filepath.Join(dir, "tokens.csv")
	write(t, key, accountKey(t))
	write(t, tokens, []byte(c.Token+",admin,admin,system:masters\n"))
	certs := filepath.Join(dir, "apiserver")
	c.store, c.dir, c.flags = store, dir, append([]string{
		"--etcd-servers", store, "--cert-dir", certs, "--bind-address", on.address, "--secure-port", c.URL[strings.LastIndex(c.URL, ":")+1:],
		"--service-account-issuer", "https://kubernetes.default.svc", "--service-account-key-file", key, "--service-account-signing-key-file", key,
		"--service-cluster-ip-range", "10.96.0.0/16", "--authorization-mode", "RBAC", "--token-auth-file", tokens,
		"--disable-admission-plugins", "ServiceAccount", // which waits for a controller that makes accounts
	}, flags...)
	c.server = run(t, on, dir, "kube-apiserver", c.flags...)
	c.server.until("it has a certificate", func() bool {
		ca, err := os.ReadFile(filepath.Join(certs, "apiserver.crt"))
		c.CA = ca
		return err == nil && len(ca) > 0
	})
	c.client = trusting(t, on, c.CA)
	c.ready()
	return c
}

func (c *Cluster) ready() {
	c.server.t.Helper()
	c.server.until("it is ready", func() bool { return answers(c.client, c.URL+"/readyz") })
}

// Stop kills the API server as a crash does. Its etcd runs on.
func (c *Cluster) Stop() { c.server.kill() }

// Restart runs an API server that was stopped again, until the test ends: at its port, with
// its data, keys and certificates. It returns when the API server is ready.
func (c *Cluster) Restart(t testing.TB) {
	t.Helper()
	c.server = run(t, c.host, c.dir, "kube-apiserver", c.flags...)
	c.ready()
}

// startEtcd returns the address that clients use.
func startEtcd(t testing.TB, on host, dir string) string {
	t.Helper()
	address, peers := on.url(t, "http"), on.url(t, "http")
	p := run(t, on, dir, "etcd", "--data-dir", filepath.Join(dir, "etcd"), "--name", "test", "--listen-client-urls", address, "--advertise-client-urls", address,
		"--listen-peer-urls", peers, "--initial-advertise-peer-urls", peers, "--initial-cluster", "test="+peers, "--unsafe-no-fsync")
	client := &http.Client{Transport: &http.Transport{DialContext: on.dial}}
	defer client.CloseIdleConnections()
	p.until("it is healthy", func() bool { return answers(client, address+"/health") })
	return address
}

// As is the same cluster, as a user of it sees it who has no rights but those that roles give.
func (c *Cluster) As(user string) *Cluster {
	as := *c
	as.user = user
	return &as
}

// Send asks the API server with a body of JSON, and returns its answer.
func (c *Cluster) Send(t testing.TB, method, path string, body any) (status int, answer map[string]any) {
	t.Helper()
	status, answer, _ = c.SendWarned(t, method, path, body)
	return status, answer
}

// SendWarned is Send with the warnings, which kubectl prints before the answer.
func (c *Cluster) SendWarned(t testing.TB, method, path string, body any) (status int, answer map[string]any, warnings []string) {
	t.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	return c.send(t, method, path, "application/json", text)
}

// Patch is Send of a JSON patch.
func (c *Cluster) Patch(t testing.TB, path string, patch []byte) (status int, answer map[string]any) {
	t.Helper()
	status, answer, _ = c.send(t, http.MethodPatch, path, "application/json-patch+json", patch)
	return status, answer
}

// Merge is Send of a merge patch, as kubectl annotate and label send it.
func (c *Cluster) Merge(t testing.TB, path string, object any) (status int, answer map[string]any) {
	t.Helper()
	text, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	status, answer, _ = c.send(t, http.MethodPatch, path, "application/merge-patch+json", text)
	return status, answer
}

func (c *Cluster) send(t testing.TB, method, path, form string, text []byte) (status int, answer map[string]any, warnings []string) {
	t.Helper()
	// Cleanups ask too, and what a test started still reports to its API server until it is
	// ended: the context of a test is done before that. The client has a timeout.
	q, err := http.NewRequestWithContext(context.WithoutCancel(t.Context()), method, c.URL+path, bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	q.Header.Set("Authorization", "Bearer "+c.Token)
	q.Header.Set("Content-Type", form)
	if c.user != "" {
		q.Header.Set("Impersonate-User", c.user)
		q.Header.Set("Impersonate-Group", "system:authenticated")
	}
	resp, err := c.client.Do(q)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	said, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatalf("%s %s: %s: %v", method, path, resp.Status, err)
	}
	if err := json.Unmarshal(said, &answer); err != nil { // a group that is not served yet is answered in plain text
		answer = map[string]any{"message": string(said)}
	}
	return resp.StatusCode, answer, resp.Header.Values("Warning")
}

func trusting(t testing.TB, on host, ca []byte) *http.Client {
	t.Helper()
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(ca) {
		t.Fatalf("the API server's certificate is no PEM:\n%s", ca)
	}
	transport := &http.Transport{DialContext: on.dial, TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Timeout: patience, Transport: transport}
}

// answers reports whether a GET of url is answered 200.
func answers(c *http.Client, url string) bool {
	resp, err := c.Get(url)
	if err != nil {
		return false
	}
	resp.Body.Close()
	return resp.StatusCode == http.StatusOK
}

// Binary is the path of a program of Kubernetes: in KUBEBUILDER_ASSETS, else where `make
// tools-kube` puts it, in .tools of a directory above the test.
func Binary(t testing.TB, name string) string {
	t.Helper()
	if dir := os.Getenv("KUBEBUILDER_ASSETS"); dir != "" {
		return filepath.Join(dir, name)
	}
	for dir, err := os.Getwd(); err == nil && dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		file := filepath.Join(dir, ".tools", "kube", name)
		if _, err := exec.LookPath(file); err == nil {
			return file
		}
	}
	t.Fatalf("no %s: run `make tools-kube`, or set KUBEBUILDER_ASSETS to the directory that has it", name)
	return ""
}

// accountKey is what tokens of service accounts are signed with.
func accountKey(t testing.TB) []byte {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)})
}

func secret(t testing.TB) string {
	t.Helper()
	b := make([]byte, 16)
	if _, err := rand.Read(b); err != nil {
		t.Fatal(err)
	}
	return hex.EncodeToString(b)
}

func write(t testing.TB, file string, content []byte) {
	t.Helper()
	if err := os.WriteFile(file, content, 0o600); err != nil {
		t.Fatal(err)
	}
}

package control_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weftmesh/weft/control"
	"github.com/weftmesh/weft/control/auth"
)

// as makes a request with those headers and says the status.
func (p *plane) as(method, path string, headers map[string]string) int {
	p.t.Helper()
	req, err := http.NewRequest(method, "http://"+p.API()+path, strings.NewReader("{}"))
	if err != nil {
		p.t.Fatal(err)
	}
	for k, v := range headers {
		if k == "Host" {
			req.Host = v
			continue
		}
		req.Header.Set(k, v)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		p.t.Fatal(err)
	}
	_ = resp.Body.Close()
	return resp.StatusCode
}

func TestWhoMayDoWhat(t *testing.T) {
	t.Parallel()
	c := config(t)
	c.AdminAuth, c.TrafficMetrics = "token", true
	p := start(t, c)
	issue := func(groups string) string {
		return p.want(http.StatusOK, http.MethodPost, "/tokens/user", `{"name":"alice","groups":[`+groups+`],"validFor":"1h"}`)
	}
	dataplane := p.want(http.StatusOK, http.MethodPost, "/tokens/dataplane", `{"name":"web-1","validFor":"1h"}`)
	p.want(http.StatusBadRequest, http.MethodPost, "/tokens/dataplane", `{"name":"web-1"}`)
	p.want(http.StatusBadRequest, http.MethodPost, "/tokens/dataplane", `{"validFor":"1h"}`)
	p.want(http.StatusBadRequest, http.MethodPost, "/tokens/user", `{"validFor":"1h"}`)
	const read, write = "/meshes", "/meshes/default"
	for name, who := range map[string]struct {
		authorization string
		read, write   int
	}{
		"nobody":          {"", 401, 401},
		"nonsense":        {"Bearer nonsense", 401, 401},
		"other scheme":    {"Basic " + p.token, 401, 401},
		"no scheme":       {p.token, 401, 401},
		"part of a token": {"Bearer " + p.token[:20], 401, 401},
		"a dataplane":     {"Bearer " + dataplane, 401, 401},
		"a user":          {"Bearer " + issue(`"team-a"`), 200, 403},
		"an admin user":   {"Bearer " + issue(`"mesh-system:admin"`), 200, 400},
		"the admin":       {"bearer " + p.token, 200, 400},
	} {
		headers := map[string]string{"Authorization": who.authorization}
		if got := p.as(http.MethodGet, read, headers); got != who.read {
			t.Errorf("%s reads: %d, want %d", name, got, who.read)
		}
		if got := p.as(http.MethodPut, write, headers); got != who.write { // 400 for the empty document
			t.Errorf("%s writes: %d, want %d", name, got, who.write)
		}
		if got := p.as(http.MethodGet, "/metrics", headers); got != who.read {
			t.Errorf("%s reads metrics: %d, want %d", name, got, who.read)
		}
		want := who.read
		if who.write == 403 { // of services of all namespaces administrators alone
			want = 403
		}
		if got := p.as(http.MethodGet, "/metrics/traffic", headers); got != want {
			t.Errorf("%s reads metrics of traffic: %d, want %d", name, got, want)
		}
		for _, open := range []string{"/healthz", "/readyz", "/"} {
			if got := p.as(http.MethodGet, open, headers); got != 200 {
				t.Errorf("%s asks %s: %d", name, open, got)
			}
		}
	}
}

func TestAForeignPageCannotUseTheBrowser(t *testing.T) {
	t.Parallel()
	p := start(t, config(t))
	port := p.API()[strings.LastIndex(p.API(), ":"):]
	for _, c := range []struct {
		host, origin string
		want         int
	}{
		{"", "", 200},
		{"localhost" + port, "http://localhost" + port, 200},
		{"[::1]" + port, "", 200},
		{"evil.example.org", "", 403},
		{"evil.example.org" + port, "", 403},
		{"", "http://evil.example.org", 403},
		{"", "http://localhost:1", 403},
		{"", "null", 403},
		{"127.0.0.1.evil.example.org" + port, "", 403},
	} {
		headers := map[string]string{}
		if c.host != "" {
			headers["Host"] = c.host
		}
		if c.origin != "" {
			headers["Origin"] = c.origin
		}
		if got := p.as(http.MethodGet, "/meshes", headers); got != c.want {
			t.Errorf("host %q origin %q: %d, want %d", c.host, c.origin, got, c.want)
		}
	}
}

func TestTheAdminTokenIsASecretThatStays(t *testing.T) {
	t.Parallel()
	c := config(t)
	c.AdminAuth = "token"
	p := start(t, c)
	path := filepath.Join(c.DataDir, auth.AdminTokenFile)
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("mode is %v, %v", info.Mode(), err)
	}
	first := p.token
	p.stop()
	if again := start(t, c); again.token != first {
		t.Error("a restart makes another token")
	}
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := control.New(t.Context(), c, discard()); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("a token that others can read: %v", err)
	}
}

func TestConfigRefusesWhatIsNotSafeAndNamesTheFlag(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*control.Config)
		parts  []string
	}{
		"api leaves loopback": {func(c *control.Config) { c.API = "0.0.0.0:5681" }, []string{"--api 0.0.0.0:5681", "--allow-remote", "--admin-auth token"}},
		"api of all hosts":    {func(c *control.Config) { c.API = ":5681" }, []string{"--allow-remote"}},
		"without auth": {func(c *control.Config) { c.API, c.AllowRemote, c.AdminAuth = "10.0.0.1:1", true, "none" },
			[]string{"--admin-auth token"}},
		"xds in plaintext": {func(c *control.Config) { c.XDS, c.AllowRemote, c.XDSPlaintext = "10.0.0.1:1", true, true },
			[]string{"--xds 10.0.0.1:1", "--xds-plaintext"}},
		"xds without auth": {func(c *control.Config) { c.XDS, c.AllowRemote, c.DataplaneAuth = "10.0.0.1:1", true, "none" },
			[]string{"--dataplane-auth token"}},
		"no port":            {func(c *control.Config) { c.API = "127.0.0.1" }, []string{"--api", "HOST:PORT"}},
		"unknown store":      {func(c *control.Config) { c.Store = "postgres" }, []string{"--store", "bolt"}},
		"file without dir":   {func(c *control.Config) { c.Store = "file" }, []string{"--dir"}},
		"mirrors nowhere":    {func(c *control.Config) { c.WriteDataplanes = true }, []string{"--write-dataplanes", "--store kube", "--namespace"}},
		"half a certificate": {func(c *control.Config) { c.XDSTLSCert = "x" }, []string{"--xds-tls-key"}},
	} {
		config := control.Default()
		c.change(&config)
		err := config.Validate()
		if err == nil {
			t.Errorf("%s: accepted", name)
			continue
		}
		for _, part := range c.parts {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%s: %v does not name %s", name, err, part)
			}
		}
	}
	safe := control.Default()
	safe.API, safe.XDS, safe.AllowRemote = "0.0.0.0:5681", "0.0.0.0:5678", true
	if err := safe.Validate(); err != nil {
		t.Errorf("with tokens and TLS: %v", err)
	}
}

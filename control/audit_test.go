package control_test

import (
	"bytes"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// journal is a log that tests read.
type journal struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (j *journal) Write(b []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(b)
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.String()
}

func (j *journal) logger() *slog.Logger { return slog.New(slog.NewTextHandler(j, nil)) }

// has reports whether one line has all parts.
func (j *journal) has(parts ...string) bool {
lines:
	for line := range strings.Lines(j.String()) {
		for _, part := range parts {
			if !strings.Contains(line, part) {
				continue lines
			}
		}
		return true
	}
	return false
}

// The log says who changed what, who came and went, and who was refused, and
// holds no credential.
func TestTheLogSaysWhoDidWhat(t *testing.T) {
	t.Parallel()
	j := &journal{}
	c := config(t)
	c.AdminAuth, c.DataplaneAuth, c.Dir, c.DeregisterAfter = "token", "token", t.TempDir(), 50*time.Millisecond
	if err := os.WriteFile(filepath.Join(c.Dir, "mesh.yaml"), []byte("type: Mesh\nname: default\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	p := startLogging(t, c, j.logger())
	const path = "/meshes/default/meshretries/mr-1"
	p.want(http.StatusCreated, http.MethodPut, path, retryAll)
	p.want(http.StatusOK, http.MethodPut, path, strings.ReplaceAll(retryAll, "3", "4"))
	alice := p.want(http.StatusOK, http.MethodPost, "/tokens/user", `{"name":"alice","groups":["mesh-system:admin"],"validFor":"1h"}`)
	bob := p.want(http.StatusOK, http.MethodPost, "/tokens/user", `{"name":"bob","validFor":"1h"}`)
	if got := p.as(http.MethodDelete, path, map[string]string{"Authorization": "Bearer " + alice, "User-Agent": "a-client"}); got != http.StatusOK {
		t.Fatalf("alice deletes: %d", got)
	}
	p.as(http.MethodDelete, "/meshes/default", map[string]string{"Authorization": "Bearer " + bob})
	p.as(http.MethodGet, "/meshes?token="+bob, map[string]string{"Authorization": "Bearer " + bob + "x"})
	dataplane := p.want(http.StatusOK, http.MethodPost, "/tokens/dataplane", `{"name":"guest-1","validFor":"1h","tags":{"kuma.io/service":["guest"]}}`)
	ask := map[string]any{"mesh": "default", "name": "guest-1", "dataplaneResource": guest, "dataplaneToken": dataplane}
	if code, text := p.ask(http.DefaultClient, "http://"+p.XDS(), dataplane, ask); code != http.StatusOK {
		t.Fatalf("%d %s", code, text)
	}
	for _, name := range []string{"guest-1", "guest-2"} {
		ask["name"], ask["dataplaneToken"] = name, dataplane+"x"
		if code, _ := p.ask(http.DefaultClient, "http://"+p.XDS(), "", ask); code != http.StatusUnauthorized {
			t.Fatalf("a bad token: %d", code)
		}
	}
	p.stop()

	for what, parts := range map[string][]string{
		"the directory":       {"msg=changed", "object=Mesh/default", "action=created", "by=directory"},
		"the administrator":   {"msg=changed", "object=MeshRetry/default/mr-1", "action=created", "by=mesh-system:admin"},
		"an update":           {"msg=changed", "object=MeshRetry/default/mr-1", "action=updated"},
		"a user":              {"msg=changed", "object=MeshRetry/default/mr-1", "action=deleted", "by=alice", "client=a-client"},
		"a refused user":      {`msg="refused a request"`, "user=bob", "method=DELETE", "path=/meshes/default", "status=403"},
		"nobody":              {`msg="refused a request"`, `user=""`, "path=/meshes ", "status=401", "address=127.0.0.1:"},
		"a sidecar":           {"msg=changed", "object=Dataplane/default/guest-1", "action=created", `by="sidecar guest-1"`},
		"a bootstrap":         {"msg=bootstrap", "dataplane=guest-1", "address=127.0.0.1:"},
		"a refused bootstrap": {`msg="refused a bootstrap"`, "dataplane=guest-2", "address=127.0.0.1:", "error="},
	} {
		if !j.has(parts...) {
			t.Errorf("%s: no line with %q", what, parts)
		}
	}
	for what, secret := range map[string]string{"the administrator": p.token, "alice": alice, "bob": bob, "the sidecar": dataplane} {
		if end := secret[len(secret)-20:]; j.has(end) {
			t.Errorf("the log has the token of %s", what)
		}
	}
}

// What weft does of itself says so.
func TestTheLogSaysWhatWeftDoesItself(t *testing.T) {
	t.Parallel()
	j := &journal{}
	startLogging(t, config(t), j.logger())
	if !j.has("msg=changed", "object=Mesh/default", "action=created", `by="control plane"`) {
		t.Error("no line about the first mesh")
	}
}

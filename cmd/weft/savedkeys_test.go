package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/weftmesh/weft/cmd/weft/internal/demo"
	"github.com/weftmesh/weft/internal/certs"
)

// commanded runs a command until it ends well and has said something.
func commanded(t *testing.T, says string, args ...string) (out, errs string) {
	t.Helper()
	for until := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		status, out, errs := said(t, args...)
		if status == 0 && strings.Contains(out, says) {
			return out, errs
		}
		if time.Now().After(until) {
			t.Fatalf("weft %s: exit %d\n%s%s", strings.Join(args, " "), status, out, errs)
		}
	}
}

// withAuthorities are documents of a mesh with three authorities: one that the control plane makes, one
// of Secrets, and one that stands in the Mesh.
func withAuthorities(t *testing.T, secret, inline *certs.Pair) string {
	t.Helper()
	document := func(v any) string {
		text, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return string(text) + "\n---\n"
	}
	hourly := map[string]any{"rotation": map[string]any{"expiration": "1h"}}
	return document(map[string]any{"type": "Secret", "mesh": "default", "name": "c", "data": secret.Chain}) +
		document(map[string]any{"type": "Secret", "mesh": "default", "name": "k", "data": secret.Key}) +
		document(map[string]any{"type": "Mesh", "name": "default", "mtls": map[string]any{"enabledBackend": "made", "backends": []any{
			map[string]any{"name": "made", "type": "builtin"},
			map[string]any{"name": "secret", "type": "provided", "dpCert": hourly, "conf": map[string]any{"cert": map[string]any{"secret": "c"}, "key": map[string]any{"secret": "k"}}},
			map[string]any{"name": "inline", "type": "provided", "dpCert": hourly, "conf": map[string]any{"cert": map[string]any{"inlineString": string(inline.Chain)}, "key": map[string]any{"inlineString": string(inline.Key)}}},
		}}})
}

// TestSavedFilesHoldNoKey (I10): no key of an authority is in a bundle for support, be it in a Secret,
// in a Mesh, or made by the control plane; those in Secrets are in no export of the store, and sealed
// in the store itself. A key that people have written into a Mesh is exported as they wrote it.
func TestSavedFilesHoldNoKey(t *testing.T) {
	t.Parallel()
	ports, err := demo.FreePorts(2)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	data, api := filepath.Join(dir, "data"), fmt.Sprintf("127.0.0.1:%d", ports[0])
	end := served(t, "--data-dir", data, "--api", api, "--xds", fmt.Sprintf("127.0.0.1:%d", ports[1]))
	of := []string{"--server", "http://" + api, "--token-file", filepath.Join(data, "admin-token")}
	secret, inline := certs.New(t, "secret"), certs.New(t, "inline")
	file := filepath.Join(dir, "documents.yaml")
	if err := os.WriteFile(file, []byte(withAuthorities(t, secret, inline)), 0o600); err != nil {
		t.Fatal(err)
	}
	commanded(t, "", append([]string{"status"}, of...)...) // it makes its token, and is ready
	commanded(t, "created", append([]string{"apply", "-f", file}, of...)...)
	commanded(t, "Steady", append([]string{"mtls", "authorities"}, of...)...)
	bundle := filepath.Join(dir, "support.tar.gz")
	commanded(t, "", append([]string{"support-bundle", "-f", bundle, "--kubeconfig", filepath.Join(dir, "none")}, of...)...)
	all := map[string]string{}
	for name, text := range unpacked(t, bundle) {
		all["the bundle's "+name] = text
	}
	for _, name := range []string{"meshes.json", "authorities-default.json"} {
		if !strings.Contains(all["the bundle's server/"+name], `"inline"`) {
			t.Errorf("the bundle's %s says nothing of the authorities: %s", name, all["the bundle's server/"+name])
		}
	}
	end()
	all["the export"], all["what the export says"] = commanded(t, "", "store", "export", "--data-dir", data)
	if !strings.Contains(all["the export"], "enabledBackend") || !strings.Contains(all["what the export says"], "left out") {
		t.Errorf("the export: %s%s", all["the export"], all["what the export says"])
	}
	stored, err := os.ReadFile(filepath.Join(data, "weft.db"))
	if err != nil {
		t.Fatal(err)
	}
	for where, text := range all {
		if strings.HasPrefix(where, "the bundle") && strings.Contains(text, "PRIVATE KEY") {
			t.Errorf("%s holds a key", where)
		}
		for i, key := range [][]byte{secret.Key, inline.Key} {
			for _, form := range certs.Forms(key) {
				if strings.Contains(text, string(form)) && (i == 0 || where != "the export") {
					t.Errorf("%s holds key %d", where, i)
				}
			}
		}
	}
	for _, form := range certs.Forms(secret.Key) {
		if bytes.Contains(stored, form) {
			t.Error("the store holds the key of a Secret as it is")
		}
	}
}

package main

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/weftmesh/weft/internal/kubetest"
)

// unpacked are the files of a bundle.
func unpacked(t *testing.T, file string) map[string]string {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	packed, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for r := tar.NewReader(packed); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		out[strings.TrimPrefix(h.Name, "weft-support/")] = string(text)
	}
}

// TestAPIServerSupportBundle: the bundle of a cluster has what helps, and nothing of its
// secrets, wherever they stand (spec/threats.md T19).
func TestAPIServerSupportBundle(t *testing.T) {
	t.Parallel()
	const canary = "c4n4ry-c4n4ry"
	c := kubetest.Start(t)
	status, text, errs := said(t, "install", "control-plane", "--set", "sidecar.env.SECRET="+canary)
	if status != 0 {
		t.Fatal(errs)
	}
	for _, o := range kubetest.Documents(t, []byte(text)) {
		if kind := o["kind"].(string); !strings.HasSuffix(kind, "WebhookConfiguration") {
			c.Apply(t, o, "")
		}
	}
	for _, document := range []string{
		`{apiVersion: v1, kind: Secret, metadata: {name: s, namespace: default}, stringData: {password: ` + canary + `}}`,
		`{apiVersion: v1, kind: Secret, metadata: {name: weft-ca, namespace: weft-system}, stringData: {ca-key.pem: ` + canary + `}}`,
		`{apiVersion: v1, kind: Pod, metadata: {name: web-1, namespace: default, labels: {app: web}, annotations: {kuma.io/sidecar-env-vars: "A=` + canary + `", other.example/key: ` + canary + `}},
spec: {serviceAccountName: default, containers: [{name: app, image: app, args: [` + canary + `], env: [{name: A, value: ` + canary + `}]}]}}`,
		`{apiVersion: kuma.io/v1alpha1, kind: MeshRetry, metadata: {name: thrice, namespace: default, annotations: {kubectl.kubernetes.io/last-applied-configuration: ` + canary + `}},
spec: {targetRef: {kind: Mesh}, to: [{targetRef: {kind: Mesh}, default: {http: {numRetries: 3}}}]}}`,
		`{apiVersion: kuma.io/v1alpha1, kind: MeshHTTPRoute, metadata: {name: proving, namespace: default}, spec: {targetRef: {kind: Mesh}, to: [{targetRef: {kind: MeshService, name: web}, rules: [
{matches: [{path: {type: PathPrefix, value: /}}], default: {filters: [{type: RequestHeaderModifier, requestHeaderModifier: {set: [{name: authorization, value: Bearer ` + canary + `}]}}]}}]}]}}`,
		`{apiVersion: v1, kind: Pod, metadata: {name: shares, namespace: weft-system}, spec: {serviceAccountName: weft-control-plane, securityContext: {runAsNonRoot: true, seccompProfile: {type: RuntimeDefault}},
containers: [{name: app, image: app, securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}}]}}`,
	} {
		c.Apply(t, kubetest.Document(t, document), "")
	}
	if status, got := c.Patch(t, "/api/v1/namespaces/default/pods/web-1/status", []byte(`[{"op": "add", "path": "/status/containerStatuses", "value":
[{"name": "app", "image": "app", "imageID": "app", "ready": false, "restartCount": 1, "lastState": {"terminated": {"exitCode": 1, "message": "`+canary+`"}}}]}]`)); status != http.StatusOK {
		t.Fatal(got["message"])
	}
	file := filepath.Join(t.TempDir(), "weft.tar.gz")
	status, out, errs := said(t, "support-bundle", "-f", file, "--kubeconfig", kubeconfig(t, c), "--server", "http://127.0.0.1:1")
	if status != 0 || !strings.Contains(out, "files") {
		t.Fatalf("exit %d %s%s", status, out, errs)
	}
	if !strings.Contains(errs, "not in the bundle: the control plane: ") {
		t.Errorf("nobody says that the control plane does not answer: %s", errs)
	}
	files := unpacked(t, file)
	for name, content := range files {
		if strings.Contains(content, canary) || strings.Contains(content, c.Token) {
			t.Errorf("%s holds a secret:\n%s", name, content)
		}
	}
	for name := range files {
		if strings.Contains(name, "shares") {
			t.Errorf("%s is of a pod that is none of the control plane's", name)
		}
	}
	if strings.Contains(files["errors.txt"], "shares") {
		t.Errorf("the log of another pod was asked for: %s", files["errors.txt"])
	}
	for name, want := range map[string]string{"about.json": `"weft"`, "check.json": `"ControlPlane"`, "cluster/kuma.io/meshretries.json": `"numRetries": 3`, "cluster/core/pods.json": `"image": "app"`,
		"cluster/control-plane/deployment.json": "--store=kube", "cluster/control-plane/injection.json": "weftmesh/weft-sidecar", "cluster/definitions.json": "meshretries.kuma.io", "errors.txt": "the control plane"} {
		if !strings.Contains(files[name], want) {
			t.Errorf("%s does not have %s:\n%s", name, want, files[name])
		}
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info, err)
	}
	if slices.ContainsFunc([]string{"secrets", "Secret"}, func(word string) bool {
		for name := range files {
			if strings.Contains(name, word) {
				return true
			}
		}
		return false
	}) {
		t.Error("the bundle has a file of Secrets")
	}
	if status, _, errs := said(t, "support-bundle", "-f", filepath.Join(t.TempDir(), "b"), "--kubeconfig", filepath.Join(t.TempDir(), "none"), "--server", "http://127.0.0.1:1"); status != 1 || !strings.Contains(errs, "neither a cluster nor a control plane answers") {
		t.Errorf("exit %d %s", status, errs)
	}
}

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/weftmesh/weft/cmd/weft/internal/check"
	"github.com/weftmesh/weft/internal/kubetest"
)

// kubeconfig is a file by which a cluster is reached.
func kubeconfig(t *testing.T, c *kubetest.Cluster) string {
	t.Helper()
	dir := t.TempDir()
	ca, file := filepath.Join(dir, "ca.pem"), filepath.Join(dir, "kubeconfig")
	text := fmt.Sprintf(`{apiVersion: v1, kind: Config, current-context: c, clusters: [{name: c, cluster: {server: %q, certificate-authority: %q}}],
users: [{name: u, user: {token: %q}}], contexts: [{name: c, context: {cluster: c, user: u}}]}`, c.URL, ca, c.Token)
	for name, content := range map[string][]byte{ca: c.CA, file: []byte(text)} {
		if err := os.WriteFile(name, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return file
}

// said runs a command line in this process.
func said(t *testing.T, args ...string) (status int, out, errs string) {
	t.Helper()
	var o, e bytes.Buffer
	status = run(t.Context(), args, strings.NewReader(""), &o, &e)
	return status, o.String(), e.String()
}

// TestAPIServerIsChecked goes from an empty cluster to an installation, and breaks it.
func TestAPIServerIsChecked(t *testing.T) {
	t.Parallel()
	c := kubetest.Start(t)
	file := kubeconfig(t, c)
	checks := func(want int, args ...string) map[string]check.Result {
		t.Helper()
		status, out, errs := said(t, append([]string{"check", "-o", "json", "--kubeconfig", file}, args...)...)
		var got checked
		if err := json.Unmarshal([]byte(out), &got); err != nil || status != want || got.Success != (want == 0) {
			t.Fatalf("weft check %v: exit %d, want %d; %v\n%s%s", args, status, want, err, out, errs)
		}
		by := map[string]check.Result{}
		for _, r := range got.Checks {
			by[r.Code] = r
		}
		return by
	}
	if got := checks(0, "--pre"); got["ForeignCustomResources"].Status != check.OK || got["GatewayAPI"].Status != check.Skipped {
		t.Errorf("an empty cluster: %+v", got)
	}
	kuma := kubetest.Document(t, `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: meshes.kuma.io}, spec: {group: kuma.io, scope: Cluster,
names: {kind: Mesh, plural: meshes}, versions: [{name: v1alpha1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]}}`)
	c.Apply(t, kuma, "")
	if got := checks(1, "--pre")["ForeignCustomResources"]; !strings.Contains(got.Message, "meshes.kuma.io") || got.Hint == "" || !strings.HasSuffix(got.Page, "#foreigncustomresources") {
		t.Errorf("Kuma's definitions: %+v", got)
	}
	if got := checks(1); got["CustomResources"].Status != check.Error || got["ControlPlane"].Status != check.Error || got["Webhooks"].Status != check.Error || got["Rights"].Status != check.Error {
		t.Errorf("nothing is installed: %+v", got)
	}
	status, text, errs := said(t, "install", "control-plane", "--set", "injection.exceptions.batch=*")
	if status != 0 {
		t.Fatal(errs)
	}
	for _, o := range kubetest.Documents(t, []byte(text)) {
		c.Apply(t, o, "")
	}
	got := checks(1)
	for code, want := range map[string]string{"CustomResources": check.OK, "CustomResourcesVersion": check.OK, "Rights": check.OK, "Webhooks": check.OK,
		"ControlPlane": check.Error, "ControlPlaneVersion": check.OK, "WebhookAuthority": check.Error, "Leader": check.Warning, "BarePods": check.OK} {
		if got[code].Status != want {
			t.Errorf("%s: %+v, want %s", code, got[code], want)
		}
	}
	t.Run("authority", func(t *testing.T) { authorityUnreadable(t, c, func() check.Result { return checks(1)["Authority"] }) })
	t.Run("rights", func(t *testing.T) { rightsChanged(t, c, func() check.Result { return checks(1)["Rights"] }) })
	c.Apply(t, kubetest.Document(t, `{apiVersion: v1, kind: Namespace, metadata: {name: "on", labels: {kuma.io/sidecar-injection: enabled}}}`), "")
	c.Send(t, http.MethodDelete, "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/weft", nil) // nobody answers
	for _, name := range []string{"old", "batch"} {                                                               // the second is an exception
		pod := kubetest.Document(t, fmt.Sprintf(`{metadata: {name: %s, labels: {%s: x}}, spec: {serviceAccountName: default, containers: [{name: app, image: app}]}}`, name, name))
		if status, said := c.Send(t, http.MethodPost, "/api/v1/namespaces/on/pods", pod); status != http.StatusCreated {
			t.Fatalf("%d %v", status, said["message"])
		}
	}
	got = checks(1)
	if b := got["BarePods"]; b.Status != check.Warning || b.Message != "1 without: on/old" {
		t.Errorf("a bare pod: %+v", b)
	}
	t.Run("explained", func(t *testing.T) {
		for name, want := range map[string]string{"on/old": "Pod on/old: inject (NamespaceEnabled)", "on/batch": "Pod on/batch: skip (ExceptionLabel)", "weft-system/weft-control-plane": "Deployment weft-system/weft-control-plane: skip (NamespaceExcluded)"} {
			status, out, errs := said(t, "inject", "explain", name, "--kubeconfig", file)
			if status != 0 || !strings.Contains(out, want+"\n") {
				t.Errorf("%s: exit %d %s%s", name, status, out, errs)
			}
		}
	})
	if b := got["Webhooks"]; b.Status != check.Error || !strings.Contains(b.Message, "pod.injector.weft.io") {
		t.Errorf("without its webhooks: %+v", b)
	}
	_, people, _ := said(t, "check", "--kubeconfig", file)
	for _, want := range []string{"kubernetes-api\n--------------\n✓ the API server answers\n", "‼ pods that are to have a sidecar have one\n    1 without: on/old\n    they were made before weft", "\nsomething is wrong\n"} {
		if !strings.Contains(people, want) {
			t.Errorf("%q is not in\n%s", want, people)
		}
	}
	c.Stop()
	if got := checks(1); len(got) != 1 || got["APIServer"].Status != check.Error {
		t.Errorf("an API server that is away: %+v", got)
	}
}

// authorityUnreadable has the leader say that it cannot read the authority, and that it can again.
func authorityUnreadable(t *testing.T, c *kubetest.Cluster, check func() check.Result) {
	if got := check(); got.Status != "skipped" {
		t.Errorf("nobody leads: %+v", got)
	}
	says := func(annotations map[string]any) {
		c.Apply(t, map[string]any{"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": map[string]any{"name": "weft-leader", "namespace": "weft-system", "annotations": annotations},
			"spec": map[string]any{"holderIdentity": "a"}}, "")
	}
	says(map[string]any{"weft.io/authority-fault": "the authority of the cluster cannot be read: no PEM"})
	if got := check(); got.Status != "error" || !strings.Contains(got.Message, "no PEM") || !strings.Contains(got.Hint, "restore the Secret weft-ca") {
		t.Errorf("a Secret that cannot be read: %+v", got)
	}
	says(map[string]any{})
	if got := check(); got.Status != "ok" {
		t.Errorf("one that can: %+v", got)
	}
}

// rightsChanged takes one right away, and then gives one too many.
func rightsChanged(t *testing.T, c *kubetest.Cluster, check func() check.Result) {
	const path = "/apis/rbac.authorization.k8s.io/v1/clusterroles/weft-control-plane"
	_, role := c.Send(t, http.MethodGet, path, nil)
	rules := role["rules"].([]any)
	for _, change := range []struct {
		rules []any
		says  string
	}{
		{slices.Clone(rules[1:]), "it may not list "},
		{append(slices.Clone(rules), map[string]any{"apiGroups": []any{""}, "resources": []any{"secrets"}, "verbs": []any{"get"}}), "it may also get secrets"},
	} {
		_, now := c.Send(t, http.MethodGet, path, nil)
		now["rules"] = change.rules
		if status, got := c.Send(t, http.MethodPut, path, now); status != http.StatusOK {
			t.Fatalf("%d %v", status, got["message"])
		}
		if got := check(); !strings.Contains(got.Message, change.says) {
			t.Errorf("%+v, want %s", got, change.says)
		}
	}
}

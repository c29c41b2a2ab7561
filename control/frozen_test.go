//go:build long

package control_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/weftmesh/weft/api/crd"
	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/internal/envoytest"
	"github.com/weftmesh/weft/internal/kubetest"
)

// process is a control plane that runs as a program of its own.
type process struct {
	*exec.Cmd
	t        *testing.T
	api, xds string
}

// launch runs a replica until the test ends. To the API server it is a user of its name.
func launch(t *testing.T, c *kubetest.Cluster, program, name string) *process {
	t.Helper()
	cfg := clustered(t, c.URL, c)
	text, err := os.ReadFile(cfg.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	as := strings.Replace(string(text), "user: {token:", fmt.Sprintf("user: {as: %s, as-groups: [system:masters], token:", name), 1)
	if err := os.WriteFile(cfg.Kubeconfig, []byte(as), 0o600); err != nil {
		t.Fatal(err)
	}
	p := &process{t: t, api: envoytest.Address(t), xds: envoytest.Address(t)}
	p.Cmd = exec.Command(program, "serve", "--store", "kube", "--kubeconfig", cfg.Kubeconfig, "--namespace", "weft-system", "--data-dir", t.TempDir(),
		"--api", p.api, "--xds", p.xds, "--admin-auth", "none", "--dataplane-auth", "none", "--xds-plaintext")
	p.Env = append(os.Environ(), "POD_NAME="+name)
	log, err := os.Create(filepath.Join(t.TempDir(), name+".log"))
	if err != nil {
		t.Fatal(err)
	}
	p.Stdout, p.Stderr = log, log
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = p.Process.Kill() // which a frozen one hears too
		_ = p.Wait()
		log.Close()
		if said, err := os.ReadFile(log.Name()); t.Failed() && err == nil {
			t.Logf("%s:\n%s", name, said)
		}
	})
	return p
}

// leads asks the metrics of the process.
func (p *process) leads() bool {
	client := http.Client{Timeout: time.Second}
	resp, err := client.Get("http://" + p.api + "/metrics")
	if err != nil {
		return false
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(resp.Body)
	return strings.Contains(string(text), "\nweft_leader 1\n")
}

// writesOf counts what a user has written but for Leases, by the audit log.
func writesOf(t *testing.T, audit, user string) int {
	t.Helper()
	text, err := os.ReadFile(audit)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for line := range strings.Lines(string(text)) {
		var r struct {
			Verb             string
			ImpersonatedUser struct{ Username string }
			ObjectRef        struct{ Resource string }
		}
		if json.Unmarshal([]byte(line), &r) == nil && r.ImpersonatedUser.Username == user && r.ObjectRef.Resource != "leases" &&
			r.Verb != "get" && r.Verb != "list" && r.Verb != "watch" {
			n++
		}
	}
	return n
}

// TestLongFrozenLeader is row 54 of spec/kubernetes.md 8: a leader is frozen while it has a
// status to write, another leads within 20 s, and nothing that the first had in mind is
// written when it goes on after 60 s.
func TestLongFrozenLeader(t *testing.T) {
	dir := t.TempDir()
	program := filepath.Join(dir, "weft")
	if out, err := exec.Command("go", "build", "-o", program, "github.com/weftmesh/weft/cmd/weft").CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	audit, policy := filepath.Join(dir, "audit.log"), filepath.Join(dir, "policy.yaml")
	if err := os.WriteFile(policy, []byte(`{"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "omitStages": ["RequestReceived"], "rules": [{"level": "Metadata"}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	c := kubetest.Start(t, "--audit-policy-file", policy, "--audit-log-path", audit)
	for _, d := range crd.All(world.Catalog(), "dev") {
		if status, got := c.Send(t, http.MethodPost, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", d); status != http.StatusCreated {
			t.Fatalf("%s: %d %v", d.Metadata.Name, status, got["message"])
		}
	}
	create(t, c, "/api/v1/namespaces", `metadata: {name: weft-system}`)
	create(t, c, "/api/v1/namespaces", `metadata: {name: shop}`)
	a := launch(t, c, program, "a")
	eventually(t, "the first leads", a.leads)
	b := launch(t, c, program, "b")
	const slow = shop + "meshtimeouts/slow"
	create(t, c, shop+"meshtimeouts", `{apiVersion: kuma.io/v1alpha1, kind: MeshTimeout, metadata: {name: slow}, spec: {from: [{targetRef: {kind: Mesh}, default: {connectionTimeout: 17s}}]}}`)
	var s told
	eventually(t, "the first writes", func() bool { statusAt(t, c, slow, &s); return s.ObservedGeneration == 1 })
	eventually(t, "the second follows", func() bool {
		conn, err := net.Dial("tcp", b.xds)
		if err == nil {
			conn.Close()
		}
		return err == nil
	})
	time.Sleep(5 * time.Second) // the first may write again

	replace(t, c, slow, `[{"op": "replace", "path": "/spec/from/0/default/connectionTimeout", "value": "18s"}]`)
	if err := a.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	frozen := time.Now()
	before := writesOf(t, audit, "a")
	eventually(t, "the second leads", b.leads)
	if took := time.Since(frozen); took > 20*time.Second {
		t.Errorf("the second leads after %v", took)
	} else {
		t.Logf("the second leads after %v", took)
	}
	eventually(t, "the second writes", func() bool { statusAt(t, c, slow, &s); return s.ObservedGeneration == 2 })
	time.Sleep(time.Until(frozen.Add(time.Minute)))
	replace(t, c, slow, `[{"op": "replace", "path": "/spec/from/0/default/connectionTimeout", "value": "19s"}]`)
	if err := a.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the second writes on", func() bool { statusAt(t, c, slow, &s); return s.ObservedGeneration == 3 })
	time.Sleep(10 * time.Second) // what the first would still write
	if a.leads() || !b.leads() {
		t.Errorf("the first leads: %v, the second: %v", a.leads(), b.leads())
	}
	if n := writesOf(t, audit, "a") - before; n != 0 {
		t.Errorf("the first has written %d times after it was frozen", n)
	}
	if writesOf(t, audit, "b") == 0 {
		t.Error("the audit log has no writes at all")
	}
}

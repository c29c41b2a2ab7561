package scale_test

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/weftmesh/weft/internal/envoytest"
	"github.com/weftmesh/weft/internal/kubetest"
)

// The bounds that are promised, on 2 cores.
const (
	mostStart  = 30 * time.Second
	mostMemory = 500 // MiB
	// mostRequests is how many requests an edit of a policy costs the API server beside itself:
	// one status of the policy, and one of the route that it is attached to.
	mostRequests = 2
)

// TestAPIServerScale: 2,000 pods, 200 Services, 500 routes and policies. What a control plane
// needs until all sidecars have what they ask for, its memory then, and what an edit costs
// the API server.
func TestAPIServerScale(t *testing.T) {
	if os.Getenv("REQUIRE_LONG") == "" {
		t.Skip("REQUIRE_LONG is not set: `make test-kube-long` runs tests that take long")
	}
	c := kubetest.Start(t)
	weft := filepath.Join(envoytest.Dir(t), "weft")
	if out, err := exec.Command("go", "build", "-o", weft, "github.com/weftmesh/weft/cmd/weft").CombinedOutput(); err != nil {
		t.Fatalf("build: %v: %s", err, out)
	}
	crds, err := exec.Command(weft, "install", "crds").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range kubetest.Documents(t, crds) {
		c.Apply(t, d, "")
	}
	create(t, c, "/api/v1/namespaces", `{metadata: {name: weft-system}}`)
	began := time.Now()
	fill(t, c)
	t.Logf("filled in %v", time.Since(began))

	address := envoytest.Address(t)
	ctx, end := context.WithCancel(t.Context())
	began = time.Now()
	p := serve(t, c, weft, address)
	var nodes []string
	for n := range namespaces {
		for s := range services {
			for i := range pods {
				nodes = append(nodes, fmt.Sprintf("default.svc-%d-%d.team-%d", s, i, n))
			}
		}
	}
	all := connect(ctx, t, address, nodes)
	defer func() { end(); all.group.Wait() }()
	for deadline := time.Now().Add(5 * time.Minute); int(all.synced.Load()) < len(nodes); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d of %d sidecars are synced", all.synced.Load(), len(nodes))
		}
	}
	start := time.Since(began)
	t.Logf("all %d sidecars are synced after %v; resident %d MiB", len(nodes), start, p.memory(t))
	if start > mostStart {
		t.Errorf("it took %v until all were synced, bound %v", start, mostStart)
	}
	settle(t, c, &all.changed)
	if m := p.memory(t); m > mostMemory {
		t.Errorf("%d MiB are resident, bound %d", m, mostMemory)
	} else {
		t.Logf("resident at rest: %d MiB", m)
	}
	before, told := requests(t, c), all.changed.Load()
	began = time.Now()
	edit(t, c, "team-3", "svc-4", 7)
	for all.changed.Load() == told && time.Since(began) < patience {
		time.Sleep(time.Millisecond)
	}
	first := time.Since(began)
	settle(t, c, &all.changed)
	cost := requests(t, c) - before - 1
	t.Logf("an edit is at the first sidecar after %v, and at %d of %d; it cost %d requests more", first, all.changed.Load()-told, len(nodes), cost)
	if cost > mostRequests {
		t.Errorf("an edit costs %d requests, bound %d", cost, mostRequests)
	}
}

const patience = time.Minute

// edit changes the retry of a Service's route.
func edit(t *testing.T, c *kubetest.Cluster, namespace, service string, n int) {
	t.Helper()
	path := "/apis/kuma.io/v1alpha1/namespaces/" + namespace + "/meshretries/" + service
	if status, got := c.Patch(t, path, fmt.Appendf(nil, `[{"op": "replace", "path": "/spec/to/0/default/http/numRetries", "value": %d}]`, n)); status != http.StatusOK {
		t.Fatalf("edit: %d %v", status, got["message"])
	}
}

type process struct{ *exec.Cmd }

// serve runs a control plane until the test ends.
func serve(t *testing.T, c *kubetest.Cluster, weft, address string) process {
	t.Helper()
	dir := envoytest.Dir(t)
	ca, config := filepath.Join(dir, "ca.pem"), filepath.Join(dir, "kubeconfig")
	text := fmt.Sprintf(`{apiVersion: v1, kind: Config, current-context: c, clusters: [{name: c, cluster: {server: %q, certificate-authority: %q}}],
users: [{name: u, user: {token: %q}}], contexts: [{name: c, context: {cluster: c, user: u}}]}`, c.URL, ca, c.Token)
	for name, content := range map[string][]byte{ca: c.CA, config: []byte(text)} {
		if err := os.WriteFile(name, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command(weft, "serve", "--store=kube", "--kubeconfig="+config, "--namespace=weft-system", "--data-dir="+filepath.Join(dir, "data"),
		"--api="+envoytest.Address(t), "--xds="+address, "--xds-plaintext", "--dataplane-auth=none", "--admin-auth=none", "--log-level=warn")
	cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "GOGC=") || strings.HasPrefix(v, "GOMEMLIMIT=") })
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM) // it may be gone already
		_ = cmd.Wait()
		if said.Len() > 0 {
			t.Logf("it said:\n%s", said.Bytes()[:min(said.Len(), 64<<10)])
		}
	})
	return process{cmd}
}

// memory is what is resident, in MiB.
func (p process) memory(t *testing.T) int {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "VmRSS:")
	n, err := strconv.Atoi(strings.Fields(rest)[0])
	if err != nil {
		t.Fatal(err)
	}
	return n >> 10
}

// settle waits until nothing is written and nobody is sent anything for a while: as long as a writer
// may wait for its turn beside 2,000 sidecars that come at once.
func settle(t *testing.T, c *kubetest.Cluster, told *atomic.Int32) {
	t.Helper()
	const calm = 3 // looks at which all was as before
	type state struct {
		requests int
		told     int32
	}
	var last state
	for same, deadline := 0, time.Now().Add(4*time.Minute); time.Now().Before(deadline); time.Sleep(6 * time.Second) {
		now := state{requests(t, c), told.Load()}
		if now != last {
			last, same = now, 0
		} else if same++; same == calm {
			return
		}
	}
	t.Error("there is no end of writing")
}

// requests is how many writes of documents and of what weft makes of them the API server
// has answered.
func requests(t *testing.T, c *kubetest.Cluster) (n int) {
	t.Helper()
	_, got := c.Send(t, http.MethodGet, "/metrics", nil)
	for line := range strings.Lines(got["message"].(string)) {
		if !strings.HasPrefix(line, "apiserver_request_total{") || strings.Contains(line, `verb="WATCH"`) {
			continue
		}
		if !strings.Contains(line, `group="kuma.io"`) && !strings.Contains(line, `resource="events"`) && !strings.Contains(line, `resource="pods"`) {
			continue
		}
		fields := strings.Fields(line)
		v, err := strconv.ParseFloat(fields[len(fields)-1], 64)
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		n += int(v)
	}
	return n
}

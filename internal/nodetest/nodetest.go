// Package nodetest plays the node of a cluster for tests: it runs the pods that an API
// server has, each in a network namespace with an address of its own, keeps the
// EndpointSlices of Services and forwards what is sent to their addresses.
//
// It promises that a container runs what the pod's specification says: command, arguments,
// environment, user, capabilities, read-only root, volumes (emptyDir, ConfigMap, projected
// tokens), probes and hooks, init containers in their order, and the end of a pod as the
// kubelet has it. It plays the admission plugin ServiceAccount too, which mounts the token
// of the account. Images are a directory: weft, and Envoy; other containers are HTTP
// servers of the test (App). It needs root and what packages kubetest and netnstest need.
package nodetest

import (
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/json"

	"github.com/weftmesh/weft/internal/envoytest"
	"github.com/weftmesh/weft/internal/kubetest"
	"github.com/weftmesh/weft/internal/netnstest"
)

// patience bounds every wait; it only costs time where something is broken.
const patience = time.Minute

// Node is an API server, and the one node of its cluster.
type Node struct {
	*kubetest.Cluster
	Network *netnstest.Network // the API server is in its world

	t     testing.TB
	dir   string
	weft  string // the program
	agent string // weft-agent, which the image of sidecars holds by the name weft
	envoy string

	mu       sync.Mutex
	pods     map[string]*Pod    // by namespace/name
	services map[string]Service // by namespace/name
	apps     map[string]http.Handler
}

// New starts an API server with nothing in it on a node without pods. Flags are those of
// kube-apiserver.
func New(t testing.TB, flags ...string) *Node {
	t.Helper()
	network := netnstest.New(t)
	network.World.Output("sysctl", "-qw", "net.ipv4.ip_forward=1", "net.ipv4.conf.all.send_redirects=0", "net.ipv4.conf.br0.send_redirects=0")
	network.World.Output("ip", "route", "add", serviceRange, "dev", "br0")
	n := &Node{Cluster: kubetest.StartIn(t, network.World, flags...), Network: network, t: t, dir: envoytest.Dir(t), envoy: envoytest.Path(t),
		pods: map[string]*Pod{}, services: map[string]Service{}, apps: map[string]http.Handler{}}
	n.weft, n.agent = filepath.Join(n.dir, "weft"), filepath.Join(n.dir, "weft-agent")
	for _, program := range []string{n.weft, n.agent} {
		if out, err := exec.Command("go", "build", "-o", program, "github.com/weftmesh/weft/cmd/"+filepath.Base(program)).CombinedOutput(); err != nil {
			t.Fatalf("build %s: %v: %s", program, err, out)
		}
	}
	return n
}

// program is what an image holds by the name weft.
func (n *Node) program(image string) string {
	if strings.Contains(image, "weft-sidecar") {
		return n.agent
	}
	return n.weft
}

// Weft runs the program on the node's host, where nothing is injected, and is what it prints.
func (n *Node) Weft(args ...string) []byte {
	n.t.Helper()
	cmd := exec.Command(n.weft, args...)
	out, err := cmd.Output()
	if err != nil {
		n.t.Fatalf("weft %v: %v", args, err)
	}
	return out
}

// Namespace makes a namespace with labels, and its account, which a controller would make.
func (n *Node) Namespace(name string, labels map[string]string) {
	n.t.Helper()
	n.Apply(n.t, map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": name, "labels": labels}}, "")
	n.Apply(n.t, map[string]any{"apiVersion": "v1", "kind": "ServiceAccount", "metadata": map[string]any{"name": "default", "namespace": name}}, "")
}

// ApplyText applies the documents of a text, and is what the API server warned of.
func (n *Node) ApplyText(text string) (warnings []string) {
	n.t.Helper()
	for _, d := range kubetest.Documents(n.t, []byte(text)) {
		_, warned := n.ApplyWarned(n.t, d, "")
		warnings = append(warnings, warned...)
	}
	return warnings
}

// into reads what the API server answered as a typed object.
func into(t testing.TB, answer map[string]any, object any) {
	t.Helper()
	text, err := json.Marshal(answer)
	if err == nil {
		err = json.Unmarshal(text, object)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// eventually polls until cond holds, and fails the test if it does not in time.
func eventually(t testing.TB, what string, said func() string, cond func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !cond(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited %v until %s:\n%s", patience, what, said())
		}
	}
}

package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/weftmesh/weft/internal/netnstest"
	"github.com/weftmesh/weft/sidecar/agent"
)

// The users of a pod.
const (
	workloadUser = 1000
	sidecarUser  = 5678
)

// redirectedMesh is a control plane in the world, and pods with sidecars behind
// redirection.
type redirectedMesh struct {
	t       *testing.T
	dir     string // readable by all
	envoy   string
	network *netnstest.Network
	pods    map[string]*netnstest.Namespace
}

const redirectedDocuments = `type: MeshService
mesh: default
name: web
spec:
  selector: {dataplaneTags: {kuma.io/service: v1}}
  ports: [{port: 80, targetPort: 8080, appProtocol: http}]
status: {vips: [{ip: 241.0.0.1}, {ip: "fd77:6566:74::f100:1"}]}
---
type: MeshService
mesh: default
name: v2
spec:
  selector: {dataplaneTags: {kuma.io/service: v2}}
  ports: [{port: 80, targetPort: 8080, appProtocol: http}]
---
type: MeshHTTPRoute
mesh: default
name: split
spec:
  targetRef: {kind: Mesh}
  to:
  - targetRef: {kind: MeshService, name: web}
    rules:
    - matches: [{path: {type: PathPrefix, value: /two}}]
      default: {backendRefs: [{kind: MeshService, name: v2, port: 80}]}
    - matches: [{path: {type: PathPrefix, value: /split}}]
      default:
        backendRefs:
        - {kind: MeshService, name: web, port: 80, weight: 1}
        - {kind: MeshService, name: v2, port: 80, weight: 1}
`

// TestPodsBehindRedirection: three pods with real sidecars, whose traffic each backend
// redirects in another one. The workloads know of nothing: they call virtual addresses
// that are nowhere, and a route says who answers; what comes from outside passes the
// sidecar; what is for nobody in the mesh arrives where it was going.
func TestPodsBehindRedirection(t *testing.T) {
	t.Parallel()
	m := newRedirectedMesh(t)
	for name, backend := range map[string]string{"client": "iptables-nft", "v1": "iptables-legacy", "v2": "nft"} {
		m.pod(name, backend)
	}
	m.network.World.Answer(0, "foreign", "[::]:7000")
	client := m.pods["client"]
	for _, vip := range []string{"241.0.0.1", "[fd77:6566:74::f100:1]"} {
		for path, want := range map[string]string{"/one": "v1 from 127.0.0.6", "/two": "v2 from 127.0.0.6"} {
			m.until(client, "http://"+vip+path, want)
		}
		seen := map[string]int{}
		for range 60 {
			seen[m.get(client, "http://"+vip+"/split")]++
		}
		if seen["v1 from 127.0.0.6"] < 10 || seen["v2 from 127.0.0.6"] < 10 || len(seen) != 2 {
			t.Errorf("%s: sixty requests of which each second is for v2: %v", vip, seen)
		}
	}
	for _, name := range []string{"v1", "v2"} {
		pod, world := m.pods[name], m.network.World
		m.until(world, fmt.Sprintf("http://%s:8080/", pod.IPv4), name+" from 127.0.0.6")
		m.until(world, fmt.Sprintf("http://[%s]:8080/", pod.IPv6), name+" from ::6")
		for _, port := range []uint16{15001, 15006, 15053} {
			for _, ip := range []netip.Addr{pod.IPv4, pod.IPv6} {
				if got := world.Ask(0, netip.Addr{}, netip.AddrPortFrom(ip, port)); got != "closed" && got != "reset" {
					t.Errorf("%s: a connection to %s port %d: %q, want it closed", name, ip, port, got)
				}
			}
		}
		if got := pod.Ask(workloadUser, netip.Addr{}, netip.AddrPortFrom(netnstest.ForeignIPv4, 7000)); got != "foreign "+netnstest.ForeignIPv4.String()+":7000" {
			t.Errorf("%s: a server outside the mesh: %q", name, got)
		}
		if out := m.weft(pod, "uninstall", "transparent-proxy"); out != "uninstalled\n" {
			t.Errorf("%s: %q", name, out)
		}
		m.until(world, fmt.Sprintf("http://%s:8080/", pod.IPv4), name+" from "+netnstest.WorldIPv4.String())
	}
}

func newRedirectedMesh(t *testing.T) *redirectedMesh {
	t.Helper()
	m := &redirectedMesh{t: t, network: netnstest.New(t), pods: map[string]*netnstest.Namespace{}}
	dir, err := os.MkdirTemp("", "weft")
	if err != nil {
		t.Fatal(err)
	}
	m.dir = dir
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if m.envoy, err = agent.FindEnvoy(""); err != nil {
		t.Fatal(err)
	}
	m.ok(os.Chmod(dir, 0o755))
	// By a process of its own: what this one writes cannot be run while a program starts
	// that holds the open file.
	m.ok(exec.Command("cp", program(t), m.file("weft")).Run())
	m.ok(os.Chmod(m.file("weft"), 0o755))
	m.ok(os.Mkdir(m.file("docs"), 0o755))
	m.ok(os.WriteFile(m.file("docs/mesh.yaml"), []byte(redirectedDocuments), 0o644))
	world := m.network.World
	m.start(world, 0, "serve", "--store", "memory", "--dir", m.file("docs"), "--data-dir", m.file("data"),
		"--api", "127.0.0.1:5681", "--xds", netnstest.WorldIPv4.String()+":5678", "--allow-remote", "--log-level", "warn")
	m.until(world, "http://127.0.0.1:5681/readyz", "")
	authority, err := os.ReadFile(m.file("data/ca.pem"))
	m.ok(err)
	m.ok(os.WriteFile(m.file("ca.pem"), authority, 0o644)) // the data directory is the server's alone
	return m
}

func (m *redirectedMesh) ok(err error) {
	m.t.Helper()
	if err != nil {
		m.t.Fatal(err)
	}
}

func (m *redirectedMesh) file(name string) string { return filepath.Join(m.dir, name) }

// pod starts a workload that says who it is and who called it, redirection, and a sidecar
// by the user that is excluded from it.
func (m *redirectedMesh) pod(name, backend string) { m.podAt(m.network.Pod(), name, backend, nil, nil) }

// podAt is the same in a namespace, with more flags of the installation and of the sidecar.
func (m *redirectedMesh) podAt(pod *netnstest.Namespace, name, backend string, install, sidecar []string) {
	m.t.Helper()
	m.pods[name] = pod
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		from, _, _ := net.SplitHostPort(r.RemoteAddr)
		fmt.Fprintf(w, "%s from %s", name, strings.TrimPrefix(from, "::ffff:"))
	})}
	l := pod.Listen(workloadUser, "[::]:8080")
	go func() { _ = server.Serve(l) }() // ends by Close
	m.t.Cleanup(func() { _ = server.Close() })
	document := fmt.Sprintf(`type: Dataplane
mesh: default
name: %s
networking:
  address: %s
  transparentProxying: {redirectPortInbound: 15006, redirectPortOutbound: 15001, ipFamilyMode: DualStack}
  inbound: [{port: 8080, tags: {kuma.io/service: %s, kuma.io/protocol: http}}]
`, name, pod.IPv4, name)
	m.ok(os.WriteFile(m.file(name+".yaml"), []byte(document), 0o644))
	token := m.weft(m.network.World, "token", "dataplane", "--name", name, "--tag", "kuma.io/service="+name)
	m.ok(os.WriteFile(m.file(name+".token"), []byte(token), 0o644))
	want := "installed: IPv4 and IPv6 by " + backend + "\n"
	for range 2 {
		if got := m.weft(pod, append([]string{"install", "transparent-proxy", "--backend", backend}, install...)...); got != want {
			m.t.Errorf("%s: install says %q, want %q", name, got, want)
		}
		want = "unchanged\n"
	}
	m.start(pod, sidecarUser, append([]string{"sidecar", "--xds", "https://" + netnstest.WorldIPv4.String() + ":5678", "--dataplane-file", m.file(name + ".yaml"),
		"--token-file", m.file(name + ".token"), "--ca-file", m.file("ca.pem"), "--readiness", "0.0.0.0:9902", "--concurrency", "1", "--drain-time", "0s"}, sidecar...)...)
	m.until(m.network.World, fmt.Sprintf("http://%s:9902/readyz", pod.IPv4), "")
}

// command is a command of weft, in the environment that all have here.
func (m *redirectedMesh) command(n *netnstest.Namespace, user int, args ...string) *exec.Cmd {
	cmd := n.Command(user, m.file("weft"), args...)
	cmd.Dir = "/"
	cmd.Env = append(os.Environ(), "WEFT_ENVOY="+m.envoy, "WEFT_DATA_DIR="+m.file("data"), "TMPDIR=/tmp")
	return cmd
}

// weft is what a command prints that must work.
func (m *redirectedMesh) weft(n *netnstest.Namespace, args ...string) string {
	m.t.Helper()
	cmd := m.command(n, 0, args...)
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		m.t.Fatalf("weft %s: %v: %s", strings.Join(args, " "), err, said.String())
	}
	return string(out)
}

// start runs a command until the test ends, and shows what it said if the test failed.
func (m *redirectedMesh) start(n *netnstest.Namespace, user int, args ...string) {
	m.t.Helper()
	cmd := m.command(n, user, args...)
	said, err := os.Create(m.file(fmt.Sprintf("log-%s-%s", n.Name, args[0])))
	m.ok(err)
	cmd.Stdout, cmd.Stderr = said, said
	m.ok(cmd.Start())
	m.t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM) // it may be gone already
		ended := time.AfterFunc(30*time.Second, func() { _ = cmd.Process.Kill() })
		_ = cmd.Wait()
		ended.Stop()
		if text, err := os.ReadFile(said.Name()); err == nil && m.t.Failed() {
			m.t.Logf("weft %s in %s:\n%s", args[0], n.Name, text)
		}
		said.Close()
	})
}

// get is what a URL answers to the workload's user, or why it does not.
func (m *redirectedMesh) get(n *netnstest.Namespace, url string) string {
	client := &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(_ context.Context, network, address string) (net.Conn, error) {
			to, err := netip.ParseAddrPort(address)
			if err != nil {
				return nil, err
			}
			return n.Dial(workloadUser, network, netip.AddrPort{}, to)
		},
	}}
	resp, err := client.Get(url)
	if err != nil {
		return err.Error()
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		return fmt.Sprintf("%s %s %v", resp.Status, text, err)
	}
	return string(text)
}

// until asks until the answer is as wanted; with an empty want any good answer is.
func (m *redirectedMesh) until(n *netnstest.Namespace, url, want string) {
	m.t.Helper()
	got := ""
	for deadline := time.Now().Add(2 * time.Minute); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		if got = m.get(n, url); got == want {
			return
		}
		if want == "" && !strings.Contains(got, "Get ") && !strings.HasPrefix(got, "5") && !strings.HasPrefix(got, "4") {
			return
		}
	}
	m.t.Fatalf("%s answers %q, want %q", url, got, want)
}

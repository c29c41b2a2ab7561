// Package netnstest makes networks of real network namespaces for tests: pods with an
// address each, and the world around them.
//
// It promises that nothing of this machine's own network is touched, that names are
// unique, and that what it made is gone when the test is over; what a test that was
// killed left behind goes with the next one. It needs root and the programs of Tools:
// where they are missing the test fails if REQUIRE_NETNS is set, and is skipped if not.
package netnstest

import (
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
)

// Tools are the programs that tests with namespaces use; hack/tools-netns installs them.
var Tools = []string{"ip", "setpriv", "iptables-nft", "iptables-legacy", "ip6tables-nft", "ip6tables-legacy", "nft"}

// Need ends the test where namespaces cannot be made.
func Need(t testing.TB) {
	t.Helper()
	var missing []string
	if os.Geteuid() != 0 {
		missing = append(missing, "root")
	}
	for _, tool := range Tools {
		if _, err := exec.LookPath(tool); err != nil {
			missing = append(missing, tool)
		}
	}
	switch {
	case len(missing) == 0:
	case os.Getenv("REQUIRE_NETNS") != "":
		t.Fatalf("network namespaces cannot be made without %s: run `make test-kube` as root", strings.Join(missing, ", "))
	default:
		t.Skipf("NOT TESTED: network namespaces need %s; `make test-kube` brings what is missing", strings.Join(missing, ", "))
	}
}

// The addresses of the world. Foreign ones are nobody's in the mesh.
var (
	WorldIPv4   = netip.MustParseAddr("10.77.0.1")
	WorldIPv6   = netip.MustParseAddr("fd77::1")
	ForeignIPv4 = netip.MustParseAddr("198.51.100.7")
	ForeignIPv6 = netip.MustParseAddr("2001:db8::7")
)

// Network is a bridge in a namespace of its own, the world, and the pods at it.
type Network struct {
	t     testing.TB
	World *Namespace
	pods  int
}

// Namespace is one network namespace. The world has more addresses than these.
type Namespace struct {
	Name       string // for ip netns
	IPv4, IPv6 netip.Addr
	t          testing.TB
}

// prefix begins all names, before the process that made them.
const prefix = "weft-test-"

var made atomic.Int64

// New makes a network without pods, gone when the test is over.
func New(t testing.TB) *Network {
	t.Helper()
	Need(t)
	sweep()
	n := &Network{t: t}
	n.World = n.namespace(WorldIPv4, WorldIPv6)
	n.World.ip(`link add br0 type bridge
link set br0 up
addr add 10.77.0.1/16 dev br0
addr add fd77::1/64 dev br0 nodad
addr add ` + ForeignIPv4.String() + `/32 dev br0
addr add ` + ForeignIPv6.String() + `/128 dev br0 nodad
`)
	return n
}

// Pod adds a namespace with addresses of its own; the world is its router.
func (n *Network) Pod() *Namespace {
	n.t.Helper()
	n.pods++
	pod := n.namespace(netip.AddrFrom4([4]byte{10, 77, 1, byte(n.pods)}), netip.MustParseAddr(fmt.Sprintf("fd77::1:%x", n.pods)))
	n.World.ip(fmt.Sprintf("link add pod%d type veth peer name eth0 netns %s\nlink set pod%d master br0 up\n", n.pods, pod.Name, n.pods))
	pod.ip(fmt.Sprintf(`addr add %s/16 dev eth0
addr add %s/64 dev eth0 nodad
link set eth0 up
route add default via %s
route add ::/0 via %s
`, pod.IPv4, pod.IPv6, WorldIPv4, WorldIPv6))
	return pod
}

func (n *Network) namespace(v4, v6 netip.Addr) *Namespace {
	n.t.Helper()
	out := &Namespace{Name: fmt.Sprintf("%s%d-%d", prefix, os.Getpid(), made.Add(1)), IPv4: v4, IPv6: v6, t: n.t}
	n.t.Cleanup(func() { remove(out.Name) })
	if text, err := exec.Command("ip", "netns", "add", out.Name).CombinedOutput(); err != nil {
		n.t.Fatalf("ip netns add: %v: %s", err, text)
	}
	out.ip("link set lo up\n")
	return out
}

// ip runs lines of the program ip in the namespace.
func (n *Namespace) ip(lines string) {
	n.t.Helper()
	cmd := exec.Command("ip", "-n", n.Name, "-batch", "-")
	cmd.Stdin = strings.NewReader(lines)
	if text, err := cmd.CombinedOutput(); err != nil {
		n.t.Fatalf("ip -n %s: %v: %s\n%s", n.Name, err, text, lines)
	}
}

// files is where `ip netns exec` finds what to lay over /etc for a namespace.
func files(name string) string { return filepath.Join("/etc/netns", name) }

// File makes commands in the namespace find text at /etc/NAME. The file must exist
// outside too.
func (n *Namespace) File(name, text string) {
	n.t.Helper()
	if err := os.MkdirAll(files(n.Name), 0o755); err != nil {
		n.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(files(n.Name), name), []byte(text), 0o644); err != nil {
		n.t.Fatal(err)
	}
}

// Command is a program in the namespace, run by a user with no rights but its own; 0 is
// root with all of them.
func (n *Namespace) Command(uid int, name string, args ...string) *exec.Cmd {
	all := []string{"netns", "exec", n.Name}
	if uid != 0 {
		id := strconv.Itoa(uid)
		all = append(all, "setpriv", "--reuid", id, "--regid", id, "--clear-groups", "--no-new-privs", "--bounding-set=-all", "--inh-caps=-all")
	}
	return exec.Command("ip", append(append(all, name), args...)...)
}

// Output is what a program prints that root runs in the namespace and that must work.
func (n *Namespace) Output(name string, args ...string) string {
	n.t.Helper()
	var said strings.Builder
	cmd := n.Command(0, name, args...)
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		n.t.Fatalf("%s %s: %v: %s", name, strings.Join(args, " "), err, said.String())
	}
	return string(out)
}

func remove(name string) {
	_ = exec.Command("ip", "netns", "del", name).Run() // it may be gone already
	_ = os.RemoveAll(files(name))
}

// sweep removes what processes made that are gone.
func sweep() {
	for _, dir := range []string{"/run/netns", "/etc/netns"} {
		found, err := filepath.Glob(filepath.Join(dir, prefix+"*"))
		if err != nil {
			continue
		}
		for _, path := range found {
			name := filepath.Base(path)
			pid, _, _ := strings.Cut(strings.TrimPrefix(name, prefix), "-")
			if _, err := os.Stat("/proc/" + pid); os.IsNotExist(err) {
				remove(name)
			}
		}
	}
}

package netnstest_test

import (
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/weftmesh/weft/internal/netnstest"
)

func there(name string) bool {
	_, err := os.Stat(filepath.Join("/run/netns", name))
	return err == nil
}

// TestNothingStays: namespaces are gone when their test is over, and those of a process
// that is gone when the next one begins.
func TestNothingStays(t *testing.T) {
	netnstest.Need(t)
	const left = "weft-test-4194305-1" // no process has so high a number
	if text, err := exec.Command("ip", "netns", "add", left).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	var names []string
	t.Run("test", func(t *testing.T) {
		n := netnstest.New(t)
		a, b := n.Pod(), n.Pod()
		names = []string{n.World.Name, a.Name, b.Name}
		if there(left) {
			t.Errorf("%s is still there", left)
		}
		for _, name := range names {
			if !there(name) {
				t.Errorf("%s is not there", name)
			}
		}
		b.Answer(0, "b", "[::]:80")
		for _, ip := range []netip.Addr{b.IPv4, b.IPv6} {
			at := netip.AddrPortFrom(ip, 80)
			if got := a.Ask(0, netip.Addr{}, at); got != "b "+at.String() {
				t.Errorf("from pod to pod: %q", got)
			}
		}
		if got := a.Ask(0, netip.Addr{}, netip.AddrPortFrom(b.IPv4, 81)); got != "refused" {
			t.Errorf("nobody listens, and says %q", got)
		}
		b.File("resolv.conf", "nameserver 192.0.2.1\n")
		if got := b.Output("cat", "/etc/resolv.conf"); got != "nameserver 192.0.2.1\n" {
			t.Errorf("resolv.conf: %q", got)
		}
	})
	for _, name := range names {
		_, err := os.Stat(filepath.Join("/etc/netns", name))
		if there(name) || err == nil {
			t.Errorf("%s is still there after its test", name)
		}
	}
}

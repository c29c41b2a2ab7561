package main

import (
	"errors"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/weftmesh/weft/cmd/internal/sidecarcmd"
	"github.com/weftmesh/weft/internal/netnstest"
	"github.com/weftmesh/weft/sidecar/intercept"
)

// TestFlagsSayWhatTheAnnotationSays: the flags that are written out for weft-init are
// read back as the config that they are of.
func TestFlagsSayWhatTheAnnotationSays(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../sidecar/intercept/testdata/rules/*.txtar")
	if err != nil || len(files) < 3 {
		t.Fatalf("%d configs, %v", len(files), err)
	}
	for _, file := range files {
		a, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		want, err := intercept.ParseAnnotation(string(a.Files[0].Data))
		if err != nil {
			t.Fatal(err)
		}
		got, _, err := sidecarcmd.Interception(want.Args())
		if d := cmp.Diff(want.Annotation(), got.Annotation()); d != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", file, err, d)
		}
	}
}

// told is what a command says on both streams, and its exit status.
func told(t *testing.T, cmd *exec.Cmd) (string, int) {
	t.Helper()
	text, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return string(text), cmd.ProcessState.ExitCode()
}

// TestRightsOfRedirection: weft-init has two capabilities and no other, and what it lacks
// is said before anything is touched.
func TestRightsOfRedirection(t *testing.T) {
	t.Parallel()
	network, weft := netnstest.New(t), program(t)
	for _, c := range []struct {
		capabilities, backend, want string
		status                      int
	}{
		{"-all,+net_admin", "iptables-nft", "installed: IPv4 and IPv6 by iptables-nft\n", 0},
		{"-all,+net_admin", "nft", "installed: IPv4 and IPv6 by nft\n", 0},
		{"-all,+net_admin,+net_raw", "iptables-legacy", "installed: IPv4 and IPv6 by iptables-legacy\n", 0},
		{"-all,+net_admin", "iptables-legacy", "weft: the capability NET_RAW is missing, which iptables-legacy needs; add it, or choose --backend nft\n", 1},
		{"-all,+net_raw", "nft", "weft: the capability NET_ADMIN is missing; run it as root, in a container with that capability\n", 1},
	} {
		pod := network.Pod()
		got, status := told(t, pod.Command(0, "setpriv", "--bounding-set", c.capabilities, "--inh-caps=-all", "--no-new-privs",
			weft, "install", "transparent-proxy", "--backend", c.backend))
		if got != c.want || status != c.status {
			t.Errorf("%s by %s: %d %q, want %d %q", c.capabilities, c.backend, status, got, c.status, c.want)
		}
	}
	if got, status := told(t, network.Pod().Command(workloadUser, weft, "uninstall", "transparent-proxy")); status != 1 || !strings.Contains(got, "NET_ADMIN is missing") {
		t.Errorf("another user uninstalls: %d %q", status, got)
	}
}

// program is where weft is.
func program(t *testing.T) string {
	t.Helper()
	weft, err := exec.LookPath("weft") // testscript.Main puts it on PATH
	if err != nil {
		t.Fatal(err)
	}
	return weft
}

// TestMissingToolsOfRedirection: auto takes what is there; what is missing is said all at once.
func TestMissingToolsOfRedirection(t *testing.T) {
	t.Parallel()
	network, weft := netnstest.New(t), program(t)
	where := func(name string) string {
		path, err := exec.LookPath(name)
		if err == nil {
			path, err = filepath.EvalSymlinks(path)
		}
		if err != nil {
			t.Fatal(err)
		}
		return path
	}
	iptables, legacy, nft, ip := where("iptables-nft"), where("iptables-legacy"), where("nft"), where("ip")
	for _, c := range []struct {
		name, args string
		without    []string
		resolv     string
		want       []string
		status     int
	}{
		{"no iptables-nft", "", []string{iptables}, "", []string{"installed: IPv4 and IPv6 by nft"}, 0},
		{"legacy alone", "", []string{iptables, nft}, "", []string{"installed: IPv4 and IPv6 by iptables-legacy"}, 0},
		{"IPv4 needs no ip", "--ip-family-mode ipv4", []string{ip}, "", []string{"installed: IPv4 by iptables-nft"}, 0},
		{"nothing", "", []string{iptables, nft, legacy}, "", []string{"neither iptables nor nft is there; install the package iptables or nftables"}, 1},
		{"much is wrong", "--backend iptables-nft --redirect-dns", []string{iptables, ip}, "search example.org\n", []string{
			"--redirect-dns: /etc/resolv.conf names no server whose questions could be redirected; give --dns-servers, or leave it out",
			"ip is missing; install the package iproute2",
			"iptables-nft-restore is missing; install the package iptables",
			"ip6tables-nft-save is missing; install the package iptables",
		}, 1},
		{"servers of resolv.conf", "--redirect-dns", nil, "nameserver 10.77.0.1\nnameserver fe80::1%eth0\n", []string{"installed"}, 0},
	} {
		pod := network.Pod()
		if c.resolv != "" {
			pod.File("resolv.conf", c.resolv)
		}
		// The namespace has mounts of its own, so that a program can be hidden in it.
		script := ""
		for _, path := range c.without {
			script += "mount --bind /dev/null " + path + " && "
		}
		got, status := told(t, pod.Command(0, "sh", "-c", script+"exec "+weft+" install transparent-proxy "+c.args))
		if status != c.status {
			t.Errorf("%s: exit status %d, want %d", c.name, status, c.status)
		}
		for _, want := range c.want {
			if !strings.Contains(got, want) {
				t.Errorf("%s: %q, want %q", c.name, got, want)
			}
		}
		if rules := pod.Output("iptables-nft-save") + pod.Output("iptables-legacy-save") + pod.Output("nft", "list", "ruleset"); strings.Contains(rules, "weft/1") != (c.status == 0) {
			t.Errorf("%s: exit status %d, and the rules are\n%s", c.name, status, rules)
		} else if c.resolv != "" && c.status == 0 && !strings.Contains(rules, "-d 10.77.0.1/32 -p udp") {
			t.Errorf("%s: no question is redirected:\n%s", c.name, rules)
		}
	}
}

// TestDryRunOfRedirection: what is printed is a script that does the same.
func TestDryRunOfRedirection(t *testing.T) {
	t.Parallel()
	network, weft := netnstest.New(t), program(t)
	for _, backend := range []string{"iptables-nft", "iptables-legacy", "nft"} {
		pod := network.Pod()
		args := []string{"install", "transparent-proxy", "--backend", backend, "--redirect-dns", "--dns-servers", "10.0.0.10", "--exclude-outbound-ports-for-uids", "80,8000-8100:33"}
		script := pod.Output(weft, append(args, "--dry-run")...)
		if rules := pod.Output("nft", "list", "ruleset") + pod.Output("iptables-legacy-save"); strings.Contains(rules, "weft") {
			t.Errorf("%s: a dry run leaves\n%s", backend, rules)
		}
		pod.Output("sh", "-ec", script)
		if got := pod.Output(weft, args...); got != "unchanged\n" {
			t.Errorf("%s: after the script install says %q", backend, got)
		}
	}
}

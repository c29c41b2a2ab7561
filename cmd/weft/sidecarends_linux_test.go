package main

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/weftmesh/weft/cmd/weft/internal/demo"
)

// TestASidecarEndsAtOnce by both programs that are a sidecar's agent.
func TestASidecarEndsAtOnce(t *testing.T) {
	t.Parallel()
	agent := filepath.Join(t.TempDir(), "weft-agent")
	if out, err := exec.Command("go", "build", "-o", agent, "../weft-agent").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for name, path := range map[string]string{"weft": program(t), "weft-agent": agent} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sidecarEndsAtOnce(t, path)
		})
	}
}

// sidecarEndsAtOnce: the administration of a sidecar's Envoy has no port that other users of the host could
// reach; the first signal drains, for as long as that takes, and the second one ends the sidecar and its Envoy at
// once (findings 139 and 150).
func sidecarEndsAtOnce(t *testing.T, program string) {
	t.Helper()
	ports, err := demo.FreePorts(4)
	if err != nil {
		t.Fatal(err)
	}
	api, xds, readiness := fmt.Sprintf("127.0.0.1:%d", ports[0]), fmt.Sprintf("127.0.0.1:%d", ports[1]), fmt.Sprintf("127.0.0.1:%d", ports[3])
	serving(t, api, xds)
	commanded(t, "", "status", "--server", "http://"+api)
	file := filepath.Join(t.TempDir(), "web.yaml")
	text := fmt.Sprintf("type: Dataplane\nmesh: default\nname: web-1\nnetworking: {address: 127.0.0.1, inbound: [{port: %d, servicePort: 1, tags: {kuma.io/service: web, kuma.io/protocol: http}}]}\n", ports[2])
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c := exec.Command(program, "sidecar", "--xds", "http://"+xds, "--dataplane-file", file, "--readiness", readiness, "--drain-time", "1h")
	said := &strings.Builder{}
	c.Stderr = said
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { _ = c.Wait(); close(ended) }()
	t.Cleanup(func() { _ = c.Process.Kill(); <-ended })
	await(t, "it is ready", func() bool { return answersAt(readiness, "/readyz") })

	envoys := childrenOf(c.Process.Pid)
	if len(envoys) != 1 {
		t.Fatalf("its processes are %v", envoys)
	}
	if got := listensAt(t, envoys[0]); !slices.Equal(slices.Compact(got), []uint32{uint32(ports[2])}) {
		t.Errorf("Envoy listens at %v, and its one listener is at %d", got, ports[2])
	}

	if err := c.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	await(t, "it drains", func() bool { return !answersAt(readiness, "/readyz") })
	select {
	case <-ended:
		t.Fatalf("it ended at the first signal: %s", said)
	default:
	}
	if err := c.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	select {
	case <-ended:
	case <-time.After(20 * time.Second):
		t.Fatal("it goes on after the second signal")
	}
	if code := c.ProcessState.ExitCode(); code != 128+int(syscall.SIGINT) {
		t.Errorf("it ended with %d", code)
	}
	await(t, "its Envoy is gone", func() bool {
		state, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", envoys[0]))
		return err != nil || strings.Contains(string(state), ") Z ")
	})
}

// await waits until something is so.
func await(t *testing.T, what string, is func() bool) {
	t.Helper()
	for until := time.Now().Add(time.Minute); !is(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(until) {
			t.Fatalf("not in a minute: %s", what)
		}
	}
}

func answersAt(address, path string) bool {
	resp, err := (&http.Client{Timeout: time.Second, Transport: &http.Transport{DisableKeepAlives: true}}).Get("http://" + address + path)
	if err != nil {
		return false
	}
	_ = resp.Body.Close()
	return resp.StatusCode == http.StatusOK
}

// childrenOf are the processes that one has started.
func childrenOf(pid int) (out []int) {
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, file := range tasks {
		text, _ := os.ReadFile(file)
		for _, word := range strings.Fields(string(text)) {
			if n, err := strconv.Atoi(word); err == nil {
				out = append(out, n)
			}
		}
	}
	return out
}

// listensAt are the TCP ports at which a process listens, sorted.
func listensAt(t *testing.T, pid int) (out []uint32) {
	t.Helper()
	its := map[string]bool{}
	links, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	for _, link := range links {
		to, _ := os.Readlink(link)
		if inode, ok := strings.CutPrefix(to, "socket:["); ok {
			its[strings.TrimSuffix(inode, "]")] = true
		}
	}
	if len(its) == 0 {
		t.Fatalf("process %d has no sockets that can be seen", pid)
	}
	for _, file := range []string{"tcp", "tcp6"} {
		text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/net/%s", pid, file)) // there may be no IPv6
		for line := range strings.Lines(string(text)) {
			f := strings.Fields(line)
			const listening = "0A"
			if len(f) < 10 || f[3] != listening || !its[f[9]] {
				continue
			}
			_, hex, _ := strings.Cut(f[1], ":")
			port, err := strconv.ParseUint(hex, 16, 32)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, uint32(port))
		}
	}
	slices.Sort(out)
	return out
}

package telemetryload

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/weftmesh/weft/internal/envoytest"
)

// programs are weft and weft-agent, built for the measurement.
type programs struct{ weft, agent string }

func build(b testing.TB) programs {
	b.Helper()
	dir := envoytest.Dir(b)
	for _, name := range []string{"weft", "weft-agent"} {
		if out, err := exec.CommandContext(b.Context(), "go", "build", "-o", filepath.Join(dir, name), "github.com/weftmesh/weft/cmd/"+name).CombinedOutput(); err != nil {
			b.Fatalf("build %s: %v: %s", name, err, out)
		}
	}
	return programs{filepath.Join(dir, "weft"), filepath.Join(dir, "weft-agent")}
}

// start runs a program until the end of the measurement.
func start(b testing.TB, program string, args ...string) *exec.Cmd {
	b.Helper()
	c := exec.Command(program, args...)
	said, err := os.Create(filepath.Join(envoytest.Dir(b), "log"))
	if err != nil {
		b.Fatal(err)
	}
	c.Stdout, c.Stderr = said, said
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := c.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_ = syscall.Kill(-c.Process.Pid, syscall.SIGKILL)
		_ = c.Wait()
		if text, err := os.ReadFile(said.Name()); b.Failed() && err == nil {
			b.Logf("%s: %s", filepath.Base(program), text[max(0, len(text)-4000):])
		}
		_ = said.Close()
	})
	return c
}

// until waits for what is to become true.
func until(b testing.TB, what string, ok func() bool) {
	b.Helper()
	for end := time.Now().Add(2 * time.Minute); !ok(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			b.Fatalf("still not so: %s", what)
		}
	}
}

// post sends a document, or a question.
func post(b testing.TB, url, body string) {
	b.Helper()
	resp, err := http.Post(url, "application/yaml", strings.NewReader(body))
	if err != nil {
		b.Fatal(err)
	}
	defer resp.Body.Close()
	if text, _ := io.ReadAll(resp.Body); resp.StatusCode != http.StatusOK {
		b.Fatalf("%s: %s %s", url, resp.Status, text)
	}
}

// childOf is the one process that a process has started, by any of its threads.
func childOf(b testing.TB, pid int) (child int) {
	b.Helper()
	until(b, "there is an Envoy", func() bool {
		all, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid)) // the pattern is sound
		for _, file := range all {
			if text, err := os.ReadFile(file); err == nil && len(text) > 0 {
				child, _ = strconv.Atoi(strings.Fields(string(text))[0])
			}
		}
		return child != 0
	})
	return child
}

// controlPlane starts one with an empty store, and returns where people and sidecars find it.
func (p programs) controlPlane(b testing.TB) (api, xds string) {
	b.Helper()
	api, xds = envoytest.Address(b), envoytest.Address(b)
	start(b, p.weft, "serve", "--store", "memory", "--data-dir", envoytest.Dir(b), "--api", api, "--xds", xds, "--xds-plaintext", "--admin-auth", "none", "--dataplane-auth", "none", "--skip-default-policies")
	until(b, "the control plane is ready", func() bool { return status("http://"+api+"/readyz") == http.StatusOK })
	return api, xds
}

// cpu is how long the threads of a process have run so far.
func cpu(pid int) (total time.Duration) {
	all, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	for _, file := range all {
		text, err := os.ReadFile(file)
		if err != nil {
			continue // the thread has ended
		}
		ran, _ := strconv.ParseInt(strings.Fields(string(text))[0], 10, 64)
		total += time.Duration(ran)
	}
	return total
}

// resident is the memory of a process, in bytes.
func resident(pid int) float64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		return 0
	}
	pages, _ := strconv.ParseFloat(strings.Fields(string(text))[1], 64)
	return pages * float64(os.Getpagesize())
}

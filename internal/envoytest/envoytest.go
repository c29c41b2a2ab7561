// Package envoytest runs real Envoys for tests, and backends behind them.
//
// It promises that what it starts is gone when the test is over, that a missing
// Envoy fails the test instead of skipping it, and that nothing leaves
// loopback. An Envoy is found by WEFT_ENVOY, then on PATH, then in .tools of a
// directory above the test; WEFT_ENVOY=none leaves out what needs one.
package envoytest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// patience bounds every wait. It only costs time where something is broken, and on a
// busy machine an Envoy with thousands of listeners has taken 40 s to be live.
const patience = 2 * time.Minute

// without is what WEFT_ENVOY says where no test is to use an Envoy, as in `make check`.
const without = "none"

// Path finds the Envoy to test with.
func Path(t testing.TB) string {
	t.Helper()
	switch p := os.Getenv("WEFT_ENVOY"); p {
	case "":
	case without:
		t.Skip("WEFT_ENVOY=" + without + ": tests with a real Envoy are left out")
	default:
		return p
	}
	if p, err := exec.LookPath("envoy"); err == nil {
		return p
	}
	for dir, err := os.Getwd(); err == nil; dir = filepath.Dir(dir) {
		if p, ok := inTools(filepath.Join(dir, ".tools")); ok {
			return p
		}
		if dir == filepath.Dir(dir) {
			break
		}
	}
	t.Fatal("no Envoy: run `make tools`, or set WEFT_ENVOY to one")
	return ""
}

// inTools finds what `make tools` installs: a Python package around the binary.
func inTools(dir string) (string, bool) {
	for _, pattern := range []string{"envoy", "envoy/bin/envoy", "envoy/lib/python*/site-packages/envoy/_bin/envoy"} {
		found, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			continue
		}
		for _, p := range found {
			if info, err := os.Stat(p); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
				return p, true
			}
		}
	}
	return "", false
}

// Dir is a directory with a name short enough for unix sockets.
func Dir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "weft")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// Socket is the path of a unix socket that does not exist yet.
func Socket(t testing.TB) string {
	t.Helper()
	return filepath.Join(Dir(t), "s")
}

// Address is one on loopback, at a Port: for a server that comes back to it after a
// restart, which finds a port that the system chose taken by whoever connected
// somewhere meanwhile.
func Address(t testing.TB) string {
	t.Helper()
	return fmt.Sprintf("127.0.0.1:%d", Port(t))
}

// Validate asks Envoy whether it would start with bootstrap: nil, or its words.
func Validate(t testing.TB, bootstrap []byte) error {
	t.Helper()
	file := filepath.Join(Dir(t), "bootstrap.json")
	if err := os.WriteFile(file, bootstrap, 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	out, err := exec.CommandContext(ctx, Path(t), "--mode", "validate", "--use-dynamic-base-id", "--log-level", "error", "-c", file).CombinedOutput()
	if err != nil {
		return fmt.Errorf("envoy: %s", bytes.TrimSpace(out))
	}
	return nil
}

// Envoy is a running Envoy.
type Envoy struct {
	t     testing.TB
	admin *http.Client
	log   string
	out   string        // file of what it writes to stdout and stderr
	done  chan struct{} // closed when the process is gone
	cmd   *exec.Cmd
}

// Start runs an Envoy until the test ends. The bootstrap's administration
// interface is the unix socket admin. It returns once that interface answers,
// which may be before the Envoy has its configuration: see Ready.
func Start(t testing.TB, admin string, bootstrap []byte) *Envoy {
	t.Helper()
	dir := Dir(t)
	file, logFile := filepath.Join(dir, "bootstrap.json"), filepath.Join(dir, "log")
	if err := os.WriteFile(file, bootstrap, 0o600); err != nil {
		t.Fatal(err)
	}
	e := &Envoy{t: t, log: logFile, out: filepath.Join(dir, "out"), done: make(chan struct{}), admin: &http.Client{
		Timeout: patience,
		Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", admin)
		}},
	}}
	e.cmd = exec.Command(Path(t), "--use-dynamic-base-id", "--concurrency", "1", "--log-level", "warning", "--log-path", logFile, "-c", file)
	out, err := os.Create(e.out)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close() // the process has it too
	e.cmd.Stdout, e.cmd.Stderr = out, out
	if err := e.cmd.Start(); err != nil {
		t.Fatalf("start envoy: %v", err)
	}
	go func() {
		_ = e.cmd.Wait() // how it ended stands in its log
		close(e.done)
	}()
	t.Cleanup(e.Stop)
	e.Until("its administration interface answers", func() bool {
		_, _, err := e.Get("/ready")
		return err == nil
	})
	return e
}

// Stop kills the Envoy and waits until it is gone.
func (e *Envoy) Stop() {
	_ = e.cmd.Process.Kill() // it may be gone already
	<-e.done
	e.admin.CloseIdleConnections()
}

// PID is the process.
func (e *Envoy) PID() int { return e.cmd.Process.Pid }

// Log is what the Envoy has said so far.
func (e *Envoy) Log() string {
	b, err := os.ReadFile(e.log)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

// Output is what the Envoy has written to stdout and stderr so far: access logs, if they go there.
func (e *Envoy) Output() string {
	b, err := os.ReadFile(e.out)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

// Until polls until cond holds, and fails the test if it does not in time or
// the Envoy ends.
func (e *Envoy) Until(what string, cond func() bool) {
	e.t.Helper()
	deadline := time.Now().Add(patience)
	for !cond() {
		select {
		case <-e.done:
			e.t.Fatalf("envoy ended before %s:\n%s", what, e.Log())
		case <-time.After(5 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			e.t.Fatalf("waited %v until %s; envoy says:\n%s", patience, what, e.Log())
		}
	}
}

// Ready waits until the Envoy has its first configuration and serves it.
func (e *Envoy) Ready() *Envoy {
	e.t.Helper()
	e.Until("envoy is live", func() bool {
		status, _, err := e.Get("/ready")
		return err == nil && status == http.StatusOK
	})
	return e
}

// Get asks the administration interface.
func (e *Envoy) Get(path string) (status int, body []byte, err error) {
	return e.ask(http.MethodGet, path)
}

// Post tells the administration interface to do something.
func (e *Envoy) Post(path string) (status int, body []byte, err error) {
	return e.ask(http.MethodPost, path)
}

func (e *Envoy) ask(method, path string) (int, []byte, error) {
	q, err := http.NewRequest(method, "http://envoy"+path, nil)
	if err != nil {
		return 0, nil, err
	}
	resp, err := e.admin.Do(q)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return resp.StatusCode, body, err
}

// Dump is the answer of /config_dump with endpoints, as JSON.
func (e *Envoy) Dump() string {
	e.t.Helper()
	_, body, err := e.Get("/config_dump?include_eds")
	if err != nil {
		e.t.Fatal(err)
	}
	return string(body)
}

// Stats are the counters and gauges whose names begin with prefix.
func (e *Envoy) Stats(prefix string) map[string]int {
	e.t.Helper()
	_, body, err := e.Get("/stats?format=json")
	if err != nil {
		e.t.Fatal(err)
	}
	var answer struct {
		Stats []struct {
			Name  string
			Value json.RawMessage // some are texts
		}
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		e.t.Fatal(err)
	}
	out := map[string]int{}
	for _, s := range answer.Stats {
		if n, err := strconv.Atoi(string(s.Value)); err == nil && strings.HasPrefix(s.Name, prefix) {
			out[s.Name] = n
		}
	}
	return out
}

//go:build long

package control_test

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/pprof"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/weftmesh/weft/control"
	"github.com/weftmesh/weft/internal/envoytest"
)

// TestLoadRotationWhileOneIsFrozen is case 36 of spec/identity.md 8 at its rate and to its end, 500
// calls a second by five protocols: a root is replaced until no certificate of the old one holds,
// while a sidecar, agent and Envoy, stands still. It holds the rotation up for as long as its
// certificate lives, and no longer; awake again, with one that has ended, it has to come back by
// itself.
//
// The first certificates are made by a clock that is behind, so that that of the sidecar which is
// frozen ends while the test runs. Later the clock leaps once, over the end of the last certificate of
// the old root; by then nobody has one of these, and those of the new root still hold.
func TestLoadRotationWhileOneIsFrozen(t *testing.T) {
	const (
		life   = 10 * time.Minute       // of certificates of the first root
		behind = life - 75*time.Second  // by how much the clock is as the first ones are made
		leap   = life*5/4 + 2*time.Hour // what is reserved for the old root, the leeway of clocks, and some
	)
	var clock hands
	clock.forward(-behind)
	p := secure(t, discard(), func(c *control.Config) {
		c.RotationSpread, c.Now = time.Second, clock.now
	})
	defer p.stop()
	first := leavesOf("10m")
	documents, _, outbounds := meshOf(t, "web", "cold")
	p.want(http.StatusOK, http.MethodPost, "/_apply", documents+allowed+fmt.Sprintf(mutual, "ca-1", first))
	p.sidecar("api-1", p.dataplaneToken("api-1", ""), discard())
	p.sidecar("web-1", p.dataplaneToken("web-1", ""), discard())
	cold := p.program("cold-1", p.dataplaneToken("cold-1", ""))
	defer p.saysOnFailure()
	for _, who := range []string{"web", "cold"} {
		eventually(t, who+" calls as itself", func() bool { return comesTo(t, spoken, outbounds[who], "URI=spiffe://default/"+who) })
	}
	phase := func() string { is, _ := p.Phase(); return is }
	eventually(t, "the first root is in use", func() bool { return phase() == "Steady" })
	load := startTraffic(t, 100, everyProtocol(t, outbounds["web"]))
	load.goOn("before", 300)
	began := time.Now()
	cold.signal(syscall.SIGSTOP)
	clock.forward(behind) // the others get certificates that hold for long
	p.want(http.StatusOK, http.MethodPost, "/_apply", fmt.Sprintf(mutual, "ca-2", first+", {name: ca-2, type: builtin}"))
	eventually(t, "the new root is to be trusted", func() bool { return phase() == "Trusting" })
	load.goOn("while one is frozen", 1000)
	if is := phase(); is != "Trusting" {
		t.Errorf("it is %s, and one sidecar does not trust the new root", is)
	}
	p.comesTo(phase, "Settling", load)
	t.Logf("the new root signs for all %v after one was frozen", time.Since(began).Round(time.Second))
	load.goOn("with the new root", 500)
	clock.forward(leap)
	p.comesTo(phase, "Steady", load)
	load.goOn("after the leaves of the old root have ended", 1000)
	clock.forward(-leap) // so that what is signed holds already
	cold.signal(syscall.SIGCONT)
	eventually(t, "who was frozen calls as itself", func() bool { return comesTo(t, spoken, outbounds["cold"], "URI=spiffe://default/cold") })
	load.goOn("when all are awake", 300)
	load.end()
	for kind, s := range load.kinds {
		t.Logf("%s: %d of %d calls failed", kind, s.failed.Load(), s.sent.Load())
	}
}

// saysOnFailure logs what is known of the mesh where the test has failed, and what everybody waits for.
func (p *plane) saysOnFailure() {
	if p.t.Failed() {
		var stacks strings.Builder
		_ = pprof.Lookup("goroutine").WriteTo(&stacks, 1)
		p.t.Log(stacks.String())
		p.t.Logf("%s\n%s", p.want(http.StatusOK, http.MethodGet, "/meshes/default/_mtls", ""), p.want(http.StatusOK, http.MethodGet, "/meshes/default/_status", ""))
	}
}

// comesTo waits until a rotation has come to a phase; while a frozen sidecar is still thought to be
// connected that takes longer than other things.
func (p *plane) comesTo(phase func() string, want string, load *traffic) {
	p.t.Helper()
	for end := time.Now().Add(4 * time.Minute); phase() != want; time.Sleep(20 * time.Millisecond) {
		for kind, s := range load.kinds {
			if s.failed.Load() > 0 {
				p.t.Fatalf("%s: a call by %s failed with %s", phase(), kind, *s.first.Load())
			}
		}
		if time.Now().After(end) {
			p.t.Fatalf("it is %s, want %s", phase(), want)
		}
	}
}

// program is a sidecar that runs as a program of its own.
type program struct {
	*exec.Cmd
	t *testing.T
}

// program starts a sidecar until the test ends.
func (p *plane) program(name, token string) *program {
	t := p.t.(*testing.T)
	t.Helper()
	dir := envoytest.Dir(t)
	weft, file := filepath.Join(dir, "weft"), filepath.Join(dir, "token")
	if out, err := exec.Command("go", "build", "-o", weft, "github.com/weftmesh/weft/cmd/weft").CombinedOutput(); err != nil {
		t.Fatalf("build: %v: %s", err, out)
	}
	if err := os.WriteFile(file, []byte(token), 0o600); err != nil {
		t.Fatal(err)
	}
	s := &program{exec.Command(weft, "sidecar", "--xds", "https://"+p.XDS(), "--name", name, "--token-file", file, "--ca-file", filepath.Join(p.dir, "ca.pem"),
		"--envoy", envoytest.Path(t), "--drain-time", "0s", "--readiness", "127.0.0.1:0"), t}
	var log journal
	s.Stderr = &log
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.signal(syscall.SIGCONT)
		_ = s.Process.Signal(syscall.SIGTERM) // it may be gone already
		_ = s.Wait()
		if t.Failed() {
			t.Logf("%s wrote:\n%s", name, log.String())
		}
	})
	return s
}

// signal sends one to the agent and to its Envoy.
func (s *program) signal(sig syscall.Signal) {
	s.t.Helper()
	lists, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", s.Process.Pid))
	if err != nil {
		s.t.Fatal(err)
	}
	pids := []int{s.Process.Pid}
	for _, list := range lists {
		text, err := os.ReadFile(list)
		if err != nil {
			continue // a thread that has ended
		}
		for _, child := range strings.Fields(string(text)) {
			pid, err := strconv.Atoi(child)
			if err != nil {
				s.t.Fatal(err)
			}
			pids = append(pids, pid)
		}
	}
	for _, pid := range pids {
		_ = syscall.Kill(pid, sig) // it may be gone already
	}
	if sig == syscall.SIGSTOP && len(pids) < 2 {
		s.t.Fatal("the sidecar has no Envoy")
	}
}

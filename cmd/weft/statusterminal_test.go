//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"github.com/weftmesh/weft/cmd/internal/cli"
	"github.com/weftmesh/weft/internal/envoytest"
	"github.com/weftmesh/weft/sidecar/agent"
)

// waiter is a `weft status --wait`, which ends by itself.
type waiter struct {
	*exec.Cmd
	out, errs *strings.Builder // of what is no terminal
}

// waits runs one, on a terminal or, where there is none, elsewhere.
func waits(t *testing.T, server string, p *pseudo, flags ...string) waiter {
	t.Helper()
	w := waiter{exec.Command(program(t), append([]string{"status", "--server", server, "--wait"}, flags...)...), &strings.Builder{}, &strings.Builder{}}
	w.Env = append(os.Environ(), "TERM=xterm", "NO_COLOR=")
	if w.Stdout, w.Stderr = w.out, w.errs; p != nil {
		w.Stdin, w.Stdout, w.Stderr = p.slave, p.slave, p.slave
	}
	if err := w.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Process.Kill() })
	return w
}

// ends is the status with which it ends.
func (w waiter) ends(t *testing.T) int {
	t.Helper()
	var failed *exec.ExitError
	if err := w.Wait(); err != nil && !errors.As(err, &failed) {
		t.Fatal(err)
	}
	return w.ProcessState.ExitCode()
}

// TestStatusShowsHowFarItIs: who waits at a terminal sees a bar that fills as sidecars come, in
// one line that is gone when the answer is printed, and the status says whether all came in time.
// What is no terminal gets the answer alone, and no control characters.
func TestStatusShowsHowFarItIs(t *testing.T) {
	t.Parallel()
	api, xds := fmt.Sprintf("127.0.0.1:%d", envoytest.Port(t)), fmt.Sprintf("127.0.0.1:%d", envoytest.Port(t))
	serving(t, api, xds)
	server := "http://" + api
	var documents strings.Builder
	for _, name := range []string{"web-1", "web-2"} {
		fmt.Fprintf(&documents, "---\n{type: Dataplane, mesh: default, name: %s, networking: {address: 127.0.0.1, inbound: [{port: %d, tags: {kuma.io/service: web}}]}}\n", name, envoytest.Port(t))
	}
	a := &asked{t: t, server: server}
	a.weft("", "status", "--wait", "1m")
	a.weft(documents.String(), "apply", "-f", "-")

	p := openPseudo(t, 60, 30)
	late, silent, quiet := waits(t, server, p, "1s", "--expect", "2"), waits(t, server, nil, "2m", "--expect", "2"), waits(t, server, nil, "1s", "--expect", "2")
	p.shows(t, 0, "after 1s: 0 of 2 expected sidecars are in sync")
	if status := late.ends(t); status != cli.StatusFailed {
		t.Errorf("what did not come in time is status %d", status)
	}
	if status := quiet.ends(t); status != cli.StatusFailed || !strings.Contains(quiet.errs.String(), "after 1s: 0 of 2") {
		t.Errorf("elsewhere it is status %d\n%s", status, quiet.errs)
	}

	p = openPseudo(t, 60, 30)
	w := waits(t, server, p, "2m", "--expect", "2")
	at := p.shows(t, 0, "\r\x1b[K[····················] 0/2  0 of 2 expected sidecars")
	joins(t, xds, "web-1")
	at = p.shows(t, at, "\r\x1b[K[██████████··········] 1/2  1 of 2 expected sidecars")
	joins(t, xds, "web-2")
	p.shows(t, at, "\r\x1b[Kmesh default, revision ")
	if status := w.ends(t); status != cli.StatusDone {
		t.Errorf("when all are in sync it is status %d", status)
	}
	p.inOneLine(t, p.shows(t, at, "2 in sync, 0 behind"))

	if status := silent.ends(t); status != cli.StatusDone || silent.errs.Len() > 0 {
		t.Errorf("elsewhere it is status %d, and says %q", status, silent.errs)
	}
	for _, text := range []string{silent.out.String(), quiet.out.String(), quiet.errs.String()} {
		if i := strings.IndexFunc(text, func(r rune) bool { return unicode.IsControl(r) && r != '\n' }); i >= 0 || strings.Contains(text, "█") {
			t.Errorf("what is no terminal gets %q", text[max(i, 0):])
		}
	}
	if !regexp.MustCompile(`^mesh default, revision \d+: 2 dataplanes, 2 in sync`).MatchString(silent.out.String()) {
		t.Errorf("it answers\n%s", silent.out)
	}
}

// inOneLine fails where bars that are drawn until end are more than a line, or stay there when the
// answer is printed.
func (p *pseudo) inOneLine(t *testing.T, end int) {
	t.Helper()
	p.mu.Lock()
	drawn := p.drawn.String()[:end]
	p.mu.Unlock()
	bars := strings.Split(drawn[:strings.Index(drawn, "mesh default")], "\r\x1b[K")
	for _, bar := range bars[1:] {
		if n := len([]rune(bar)); n >= 60 || strings.ContainsAny(bar, "\n\x1b") {
			t.Errorf("a bar of %d columns on a terminal of 60: %q", n, bar)
		}
	}
	if last := bars[len(bars)-1]; last != "" {
		t.Errorf("before the answer %q stays on its line", last)
	}
}

// joins starts the sidecar of a dataplane, with a real Envoy.
func joins(t *testing.T, xds, name string) {
	t.Helper()
	conf := agent.Default()
	conf.XDS, conf.Name, conf.Envoy, conf.DrainTime, conf.Concurrency = "http://"+xds, name, envoytest.Path(t), 0, 1
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- agent.New(conf, slog.New(slog.DiscardHandler)).Run(ctx) }()
	t.Cleanup(func() { stop(); <-ended })
}

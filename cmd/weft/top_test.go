//go:build linux

package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"golang.org/x/term"

	"github.com/weftmesh/weft/cmd/internal/cli"
	"github.com/weftmesh/weft/cmd/weft/internal/demo"
)

// pseudo is a terminal of so many columns and rows, and what a program has drawn on it.
type pseudo struct {
	slave, master *os.File

	mu    sync.Mutex
	drawn bytes.Buffer
}

func openPseudo(t *testing.T, columns, rows int) *pseudo {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	fd := int(master.Fd())
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		err = unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: uint16(rows), Col: uint16(columns)})
	}
	if err != nil {
		t.Fatal(err)
	}
	slave, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	p := &pseudo{slave: slave, master: master}
	t.Cleanup(func() { _ = slave.Close(); _ = master.Close() })
	go func() {
		some := make([]byte, 4096)
		for {
			n, err := master.Read(some)
			if err != nil {
				return
			}
			p.mu.Lock()
			p.drawn.Write(some[:n])
			p.mu.Unlock()
		}
	}()
	return p
}

// shows waits until a text is drawn after that which was there at a place, and says where
// all ends that is drawn by then.
func (p *pseudo) shows(t *testing.T, after int, text string) int {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		p.mu.Lock()
		all := p.drawn.String()
		p.mu.Unlock()
		if strings.Contains(all[after:], text) {
			return len(all)
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	t.Fatalf("%q is not drawn; the last of it is %q", text, p.drawn.String()[max(p.drawn.Len()-2000, 0):])
	return 0
}

// serving starts a control plane that asks nobody who he is, and yields how to end it.
func serving(t *testing.T, api, xds string) func() {
	t.Helper()
	return served(t, "--store", "memory", "--data-dir", t.TempDir(), "--api", api, "--xds", xds, "--xds-plaintext", "--dataplane-auth", "none", "--admin-auth", "none")
}

// served starts a control plane and yields how to end it.
func served(t *testing.T, flags ...string) func() {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	c := exec.CommandContext(ctx, program(t), append([]string{"serve"}, flags...)...)
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	end := sync.OnceFunc(func() { stop(); _ = c.Wait() })
	t.Cleanup(end)
	return end
}

// TestTopIsLive: on a real terminal a change shows without anybody asking, a control plane
// that went away shows, its successor too, and q leaves the terminal as it was.
func TestTopIsLive(t *testing.T) {
	t.Parallel()
	ports, err := demo.FreePorts(2)
	if err != nil {
		t.Fatal(err)
	}
	api, xds := fmt.Sprintf("127.0.0.1:%d", ports[0]), fmt.Sprintf("127.0.0.1:%d", ports[1])
	end := serving(t, api, xds)
	p := openPseudo(t, 160, 30)
	before, err := term.GetState(int(p.slave.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(program(t), "top", "--server", "http://"+api)
	c.Stdin, c.Stdout, c.Stderr = p.slave, p.slave, p.slave
	c.Env = append(os.Environ(), "TERM=xterm", "NO_COLOR=")
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Process.Kill(); _ = c.Wait() })
	at := p.shows(t, 0, "\x1b[32mlive")
	apply := func(name string) {
		t.Helper()
		var out bytes.Buffer
		text := "type: MeshTimeout\nmesh: default\nname: " + name + "\nspec: {to: [{targetRef: {kind: Mesh}, default: {connectionTimeout: 3s}}]}\n"
		if status := run(t.Context(), []string{"apply", "--server", "http://" + api, "-f", "-"}, strings.NewReader(text), &out, &out); status != cli.StatusDone {
			t.Fatal(out.String())
		}
	}
	apply("seen")
	at = p.shows(t, at, "MeshTimeout/default/seen created")
	end()
	at = p.shows(t, at, "no answer")
	serving(t, api, xds)
	at = p.shows(t, at, "\x1b[32mlive")
	apply("again")
	at = p.shows(t, at, "MeshTimeout/default/again created")
	if _, err := p.master.WriteString("q"); err != nil {
		t.Fatal(err)
	}
	p.shows(t, at, "\x1b[?1049l")
	if err := c.Wait(); err != nil {
		t.Errorf("q ends it with %v", err)
	}
	after, err := term.GetState(int(p.slave.Fd()))
	if err != nil || *after != *before {
		t.Errorf("the terminal is %v, was %v, %v", after, before, err)
	}
}

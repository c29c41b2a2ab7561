package kubetest

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// process is a program that runs until the test ends.
type process struct {
	t    testing.TB
	name string
	log  string
	cmd  *exec.Cmd
	done chan struct{} // closed when it is gone
}

func run(t testing.TB, on host, dir, name string, flags ...string) *process {
	t.Helper()
	p := &process{t: t, name: name, log: filepath.Join(dir, name+".log"), done: make(chan struct{})}
	log, err := os.OpenFile(p.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600) // it may run for the second time
	if err != nil {
		t.Fatal(err)
	}
	p.cmd = on.command(Binary(t, name), flags...)
	p.cmd.Stdout, p.cmd.Stderr = log, log
	if err := p.cmd.Start(); err != nil {
		t.Fatalf("start %s: %v", name, err)
	}
	log.Close()
	go func() {
		_ = p.cmd.Wait() // how it ended stands in its log
		close(p.done)
	}()
	t.Cleanup(p.kill)
	return p
}

// kill ends the process, and waits until it is gone.
func (p *process) kill() {
	_ = p.cmd.Process.Kill() // it may be gone already
	<-p.done
}

// until polls until cond holds, and fails the test if it does not in time or the process
// ends.
func (p *process) until(what string, cond func() bool) {
	p.t.Helper()
	for deadline := time.Now().Add(patience); !cond(); {
		select {
		case <-p.done:
			p.t.Fatalf("%s ended before %s:\n%s", p.name, what, p.said())
		case <-time.After(20 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			p.t.Fatalf("%s: waited %v until %s:\n%s", p.name, patience, what, p.said())
		}
	}
}

// said is the end of its log.
func (p *process) said() string {
	b, err := os.ReadFile(p.log)
	if err != nil {
		return err.Error()
	}
	return string(b[max(len(b)-8<<10, 0):])
}

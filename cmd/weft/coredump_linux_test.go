package main

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"syscall"
	"testing"
	"time"
)

// nobody is who runs a program where the test is root: whose the files of /proc are tells
// something of programs of other users alone.
const nobody = 65534

// TestNoCoreDump: neither the control plane nor the agent of a sidecar, which hold keys, leaves its
// memory anywhere. The files in /proc of a process that cannot be dumped belong to root, whoever
// runs it.
func TestNoCoreDump(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("", "weft-core") // that of a test is for its user alone
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	weft, data := filepath.Join(dir, "weft"), filepath.Join(dir, "data")
	var as *syscall.Credential
	err = errors.Join(os.Chmod(dir, 0o755), copyOfThis(weft), os.Mkdir(data, 0o700))
	if os.Getuid() == 0 {
		as = &syscall.Credential{Uid: nobody, Gid: nobody}
		err = errors.Join(err, os.Chown(data, nobody, nobody))
	}
	if err != nil {
		t.Fatal(err)
	}
	for what, args := range map[string][]string{
		"serve":   {"serve", "--store", "memory", "--data-dir", data, "--api", "127.0.0.1:0", "--xds", "127.0.0.1:0"},
		"sidecar": {"sidecar", "--xds", "http://127.0.0.1:9", "--name", "web-1", "--envoy", "/bin/true"},
	} {
		ctx, stop := context.WithTimeout(t.Context(), time.Minute)
		defer stop()
		cmd := exec.CommandContext(ctx, weft, args...)
		cmd.Dir, cmd.SysProcAttr = data, &syscall.SysProcAttr{Credential: as}
		logs, err := cmd.StderrPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(logs)
		if !lines.Scan() { // it is at work by its first line
			t.Errorf("%s says nothing", what)
		}
		at := "/proc/" + strconv.Itoa(cmd.Process.Pid)
		limits, err := os.ReadFile(at + "/limits")
		if err != nil || !regexp.MustCompile(`Max core file size +0 +0 `).Match(limits) {
			t.Errorf("%s: %v\n%s", what, err, limits)
		}
		info, err := os.Stat(at + "/maps")
		if err != nil || info.Sys().(*syscall.Stat_t).Uid != 0 {
			t.Errorf("%s can be dumped: %v, %s", what, err, lines.Text())
		}
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
}

// copyOfThis makes a program of this one, which is weft where it is called so.
func copyOfThis(path string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	from, err := os.Open(self)
	if err != nil {
		return err
	}
	defer from.Close()
	syscall.ForkLock.RLock() // a process that another test starts meanwhile would hold the file, which could not be executed
	defer syscall.ForkLock.RUnlock()
	to, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o755)
	if err != nil {
		return err
	}
	_, err = io.Copy(to, from)
	return errors.Join(err, to.Close())
}

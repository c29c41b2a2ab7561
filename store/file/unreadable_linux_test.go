package file_test

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/weftmesh/weft/store/file"
)

// asAnyone runs f without the right of root to read everything. The right is
// one of the thread, to which f is bound.
func asAnyone(t *testing.T, f func()) {
	t.Helper()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	head := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var had [2]unix.CapUserData
	if err := unix.Capget(&head, &had[0]); err != nil {
		t.Fatal(err)
	}
	without := had
	without[0].Effective &^= 1<<unix.CAP_DAC_OVERRIDE | 1<<unix.CAP_DAC_READ_SEARCH
	if err := unix.Capset(&head, &without[0]); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := unix.Capset(&head, &had[0]); err != nil {
			t.Error(err)
		}
	}()
	f()
}

func mode(t *testing.T, path string, m os.FileMode) {
	t.Helper()
	if err := os.Chmod(path, m); err != nil {
		t.Fatal(err)
	}
}

func TestADirectoryThatCannotBeReadKeepsWhatItSaid(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	sub := filepath.Join(dir, "sub")
	put(t, dir, "a.yaml", service("a", 1))
	put(t, dir, "sub/deep/b.yaml", service("b", 2))
	into := empty()
	feed(t, dir, into)
	d := file.NewDir(dir, readText)
	scan(t, d)
	mode(t, sub, 0)
	defer mode(t, sub, 0o700)
	asAnyone(t, func() {
		if !scan(t, d) || scan(t, d) {
			t.Error("it is not news, or news all the time")
		}
		got, errors := content(d)
		if got != "a=1 b=2" || len(errors) != 1 || errors[0].File != sub || !strings.Contains(errors[0].Message, "right to read") {
			t.Errorf("%s, %v", got, errors)
		}
		if feed(t, dir, into); !has(t, into, "b") {
			t.Error("a new process took away what it could not see")
		}
		if _, err := file.Texts(dir); err == nil || !strings.Contains(err.Error(), sub) {
			t.Errorf("a list that lacks files: %v", err)
		}
	})
	mode(t, sub, 0o700)
	if err := os.RemoveAll(sub + "/deep"); err != nil {
		t.Fatal(err)
	}
	scan(t, d)
	if got, errors := content(d); got != "a=1" || len(errors) > 0 {
		t.Errorf("when it can be read again: %s, %v", got, errors)
	}
}

func TestAFileThatCannotBeReadKeepsWhatItSaid(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "a.yaml")
	for name, c := range map[string]struct {
		spoil   func() error
		problem string
	}{
		"no right":       {func() error { return os.Chmod(path, 0) }, "right to read"},
		"a pipe":         {func() error { _ = os.Remove(path); return unix.Mkfifo(path, 0o600) }, "not a regular file"},
		"beyond measure": {func() error { return os.Truncate(path, file.Largest+1) }, "64 MiB"},
	} {
		_ = os.Remove(path)
		put(t, dir, "a.yaml", service("a", 1))
		into := empty()
		feed(t, dir, into)
		d := file.NewDir(dir, readText)
		scan(t, d)
		if err := c.spoil(); err != nil {
			t.Fatal(err)
		}
		asAnyone(t, func() {
			scan(t, d)
			if got, errors := content(d); got != "a=1" || len(errors) != 1 || !strings.Contains(errors[0].Message, c.problem) {
				t.Errorf("%s: %s, %v", name, got, errors)
			}
			if feed(t, dir, into); !has(t, into, "a") {
				t.Errorf("%s: a new process took it away", name)
			}
			if _, err := file.Texts(dir); err == nil || !strings.Contains(err.Error(), c.problem) {
				t.Errorf("%s: it was read, %v", name, err)
			}
		})
	}
}

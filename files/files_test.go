package files

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

func names(t *testing.T, dir string) (all []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return all
}

func text(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestAFileIsReplacedAndCreated(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "state")
	for _, c := range []struct {
		do   func() error
		want string
		mode fs.FileMode
		err  error
	}{
		{func() error { return Create(path, []byte("one"), 0o600) }, "one", 0o600, nil},
		{func() error { return Create(path, []byte("two"), 0o644) }, "one", 0o600, fs.ErrExist},
		{func() error { return Replace(path, []byte("three"), 0o644) }, "three", 0o644, nil},
		{func() error { return Replace(path, []byte("four"), 0o600) }, "four", 0o600, nil},
	} {
		if err := c.do(); !errors.Is(err, c.err) {
			t.Errorf("error %v, want %v", err, c.err)
		}
		info, err := os.Stat(path)
		if err != nil || text(t, path) != c.want || info.Mode() != c.mode {
			t.Errorf("%s %v, %v; want %s %v", text(t, path), info.Mode(), err, c.want, c.mode)
		}
	}
	if left := names(t, dir); len(left) != 1 {
		t.Errorf("left behind: %q", left)
	}
}

// What returns without an error is on the disk: the text before it has its name, the name after.
func TestTheTextIsSyncedBeforeItsNameAndTheDirectoryAfter(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "state")
	if err := os.WriteFile(path, []byte("former"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, with := range map[string]func(from, to string) error{"rename": os.Rename, "link": func(from, to string) error {
		return errors.Join(os.Remove(to), os.Link(from, to))
	}} {
		var steps []string
		d := disk{func(f *os.File) error {
			what := "file"
			if f.Name() == dir {
				what = "directory"
			}
			steps = append(steps, "sync "+what)
			return f.Sync()
		}}
		err := d.put(path, Private, written([]byte("new")), func(from, to string) error {
			steps = append(steps, "name")
			return with(from, to)
		})
		if want := []string{"sync file", "name", "sync directory"}; err != nil || !slices.Equal(steps, want) {
			t.Errorf("%s: %q, %v; want %q", name, steps, err, want)
		}
	}
}

func TestAFileThatCannotBeSyncedKeepsTheFormer(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "state")
	if err := os.WriteFile(path, []byte("former"), 0o600); err != nil {
		t.Fatal(err)
	}
	d := disk{func(*os.File) error { return syscall.EIO }}
	if err := d.put(path, Private, written([]byte("new")), os.Rename); !errors.Is(err, syscall.EIO) {
		t.Errorf("error %v", err)
	}
	if got := text(t, path); got != "former" || len(names(t, dir)) != 1 {
		t.Errorf("%q, and there are %q", got, names(t, dir))
	}
}

func TestADirectoryThatCannotBeSyncedIsAnError(t *testing.T) {
	t.Parallel()
	for fault, want := range map[syscall.Errno]error{syscall.EIO: syscall.EIO, syscall.ENOSPC: syscall.ENOSPC, syscall.EINVAL: nil, syscall.ENOTSUP: nil} {
		dir := t.TempDir()
		path := filepath.Join(dir, "state")
		d := disk{func(f *os.File) error {
			if f.Name() == dir {
				return fault
			}
			return f.Sync()
		}}
		err := d.put(path, Private, written([]byte("new")), os.Rename)
		if !errors.Is(err, want) {
			t.Errorf("%v: error %v, want %v", fault, err, want)
		}
		if err != nil && !strings.Contains(err.Error(), path+" is written, but may be lost") {
			t.Errorf("%v: %v", fault, err)
		}
	}
}

func TestAWriterThatFailsLeavesNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	broken := errors.New("broken")
	err := CreateFrom(filepath.Join(dir, "export"), 0o600, func(to io.Writer) error {
		_, err := io.WriteString(to, "half")
		return errors.Join(err, broken)
	})
	if !errors.Is(err, broken) || len(names(t, dir)) != 0 {
		t.Errorf("%v, and there are %q", err, names(t, dir))
	}
}

func TestDirectoriesAreMade(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "a", "b")
	for range 2 {
		if err := MakeDir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", info, err)
	}
	if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := MakeDir(filepath.Join(dir, "file", "c"), 0o700); !errors.Is(err, syscall.ENOTDIR) {
		t.Errorf("below a file: %v", err)
	}
}

const inSmallDisk = "WEFT_TEST_SMALL_DISK"

// Some file systems, such as those of USB sticks, have no hard links.
func TestAFileIsCreatedWithoutHardLinks(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "state")
	for _, want := range []error{nil, fs.ErrExist} {
		err := onDisk.put(path, Private, written([]byte("new")), func(from, to string) error {
			return linkOr(&os.LinkError{Op: "link", Err: syscall.EPERM}, from, to)
		})
		if !errors.Is(err, want) || text(t, path) != "new" || len(names(t, dir)) != 1 {
			t.Errorf("%v, %q, and there are %q; want %v", err, text(t, path), names(t, dir), want)
		}
	}
}

// A full disk: a file system of 64 KiB, mounted for this test in a namespace of its own.
func TestOnAFullDiskTheFormerStays(t *testing.T) {
	t.Parallel()
	if dir := os.Getenv(inSmallDisk); dir != "" {
		onSmallDisk(t, dir)
		return
	}
	cmd := exec.Command(os.Args[0], "-test.run", "^"+t.Name()+"$", "-test.v")
	cmd.Env = append(os.Environ(), inSmallDisk+"="+t.TempDir())
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}}, GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}}}
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS") {
		t.Fatalf("%v\n%s", err, out)
	}
}

func onSmallDisk(t *testing.T, dir string) {
	if err := syscall.Mount("weft", dir, "tmpfs", 0, "size=64k"); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "state")
	if err := Replace(path, []byte("former"), 0o600); err != nil {
		t.Fatal(err)
	}
	large := make([]byte, 256<<10)
	for name, do := range map[string]func() error{
		"replace": func() error { return Replace(path, large, 0o600) },
		"create":  func() error { return Create(path+"2", large, 0o600) },
	} {
		if err := do(); !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("%s: %v", name, err)
		}
		if got := fmt.Sprint(names(t, dir), " ", text(t, path)); got != "[state] former" {
			t.Errorf("%s: %s", name, got)
		}
	}
	if err := Replace(path, []byte("new"), 0o600); err != nil || text(t, path) != "new" {
		t.Errorf("with space again: %v, %s", err, text(t, path))
	}
}

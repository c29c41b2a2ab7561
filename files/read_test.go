package files

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// Nobody ever writes the pipe or answers at the socket: a reader that waited would never return.
func TestOnlyRegularFilesAreRead(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	if err := errors.Join(
		os.WriteFile(at("file"), []byte("text"), 0o600),
		os.WriteFile(at("large"), make([]byte, 4097), 0o600),
		os.Symlink("file", at("link")),
		syscall.Mkfifo(at("pipe"), 0o600),
		os.Symlink("pipe", at("piped")),
		os.Mkdir(at("dir"), 0o700),
	); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", at("socket"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for name, want := range map[string]string{
		"file": "", "link": "",
		"pipe": "is a named pipe, not a regular file", "piped": "is a named pipe, not a regular file",
		"dir": "is a directory, not a regular file", "socket": "is a socket, not a regular file",
		"large": "has more than the 4 KiB that are read",
		"none":  "no such file",
	} {
		got, err := Read(at(name), 4096)
		if want == "" && (err != nil || string(got) != "text") {
			t.Errorf("%s: %q, %v", name, got, err)
		}
		if want != "" && (err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), at(name))) {
			t.Errorf("%s: %v", name, err)
		}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	if got, err := ReadIn(root, "link", 4096); err != nil || string(got) != "text" {
		t.Errorf("below a root: %q, %v", got, err)
	}
	for _, name := range []string{"pipe", "piped", "dir", "../x"} {
		if _, err := ReadIn(root, name, 4096); err == nil {
			t.Errorf("below a root %s is read", name)
		}
	}
	if _, err := Read("/dev/zero", 4096); err == nil || !strings.Contains(err.Error(), "is a device") {
		t.Errorf("/dev/zero: %v", err)
	}
	var other *NotRegularError
	if _, err := Read(at("pipe"), 1); !errors.As(err, &other) || other.Path != at("pipe") {
		t.Errorf("the error is %T", err)
	}
}

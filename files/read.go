package files

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// The most that is read of a file.
const (
	MostSecret   = 1 << 20  // a key, a token, a certificate with its chain, a setting
	MostDocument = 64 << 20 // documents, and what is kept of a whole mesh
)

// NotRegularError says that a path names something that is no regular file.
type NotRegularError struct {
	Path string
	Mode fs.FileMode
}

func (e *NotRegularError) Error() string {
	return fmt.Sprintf("%s is %s, not a regular file; name a file, or a symbolic link to one", e.Path, kindOf(e.Mode))
}

func kindOf(mode fs.FileMode) string {
	switch {
	case mode.IsDir():
		return "a directory"
	case mode&fs.ModeNamedPipe != 0:
		return "a named pipe"
	case mode&fs.ModeSocket != 0:
		return "a socket"
	case mode&fs.ModeDevice != 0:
		return "a device"
	}
	return "something else"
}

// ReadIn is Read below a root, and nowhere else, wherever links lead.
func ReadIn(root *os.Root, name string, most int64) ([]byte, error) {
	f, err := openRegular(name, root.Stat, root.OpenFile)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return ReadFrom(f, most)
}

// Read reads a regular file of at most so many bytes, and waits for nobody to write it.
func Read(path string, most int64) ([]byte, error) {
	f, err := OpenRegular(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return ReadFrom(f, most)
}

// OpenRegular opens a regular file to read it. Whatever else is there is neither waited for
// nor read: opening a device or a pipe may already do something.
func OpenRegular(path string) (*os.File, error) { return openRegular(path, os.Stat, os.OpenFile) }

func openRegular(path string, stat func(string) (fs.FileInfo, error), open func(string, int, fs.FileMode) (*os.File, error)) (*os.File, error) {
	info, err := stat(path)
	if err != nil {
		return nil, err
	}
	if err := regular(path, info); err != nil {
		return nil, err
	}
	f, err := open(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // it may be another thing by now
	if err != nil {
		return nil, err
	}
	if info, err = f.Stat(); err == nil {
		err = regular(path, info)
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

// ReadFrom reads what is left of an open file, if that is at most so many bytes.
func ReadFrom(f *os.File, most int64) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(f, most+1))
	if err != nil {
		return nil, err
	}
	if int64(len(text)) > most {
		return nil, fmt.Errorf("%s has more than the %d KiB that are read of such a file", f.Name(), most>>10)
	}
	return text, nil
}

func regular(path string, info fs.FileInfo) error {
	if !info.Mode().IsRegular() {
		return &NotRegularError{path, info.Mode()}
	}
	return nil
}

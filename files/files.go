// Package files writes files that last, and reads files that somebody else names.
//
// What is written is there whole or not at all, with the mode that it was given from its
// first byte on, and is on the disk when the function returns: the text is synced before it
// gets its name, and the directory after. A directory that cannot be synced is an error: the
// new text may then be there, and may be gone after a loss of power.
//
// What is read is a regular file of a bounded size. A pipe, a device or a socket in its place
// is refused at once instead of being waited for.
package files

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// Private is the mode of what only its owner reads.
const Private fs.FileMode = 0o600

// Replace puts a text in the place of a file, which holds the former or the new one at any
// moment, or makes the file.
func Replace(path string, text []byte, mode fs.FileMode) error {
	return onDisk.put(path, mode, written(text), os.Rename)
}

// Create makes a file that is not there yet. Where the path is taken the error is fs.ErrExist,
// and what is there stays.
func Create(path string, text []byte, mode fs.FileMode) error {
	return CreateFrom(path, mode, written(text))
}

// CreateFrom is Create for a text that is written piece by piece. Of a failure nothing is left.
func CreateFrom(path string, mode fs.FileMode, write func(io.Writer) error) error {
	if _, err := os.Lstat(path); err == nil { // before a long text is written for nothing
		return &fs.PathError{Op: "create", Path: path, Err: fs.ErrExist}
	}
	return onDisk.put(path, mode, write, func(from, to string) error {
		return linkOr(os.Link(from, to), from, to) // unlike a rename it replaces nothing
	})
}

// linkOr takes the name and renames where a file system has no hard links.
func linkOr(err error, from, to string) error {
	if !errors.Is(err, syscall.EPERM) && !errors.Is(err, syscall.ENOTSUP) && !errors.Is(err, syscall.ENOSYS) {
		return err
	}
	taken, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, Private)
	if err != nil {
		return err
	}
	return errors.Join(taken.Close(), os.Rename(from, to))
}

// MakeDir makes a directory and those above it that are missing; the ones it made last.
func MakeDir(path string, mode fs.FileMode) error {
	var made []string
	for at := filepath.Clean(path); ; at = filepath.Dir(at) {
		if _, err := os.Stat(at); !errors.Is(err, fs.ErrNotExist) || at == filepath.Dir(at) {
			break
		}
		made = append(made, at)
	}
	if err := os.MkdirAll(path, mode); err != nil {
		return err
	}
	for _, one := range made {
		if err := SyncDir(filepath.Dir(one)); err != nil {
			return err
		}
	}
	return nil
}

// SyncDir makes the names in a directory last.
func SyncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(onDisk.syncDir(d), d.Close())
}

func written(text []byte) func(io.Writer) error {
	return func(to io.Writer) error {
		_, err := to.Write(text)
		return err
	}
}

// disk is what makes things last; tests have one that fails.
type disk struct {
	sync func(*os.File) error
}

var onDisk = disk{(*os.File).Sync}

// put writes a file beside the path and gives it its name there.
func (d disk) put(path string, mode fs.FileMode, write func(io.Writer) error, name func(from, to string) error) error {
	dir, err := os.Open(filepath.Dir(path)) // first: what could not be made to last is not begun
	if err != nil {
		return err
	}
	defer dir.Close()
	f, err := os.CreateTemp(dir.Name(), "."+filepath.Base(path)+"-") // new, of mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // the other name of what is linked, and what failed
	err = write(f)
	if err == nil && mode != Private {
		err = f.Chmod(mode)
	}
	if err == nil {
		err = d.sync(f)
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err := name(f.Name(), path); err != nil {
		return err
	}
	if err := d.syncDir(dir); err != nil {
		return fmt.Errorf("%s is written, but may be lost when the machine stops: %w", path, err)
	}
	return nil
}

// syncDir passes over file systems that keep names without being asked, and know no other answer.
func (d disk) syncDir(dir *os.File) error {
	err := d.sync(dir)
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOTSUP) {
		return nil
	}
	return err
}

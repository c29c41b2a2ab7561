// Package secret keeps secrets in files: keys and tokens of the data directory.
//
// It promises that a file appears whole or not at all, that nobody but its owner
// can read what it makes, and that it uses nothing that others could have read.
// What is there it never overwrites or repairs, but where Replace is asked to:
// people decide about secrets.
package secret

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/weftmesh/weft/files"
)

// Load reads the secret of a file. Where there is none it keeps what create makes.
func Load(path string, create func() ([]byte, error)) ([]byte, error) {
	text, err := Read(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return text, err
	}
	if text, err = create(); err != nil {
		return nil, err
	}
	if err := files.MakeDir(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("make the directory of a secret: %w", err)
	}
	err = Create(path, text, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return Read(path) // another process was first
	}
	return text, err
}

// New makes a secret: 32 random bytes, in hexadecimal digits.
func New() ([]byte, error) {
	b := make([]byte, 32)
	if _, err := rand.Read(b); err != nil {
		return nil, err
	}
	return []byte(hex.EncodeToString(b) + "\n"), nil
}

// Read refuses a file that others can read, and one that is empty, as a loss of
// power leaves it.
func Read(path string) ([]byte, error) {
	f, err := files.OpenRegular(path)
	if err != nil {
		return nil, fmt.Errorf("read a secret: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("read a secret: %w", err)
	}
	if mode := info.Mode().Perm(); mode&0o077 != 0 {
		return nil, fmt.Errorf("%s: others can read or change it (mode %04o); run `chmod 600 %s`, or remove it and start again if they may have done so", path, mode, path)
	}
	if info.Size() == 0 {
		return nil, fmt.Errorf("%s: it is empty, as after a loss of power; restore it from a backup, or remove it and start again to have a new one made", path)
	}
	text, err := files.ReadFrom(f, files.MostSecret)
	if err != nil {
		return nil, fmt.Errorf("read a secret: %w", err)
	}
	return text, nil
}

// Create makes a file that is not there yet: whole, on the disk, or not at all.
// Where the path is taken the error is fs.ErrExist.
func Create(path string, text []byte, mode fs.FileMode) error {
	if err := files.Create(path, text, mode); err != nil {
		return fmt.Errorf("keep a secret: %w", err)
	}
	return nil
}

// Replace puts another text into the place of a file, which holds the former or the other one at
// any moment.
func Replace(path string, text []byte) error {
	if err := files.Replace(path, text, files.Private); err != nil {
		return fmt.Errorf("replace a secret: %w", err)
	}
	return nil
}

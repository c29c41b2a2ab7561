package file

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// extensions are those of files that hold documents.
var extensions = map[string]bool{".yaml": true, ".yml": true, ".json": true}

// IsDocument reports whether a file of that name holds documents. Hidden files
// do not: editors and Kubernetes keep their own there.
func IsDocument(name string) bool {
	base := filepath.Base(name)
	return !strings.HasPrefix(base, ".") && extensions[filepath.Ext(base)]
}

// List is every document file below dir, in the order of their paths. Links to
// files are followed, links to directories are not, so that no circle can
// arise. A directory that cannot be read is an error.
func List(dir string) ([]string, error) {
	t, err := look(dir)
	if err != nil {
		return nil, err
	}
	var errs []error
	for _, path := range slices.Sorted(maps.Keys(t.unread)) {
		errs = append(errs, unreadable(path, t.unread[path]))
	}
	return t.files, errors.Join(errs...)
}

// tree is what a look at a directory found.
type tree struct {
	files  []string         // that hold documents
	dirs   []string         // the directory itself included
	unread map[string]error // directories that may hold more than was found
}

// look walks a directory. What vanishes meanwhile is not there; what is there
// and cannot be read is no reason to think that it is empty.
func look(dir string) (tree, error) {
	t := tree{unread: map[string]error{}}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil && path == dir:
			return err
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			t.unread[path] = err
		case e.IsDir() && path != dir && strings.HasPrefix(e.Name(), "."):
			return filepath.SkipDir
		case e.IsDir():
			t.dirs = append(t.dirs, path)
		case IsDocument(path):
			t.files = append(t.files, path)
		}
		return nil
	})
	if err != nil {
		return tree{}, fmt.Errorf("read the directory %s: %w", dir, err)
	}
	return t, nil
}

// Largest is how many bytes a file of documents may have: as many as one apply.
const Largest = 64 << 20

var (
	errIrregular = errors.New("it is no regular file, so it is not read; give it a name without .yaml, .yml and .json, or remove it")
	errTooLarge  = fmt.Errorf("it has more than %d MiB; split it into several files", Largest>>20)
)

// Read reads a document file of a directory. It opens none that could keep it
// waiting, and takes in none without bound.
func Read(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	return read(path, info)
}

func read(path string, info fs.FileInfo) ([]byte, error) {
	switch {
	case !info.Mode().IsRegular():
		return nil, &fs.PathError{Op: "read", Path: path, Err: errIrregular}
	case info.Size() > Largest:
		return nil, &fs.PathError{Op: "read", Path: path, Err: errTooLarge}
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, Largest+1)) // it may grow while it is read
	if err == nil && len(text) > Largest {
		err = &fs.PathError{Op: "read", Path: path, Err: errTooLarge}
	}
	return text, err
}

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
	"syscall"

	"github.com/weftmesh/weft/api/decode"
)

// extensions are those of files that hold documents.
var extensions = map[string]bool{".yaml": true, ".yml": true, ".json": true}

// IsDocument reports whether a file of that name holds documents. Hidden files
// do not: editors and Kubernetes keep their own there.
func IsDocument(name string) bool {
	base := filepath.Base(name)
	return !strings.HasPrefix(base, ".") && extensions[filepath.Ext(base)]
}

// Texts are the document files below dir, in the order of their paths. Links to
// files are followed within dir, links to directories are not, so that no circle
// can arise. What cannot be read is an error.
func Texts(dir string) ([]decode.Text, error) {
	root, err := openRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	t, err := look(root, dir)
	if err != nil {
		return nil, err
	}
	var errs []error
	for _, path := range slices.Sorted(maps.Keys(t.unread)) {
		errs = append(errs, unreadable(path, t.unread[path]))
	}
	var texts []decode.Text
	for _, f := range t.files {
		text, _, err := read(root, f)
		switch path := filepath.Join(dir, f); {
		case errors.Is(err, errDirectory), errors.Is(err, fs.ErrNotExist):
		case err != nil:
			errs = append(errs, unreadable(path, err))
		default:
			texts = append(texts, decode.Text{File: path, Text: text})
		}
	}
	return texts, errors.Join(errs...)
}

// openRoot opens a directory, of which nothing outside can be reached.
func openRoot(dir string) (*os.Root, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("read the directory %s: %w", dir, err)
	}
	return root, nil
}

// tree is what a look at a directory found.
type tree struct {
	files  []string         // that may hold documents, by their paths below the directory
	dirs   []string         // the directory itself included
	unread map[string]error // directories that may hold more than was found
}

// look walks the directory root, which people know as dir. What vanishes
// meanwhile is not there; what is there and cannot be read is no reason to think
// that it is empty.
func look(root *os.Root, dir string) (tree, error) {
	t := tree{unread: map[string]error{}}
	err := fs.WalkDir(root.FS(), ".", func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil && path == ".":
			return err
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			t.unread[filepath.Join(dir, path)] = err
		case e.IsDir() && path != "." && strings.HasPrefix(e.Name(), "."):
			return filepath.SkipDir
		case e.IsDir():
			t.dirs = append(t.dirs, filepath.Join(dir, path))
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
	errIrregular = errors.New("it is not a regular file, so it is not read; give it a name without .yaml, .yml and .json, or remove it")
	errTooLarge  = fmt.Errorf("it has more than %d MiB; split it into several files", Largest>>20)
	errLeaves    = errors.New("it is a link that leaves the directory, so it is not read; put the file itself here, or make it a relative link to a file of this directory")
	errDirectory = errors.New("it is a link to a directory")
)

// read reads a document file of a directory and tells its state before that. It
// waits for nobody, and takes in none without bound.
func read(root *os.Root, path string) ([]byte, fs.FileInfo, error) {
	if _, err := stat(root, path); err != nil {
		return nil, nil, err
	}
	f, err := root.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // it may have become a pipe
	if err != nil {
		return nil, nil, inside(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err == nil {
		err = readable(info)
	}
	if err != nil {
		return nil, nil, err
	}
	text, err := io.ReadAll(io.LimitReader(f, Largest+1)) // it may grow while it is read
	if err == nil && len(text) > Largest {
		err = errTooLarge
	}
	return text, info, err
}

// stat is the state of a file that can be read.
func stat(root *os.Root, path string) (fs.FileInfo, error) {
	info, err := root.Stat(path)
	if err != nil {
		return nil, inside(err)
	}
	return info, readable(info)
}

func readable(info fs.FileInfo) error {
	switch {
	case info.IsDir():
		return errDirectory
	case !info.Mode().IsRegular():
		return errIrregular
	case info.Size() > Largest:
		return errTooLarge
	}
	return nil
}

// inside turns the refusal of a root to be left, the only one that the operating
// system does not make, into one that people can act on.
func inside(err error) error {
	var system syscall.Errno
	if !errors.As(err, &system) {
		return errLeaves
	}
	return err
}

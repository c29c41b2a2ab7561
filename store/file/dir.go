// Package file reads documents from a directory and follows what happens to it.
//
// It promises that a bad document stops nothing: the others are served, and of
// a document that was good before, its last good version stays until the file
// says something valid again. It keeps nothing itself and never writes into
// the directory.
package file

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/weftmesh/weft/api"
)

// Decode reads the documents of one file: the sound ones and what is wrong
// with the others. A violation names its object where the text still tells.
type Decode func(file string, text []byte) ([]*api.Object, []*api.Violation)

// extensions are those of files that hold documents.
var extensions = map[string]bool{".yaml": true, ".yml": true, ".json": true}

// IsDocument reports whether a file of that name holds documents. Hidden files
// do not: editors and Kubernetes keep their own there.
func IsDocument(name string) bool {
	base := filepath.Base(name)
	return !strings.HasPrefix(base, ".") && extensions[filepath.Ext(base)]
}

// List is every document file below dir, in the order of their paths, and
// every directory, dir included. Links to files are followed, links to
// directories are not, so that no circle can arise.
func List(dir string) (files, dirs []string, err error) {
	err = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil && path == dir:
			return err
		case err != nil:
			return nil // it vanished while we walked
		case e.IsDir() && path != dir && strings.HasPrefix(e.Name(), "."):
			return filepath.SkipDir
		case e.IsDir():
			dirs = append(dirs, path)
		case IsDocument(path):
			files = append(files, path)
		}
		return nil
	})
	if err != nil {
		return nil, nil, fmt.Errorf("read the directory %s: %w", dir, err)
	}
	return files, dirs, nil
}

// stamp tells whether a file may have changed since it was read.
type stamp struct {
	size     int64
	modified time.Time
}

// held is what one file said when it was last read.
type held struct {
	stamp      stamp
	text       []byte
	objects    []*api.Object // sound ones, and last good versions of the others
	violations []*api.Violation
}

// Dir is what a directory says. It is not for concurrent use.
type Dir struct {
	path   string
	decode Decode
	files  map[string]*held
	dirs   []string
}

// NewDir is the directory at path, not read yet.
func NewDir(path string, decode Decode) *Dir {
	return &Dir{path: path, decode: decode, files: map[string]*held{}}
}

// Scan reads what changed since the last scan and reports whether anything did.
func (d *Dir) Scan() (bool, error) {
	files, dirs, err := List(d.path)
	if err != nil {
		return false, err
	}
	d.dirs = dirs
	changed := false
	for _, f := range files {
		c, err := d.scan(f)
		if err != nil {
			return false, err
		}
		changed = changed || c
	}
	there := make(map[string]bool, len(files))
	for _, f := range files {
		there[f] = true
	}
	for f := range d.files {
		if !there[f] {
			delete(d.files, f)
			changed = true
		}
	}
	return changed, nil
}

// stampOf is the stamp of a file as read at now. A file that was written a
// moment ago may be written again within one tick of its clock: its stamp
// proves nothing yet.
func stampOf(info fs.FileInfo, now time.Time) stamp {
	if now.Sub(info.ModTime()) < time.Second {
		return stamp{}
	}
	return stamp{info.Size(), info.ModTime()}
}

func (d *Dir) scan(path string) (bool, error) {
	before := d.files[path]
	info, err := os.Stat(path)
	if err == nil && info.IsDir() {
		return false, nil
	}
	if err == nil && before != nil && before.stamp == (stamp{info.Size(), info.ModTime()}) {
		return false, nil
	}
	now := time.Now()
	var text []byte
	if err == nil {
		text, err = os.ReadFile(path)
	}
	switch {
	case errors.Is(err, os.ErrNotExist):
		delete(d.files, path)
		return before != nil, nil
	case err != nil:
		return d.unreadable(path, before, err), nil
	case before != nil && before.text != nil && bytes.Equal(before.text, text):
		before.stamp = stampOf(info, now)
		return false, nil
	}
	objects, violations := d.decode(path, text)
	d.files[path] = &held{stampOf(info, now), text, keepLastGood(before, objects, violations), violations}
	return true, nil
}

// unreadable keeps what the file said and makes its failure a problem.
func (d *Dir) unreadable(path string, before *held, err error) bool {
	v := &api.Violation{Position: api.Position{File: path}, Code: "Unreadable", Severity: api.Error,
		Message: fmt.Sprintf("%v; give this process the right to read it", errors.Unwrap(err))}
	h := &held{violations: []*api.Violation{v}}
	if before != nil {
		h.objects = before.objects
		if len(before.violations) == 1 && before.violations[0].Message == v.Message {
			return false
		}
	}
	d.files[path] = h
	return true
}

// keepLastGood adds to the sound objects those that the file had before and
// that are not sound now. Where a violation cannot say whose it is, everything
// that is missing may be its victim.
func keepLastGood(before *held, objects []*api.Object, violations []*api.Violation) []*api.Object {
	if before == nil {
		return objects
	}
	broken, anyone := map[api.Ref]bool{}, false
	for _, v := range violations {
		if v.Severity != api.Error {
			continue
		}
		broken[v.Object] = true
		anyone = anyone || v.Object.Name == ""
	}
	sound := map[api.Ref]bool{}
	for _, o := range objects {
		sound[o.Ref] = true
	}
	for _, o := range before.objects {
		if !sound[o.Ref] && (anyone || broken[o.Ref]) {
			objects = append(objects, o)
		}
	}
	return objects
}

// Content is everything that the directory says now: of two documents with one
// name the one in the first file stands, and the other is a violation.
func (d *Dir) Content() ([]*api.Object, []*api.Violation) {
	paths := make([]string, 0, len(d.files))
	for p := range d.files {
		paths = append(paths, p)
	}
	slices.Sort(paths)
	var objects []*api.Object
	var violations []*api.Violation
	first := map[api.Ref]*api.Object{}
	for _, p := range paths {
		violations = append(violations, d.files[p].violations...)
		for _, o := range d.files[p].objects {
			if f := first[o.Ref]; f != nil {
				violations = append(violations, Duplicate(f, o))
				continue
			}
			first[o.Ref] = o
			objects = append(objects, o)
		}
	}
	slices.SortStableFunc(violations, func(a, b *api.Violation) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return objects, violations
}

// Duplicate is the violation of a second document with the name of first.
func Duplicate(first, second *api.Object) *api.Violation {
	at := func(o *api.Object) api.Position {
		return api.Position{File: o.Source.File, Line: o.Source.Line, Column: 1}
	}
	return &api.Violation{Position: at(second), Object: second.Ref, Field: "name", Code: "Duplicate", Severity: api.Error,
		Message: fmt.Sprintf("%s stands here and at %s; keep one of them", second.Ref, at(first))}
}

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
	"maps"
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
	unread map[string]*api.Violation // directories that cannot be read
}

// NewDir is the directory at path, not read yet.
func NewDir(path string, decode Decode) *Dir {
	return &Dir{path: path, decode: decode, files: map[string]*held{}}
}

// Scan reads what changed since the last scan and reports whether anything did.
func (d *Dir) Scan() (bool, error) {
	t, err := look(d.path)
	if err != nil {
		return false, err
	}
	d.dirs = t.dirs
	changed := d.see(t.unread)
	there := make(map[string]bool, len(t.files))
	for _, f := range t.files {
		there[f] = true
		changed = d.scan(f) || changed
	}
	for f := range d.files {
		if !there[f] && !d.hidden(f) {
			delete(d.files, f)
			changed = true
		}
	}
	return changed, nil
}

// see notes which directories cannot be read and reports whether that is new.
func (d *Dir) see(unread map[string]error) bool {
	before := d.unread
	d.unread = make(map[string]*api.Violation, len(unread))
	for path, err := range unread {
		d.unread[path] = unreadable(path, err)
		d.unread[path].Message += "; what was read below it before stays"
	}
	return !maps.EqualFunc(before, d.unread, func(a, b *api.Violation) bool { return a.Message == b.Message })
}

// hidden reports whether a file lies in a directory that cannot be read.
func (d *Dir) hidden(file string) bool {
	for dir := range d.unread {
		if strings.HasPrefix(file, dir+string(filepath.Separator)) {
			return true
		}
	}
	return false
}

// doubts reports whether an object that the directory does not say, and that
// came from it once, may be there all the same: in what cannot be read, or
// broken.
func (d *Dir) doubts(o *api.Object) bool {
	if d.hidden(o.Source.File) {
		return true
	}
	h := d.files[o.Source.File]
	return h != nil && spoils(h.violations)(o.Ref)
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

// scan reads one file, if it may have changed, and reports whether it did.
func (d *Dir) scan(path string) bool {
	before := d.files[path]
	info, err := os.Stat(path)
	if err == nil && info.IsDir() {
		return false
	}
	if err == nil && before != nil && before.stamp == (stamp{info.Size(), info.ModTime()}) {
		return false
	}
	now := time.Now()
	var text []byte
	if err == nil {
		text, err = read(path, info)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		delete(d.files, path)
		return before != nil
	case err != nil:
		return d.keep(path, before, unreadable(path, err))
	case before != nil && before.text != nil && bytes.Equal(before.text, text):
		before.stamp = stampOf(info, now)
		return false
	}
	objects, violations := d.decode(path, text)
	d.files[path] = &held{stampOf(info, now), text, keepLastGood(before, objects, violations), violations}
	return true
}

// unreadable is the violation of what is there and cannot be read.
func unreadable(path string, err error) *api.Violation {
	v := &api.Violation{Position: api.Position{File: path}, Code: "Unreadable", Severity: api.Error, Message: err.Error()}
	var at *fs.PathError
	if errors.As(err, &at) { // its path is the violation's
		v.Message = at.Err.Error()
	}
	if errors.Is(err, fs.ErrPermission) {
		v.Message += "; give this process the right to read it"
	}
	return v
}

// keep keeps what a file said beside the violation that it is now.
func (d *Dir) keep(path string, before *held, v *api.Violation) bool {
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
	spoiled := spoils(violations)
	sound := map[api.Ref]bool{}
	for _, o := range objects {
		sound[o.Ref] = true
	}
	for _, o := range before.objects {
		if !sound[o.Ref] && spoiled(o.Ref) {
			objects = append(objects, o)
		}
	}
	return objects
}

// spoils tells which objects the violations of a file may have kept out of it.
func spoils(violations []*api.Violation) func(api.Ref) bool {
	broken, anyone := map[api.Ref]bool{}, false
	for _, v := range violations {
		if v.Severity == api.Error {
			broken[v.Object] = true
			anyone = anyone || v.Object.Name == ""
		}
	}
	return func(r api.Ref) bool { return anyone || broken[r] }
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
	violations := slices.Collect(maps.Values(d.unread))
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

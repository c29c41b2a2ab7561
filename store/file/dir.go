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

// held is what one file said when it was last read.
type held struct {
	stamp      stamp
	text       []byte
	objects    []*api.Object // sound ones
	kept       []*api.Object // last good versions of those that are not
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

// Remember takes objects for what their files said when they were last sound,
// as if it had been read before the process began.
func (d *Dir) Remember(objects ...*api.Object) {
	for _, o := range objects {
		h := d.files[o.Source.File]
		if h == nil {
			h = &held{}
			d.files[o.Source.File] = h
		}
		h.kept = append(h.kept, o)
	}
}

// Scan reads what changed since the last scan and reports whether anything did.
func (d *Dir) Scan() (bool, error) {
	root, err := openRoot(d.path)
	if err != nil {
		return false, err
	}
	defer root.Close()
	t, err := look(root, d.path)
	if err != nil {
		return false, err
	}
	d.dirs = t.dirs
	changed := d.see(t.unread)
	there := make(map[string]bool, len(t.files))
	for _, f := range t.files {
		there[filepath.Join(d.path, f)] = true
		changed = d.scan(root, f) || changed
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

// scan reads one file, if it may have changed, and reports whether it did.
func (d *Dir) scan(root *os.Root, name string) bool {
	path := filepath.Join(d.path, name)
	before := d.files[path]
	now := time.Now()
	if info, err := stat(root, name); err == nil && before != nil && before.stamp != (stamp{}) && before.stamp == stampOf(info, now) {
		return false
	}
	text, info, err := read(root, name)
	switch {
	case errors.Is(err, errDirectory), errors.Is(err, fs.ErrNotExist):
		delete(d.files, path)
		return before != nil
	case err != nil:
		return d.keep(path, before, unreadable(path, err))
	case before != nil && before.text != nil && bytes.Equal(before.text, text):
		before.stamp = stampOf(info, now)
		return false
	}
	objects, violations := d.decode(path, text)
	if had := before.all(); len(objects) == 0 && len(violations) == 0 && len(had) > 0 {
		violations = []*api.Violation{emptied(path, len(had))}
	}
	d.files[path] = &held{stampOf(info, now), text, objects, lastGood(before, objects, violations), violations}
	return true
}

// emptied is the violation of a file that held documents and holds none: what
// writes it may not be done, or have failed.
func emptied(path string, documents int) *api.Violation {
	return &api.Violation{Position: api.Position{File: path}, Code: "Empty", Severity: api.Error,
		Message: fmt.Sprintf("the file is empty, and what it held stays in force (documents: %d); write it again, or remove the file to remove it", documents)}
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
	if before != nil && len(before.violations) == 1 && before.violations[0].Message == v.Message {
		return false
	}
	d.files[path] = &held{kept: before.all(), violations: []*api.Violation{v}}
	return true
}

// all is everything that holds of a file.
func (h *held) all() []*api.Object {
	if h == nil {
		return nil
	}
	return slices.Concat(h.objects, h.kept)
}

// lastGood are the objects that the file had before and that are not sound now.
// Where a violation cannot say whose it is, everything that is missing may be
// its victim.
func lastGood(before *held, objects []*api.Object, violations []*api.Violation) []*api.Object {
	spoiled := affectedBy(violations)
	sound := map[api.Ref]bool{}
	for _, o := range objects {
		sound[o.Ref] = true
	}
	return slices.DeleteFunc(before.all(), func(o *api.Object) bool { return sound[o.Ref] || !spoiled(o.Ref) })
}

// affectedBy tells which objects the violations of a file may have kept out of it.
func affectedBy(violations []*api.Violation) func(api.Ref) bool {
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
// name the one in the first file stands, and the other is a violation. The last
// good version of one that is not sound gives way to a sound one in any file.
func (d *Dir) Content() ([]*api.Object, []*api.Violation) {
	var objects []*api.Object
	violations := slices.Collect(maps.Values(d.unread))
	first := map[api.Ref]*api.Object{}
	paths := slices.Sorted(maps.Keys(d.files))
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
	for _, p := range paths {
		for _, o := range d.files[p].kept {
			if first[o.Ref] == nil {
				first[o.Ref] = o
				objects = append(objects, o)
			}
		}
	}
	slices.SortStableFunc(objects, func(a, b *api.Object) int { return cmp.Compare(a.Source.File, b.Source.File) })
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

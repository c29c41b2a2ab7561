package world

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/decode"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/api/syntax"
	"github.com/weftmesh/weft/api/unsupported"
	"github.com/weftmesh/weft/control/admission"
	"github.com/weftmesh/weft/store/file"
)

// Reading is what was read: the sound documents, and what is wrong or doubtful
// about any of them.
type Reading struct {
	Documents  int // sound or not
	Objects    []*api.Object
	Refused    []*api.Object    // those with errors, as far as they could be read
	Violations []*api.Violation // in the order of their places
	Texts      []decode.Text    // as they are, by their names
	Empty      []string         // what was named and holds no document
	// Rewritten says what ReadOlder changed, and what has no form today.
	Rewritten []*api.Violation
}

// emptiness is something without documents as people know it.
func emptiness(path string, texts []decode.Text, dir bool) string {
	switch {
	case !dir && path == "-":
		return "standard input"
	case dir && len(texts) == 0:
		return path + " (no file that ends in .yaml, .yml or .json)"
	case dir && len(texts) == 1:
		return path + " (1 file)"
	case dir:
		return fmt.Sprintf("%s (%d files)", path, len(texts))
	}
	return path
}

// Read reads files, directories with all that is below them, and stdin for the
// name "-". An invalid document stays out and stops nothing; a file that
// cannot be read is an error. Nothing at all is decode.ErrNoDocuments, with the
// names of what was read.
func Read(stdin io.Reader, paths ...string) (Reading, error) { return read(stdin, nil, paths...) }

// ReadOlder is Read where documents of older forms are rewritten first. What was changed
// of them are violations too: of severity Info, or Error where a part has no form today.
func ReadOlder(stdin io.Reader, paths ...string) (Reading, error) {
	kinds := map[string]decode.Migration{}
	var found []*api.Violation
	for _, d := range Readable() {
		for kind, rewrite := range d.Rewriters {
			kinds[kind] = func(doc map[string]any, at func(api.Path) api.Position) ([]map[string]any, bool) {
				ref := named(kind, doc)
				today, changes := rewrite(doc)
				for _, c := range changes {
					v := &api.Violation{Position: at(c.Field), Object: ref, Field: c.Field, Code: "OlderForm", Message: c.Message, Severity: api.Info}
					if c.Dropped {
						v.Code, v.Severity = "NoFormToday", api.Error
					}
					found = append(found, v)
				}
				return today, len(changes) > 0
			}
		}
	}
	r, err := read(stdin, kinds, paths...)
	r.Rewritten = found
	for _, v := range r.Violations {
		if v.Code == unsupported.CodeForeignKind && kinds[v.Object.Kind] != nil { // it is no document of another program here
			v.Code, v.Message = "NoFormToday", "what is wrong with it keeps it from being read; correct that"
		}
	}
	return r, err
}

// named is the ref of a document as it is written.
func named(kind string, doc map[string]any) api.Ref {
	meta, _ := doc["metadata"].(map[string]any)
	name, _ := meta["name"].(string)
	namespace, _ := meta["namespace"].(string)
	return api.Ref{Kind: kind, Mesh: api.DefaultMesh, Namespace: namespace, Name: name}
}

func read(stdin io.Reader, kinds map[string]decode.Migration, paths ...string) (Reading, error) {
	var r Reading
	sources := make([]source, len(paths))
	for i, path := range paths {
		texts, dir, err := Open(stdin, path)
		if err != nil {
			return Reading{}, err
		}
		sources[i] = source{path, texts, dir}
		r.Texts = append(r.Texts, texts...)
	}
	var err error
	texts := r.Texts
	if kinds != nil {
		texts = decode.Rewritten(kinds, texts...)
	}
	r.Objects, r.Refused, err = decode.All(catalog, texts...)
	r.Violations = api.Violations(err)
	r.Documents = count(r.Objects, r.Violations)
	if kinds == nil {
		var found []*api.Violation
		r.Objects, found = admission.WithSidecars(snapshot.New(0), r.Objects)
		r.Violations = append(r.Violations, found...)
		r.refuse(found)
	}
	for _, s := range sources {
		if !s.holds(r) {
			r.Empty = append(r.Empty, emptiness(s.path, s.texts, s.dir))
		}
	}
	if r.Documents == 0 {
		return r, fmt.Errorf("%s: %w", strings.Join(r.Empty, ", "), syntax.ErrNoDocuments)
	}
	return r, nil
}

// refuse takes objects out that have one of the violations, where it is an error.
func (r *Reading) refuse(found []*api.Violation) {
	bad := map[api.Ref]bool{}
	for _, v := range found {
		bad[v.Object] = bad[v.Object] || v.Severity == api.Error
	}
	r.Objects = slices.DeleteFunc(r.Objects, func(o *api.Object) bool {
		if bad[o.Ref] {
			r.Refused = append(r.Refused, o)
		}
		return bad[o.Ref]
	})
}

// source is what one argument names.
type source struct {
	path  string
	texts []decode.Text
	dir   bool
}

// holds reports whether a source holds any document, sound or not.
func (s source) holds(r Reading) bool {
	files := map[string]bool{}
	for _, t := range s.texts {
		files[t.File] = true
	}
	return slices.ContainsFunc(r.Objects, func(o *api.Object) bool { return files[o.Source.File] }) ||
		slices.ContainsFunc(r.Violations, func(v *api.Violation) bool { return files[v.File] })
}

// Decode reads the documents of one text.
func Decode(name string, text []byte) ([]*api.Object, []*api.Violation) {
	return Settings{}.decode(name, text)
}

func (s Settings) decode(name string, text []byte) ([]*api.Object, []*api.Violation) {
	objects, err := decode.Objects(s.Catalog(), name, text)
	if errors.Is(err, syntax.ErrNoDocuments) {
		return nil, nil
	}
	return objects, api.Violations(err)
}

// DecodeDir is Decode for a file of a directory that is loaded as a whole: a
// kind that weft lacks is a warning there, because the directory may be meant
// for others too.
func (s Settings) DecodeDir(name string, text []byte) ([]*api.Object, []*api.Violation) {
	objects, _, err := decode.Within(decode.Bounds{Mistakes: mostInFile, All: true}, s.Catalog(), decode.Text{File: name, Text: text})
	if errors.Is(err, syntax.ErrNoDocuments) {
		return nil, nil
	}
	violations := api.Violations(err)
	WarnOfUnsupportedKinds(violations)
	return objects, violations
}

// mostInFile is how many mistakes of one file of a directory are kept: what is said of them takes
// many times their room.
const mostInFile = 1000

// WarnOfUnsupportedKinds makes a warning of each kind that Kuma has and weft lacks, for documents
// that are only looked at: storing part of them may leave out what protects.
func WarnOfUnsupportedKinds(violations []*api.Violation) {
	for _, v := range violations {
		if v.Code == unsupported.CodeUnsupportedKind && unsupported.Kind(v.Object.Kind) {
			v.Severity = api.Warning
		}
	}
}

// WarnOfOthers is WarnOfUnsupportedKinds, and of the documents of other programs too: those that may
// protect have a warning each, and the others one together, at the first of them.
func WarnOfOthers(violations []*api.Violation) []*api.Violation {
	WarnOfUnsupportedKinds(violations)
	var out []*api.Violation
	var first *api.Violation
	counts := map[string]int{}
	for _, v := range violations {
		switch {
		case v.Code != unsupported.CodeForeignKind:
		case unsupported.Protective(v.Object.Kind):
			v.Severity = api.Warning
			v.Message = fmt.Sprintf("weft reads no %s, so what it protects is not protected by weft; keep what carries it out, or say it by a policy of weft", v.Object.Kind)
		default:
			if first == nil {
				one := *v
				first = &one
				out = append(out, first)
			}
			counts[v.Object.Kind]++
			continue
		}
		out = append(out, v)
	}
	if first != nil {
		var kinds []string
		for _, kind := range slices.Sorted(maps.Keys(counts)) {
			kinds = append(kinds, fmt.Sprintf("%d %s", counts[kind], kind))
		}
		first.Severity, first.Object, first.Field = api.Warning, api.Ref{}, ""
		first.Message = fmt.Sprintf("weft reads no documents of other programs, and leaves these out: %s", strings.Join(kinds, ", "))
	}
	return out
}

// count is how many documents a text had: the sound ones, and each one that
// has an error of its own.
func count(objects []*api.Object, violations []*api.Violation) int {
	sound := map[api.Ref]bool{}
	for _, o := range objects {
		sound[o.Ref] = true
	}
	type invalidDocument struct {
		ref  api.Ref
		file string
		line int
	}
	bad := map[invalidDocument]bool{}
	for _, v := range violations {
		switch {
		case v.Object.Name == "":
			bad[invalidDocument{file: v.File, line: v.Line}] = true
		case !sound[v.Object] || v.Code == "Duplicate":
			bad[invalidDocument{ref: v.Object}] = true
		}
	}
	return len(objects) + len(bad)
}

// Open is the text of a file, of the files of a directory, or of stdin for the name "-",
// as they are.
func Open(stdin io.Reader, path string) (texts []decode.Text, fromDir bool, err error) {
	if path == "-" {
		t, err := io.ReadAll(stdin)
		if err != nil {
			return nil, false, fmt.Errorf("read standard input: %w", err)
		}
		return []decode.Text{{File: "<stdin>", Text: t}}, false, nil
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, false, fmt.Errorf("%w; name a file, a directory, or - for standard input", err)
	}
	if info.IsDir() {
		texts, err = file.Texts(path)
		return texts, true, err
	}
	text, err := os.ReadFile(path)
	return []decode.Text{{File: path, Text: text}}, false, err
}

// Sort puts violations into the order in which people fix them: by place.
func Sort(violations []*api.Violation) {
	slices.SortStableFunc(violations, func(a, b *api.Violation) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
}

package decode

import (
	"bytes"
	"iter"
	"unicode/utf8"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/syntax"
)

// Parts are the documents of a text as they are written, in order: YAML documents with
// the comments around them, or JSON values that follow one another. A List is one part,
// and so is a text that is no document. A text that is not UTF-8 is one violation.
func Parts(file string, text []byte) iter.Seq2[api.Source, *api.Violation] {
	return func(yield func(api.Source, *api.Violation) bool) {
		text = bytes.TrimPrefix(text, []byte("\ufeff"))
		if !utf8.Valid(text) {
			yield(api.Source{}, syntax.Invalid(file, 1, "the text is not UTF-8; save it as UTF-8"))
			return
		}
		for chunk := range syntax.Chunks(file, text) {
			docs, notJSON := syntax.SplitJSON(chunk)
			if notJSON != nil {
				docs = []syntax.Document{{Source: chunk}}
			}
			for _, d := range docs {
				if !yield(d.Source, nil) {
					return
				}
			}
		}
	}
}

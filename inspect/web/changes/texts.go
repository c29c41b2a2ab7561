package changes

import (
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/weftmesh/weft/api/decode"
	"github.com/weftmesh/weft/inspect/web/httpapi"
	"github.com/weftmesh/weft/inspect/web/rights"
)

// maxFileName is how long the name of a file may be, which is kept with each of
// its documents.
const maxFileName = 1024

// textsOf are the texts that an apply brings: the body, which file names; or
// the fields of a form, multipart/form-data, each named for the file whose text
// it is, so that all of them can be applied together.
func textsOf(w http.ResponseWriter, r *http.Request, file string) ([]decode.Text, error) {
	most := int64(MaxApply)
	if rights.CallerOf(r.Context()).Bounded() {
		most = maxApplyOfMember
	}
	kind, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || kind != "multipart/form-data" {
		if err := nameable("file", file); err != nil {
			return nil, err
		}
		text, err := httpapi.Body(w, r, most)
		return []decode.Text{{File: file, Text: text}}, err
	}
	if file != "" {
		return nil, httpapi.BadField("file", "the fields of a form name their files themselves; leave the parameter out")
	}
	var texts []decode.Text
	for form := multipart.NewReader(http.MaxBytesReader(w, r.Body, most), params["boundary"]); ; {
		part, err := form.NextPart()
		if errors.Is(err, io.EOF) {
			return texts, nil
		}
		if err != nil {
			return nil, badForm(err)
		}
		if err := nameable("", part.FormName()); err != nil {
			return nil, err
		}
		text, err := io.ReadAll(part)
		if err != nil {
			return nil, badForm(err)
		}
		texts = append(texts, decode.Text{File: part.FormName(), Text: text})
	}
}

// badForm is what is wrong with a form that cannot be read.
func badForm(err error) error {
	if httpapi.IsBodyError(err) {
		return err
	}
	return httpapi.BadField("", "the body is not a form with files: "+err.Error())
}

// nameable refuses names of files that nobody can read.
func nameable(field, name string) error {
	if len(name) > maxFileName || !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl) {
		return httpapi.BadField(field, "the name of a file is not readable: use UTF-8 without control characters, at most "+strconv.Itoa(maxFileName)+" bytes")
	}
	return nil
}

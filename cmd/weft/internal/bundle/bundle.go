// Package bundle collects what somebody needs to see who helps with a mesh from afar.
//
// It promises to read no Secret, and to leave out what may hold one: variables and volumes of
// pods, values that stand in documents in place of a Secret, and what kubectl keeps of both.
// What could not be read is named in errors.txt, and stops nothing.
package bundle

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// Writer is a bundle that is being written.
type Writer struct {
	files  *tar.Writer
	packed *gzip.Writer
	now    time.Time
	names  []string
	failed []string
}

// New begins a bundle. Its files are dated now.
func New(to io.Writer, now time.Time) *Writer {
	packed := gzip.NewWriter(to)
	return &Writer{files: tar.NewWriter(packed), packed: packed, now: now}
}

// Names are those of the files so far.
func (w *Writer) Names() []string { return slices.Clone(w.names) }

// Failed are what could not be read, with the reasons.
func (w *Writer) Failed() []string { return slices.Clone(w.failed) }

// Fail notes what could not be read.
func (w *Writer) Fail(what string, err error) {
	w.failed = append(w.failed, fmt.Sprintf("%s: %s", what, err))
}

// Text adds a file.
func (w *Writer) Text(name string, content []byte) error {
	w.names = append(w.names, name)
	if err := w.files.WriteHeader(&tar.Header{Name: "weft-support/" + name, Mode: 0o600, Size: int64(len(content)), ModTime: w.now}); err != nil {
		return err
	}
	_, err := w.files.Write(content)
	return err
}

// JSON adds a file of a value of JSON, cleaned.
func (w *Writer) JSON(name string, v any) error {
	text, err := json.Marshal(v)
	var plain any
	if err == nil {
		err = json.Unmarshal(text, &plain)
	}
	var out bytes.Buffer
	if err == nil {
		e := json.NewEncoder(&out)
		e.SetEscapeHTML(false)
		e.SetIndent("", "  ")
		err = e.Encode(clean(plain))
	}
	if err != nil {
		return err
	}
	return w.Text(name, out.Bytes())
}

// Close writes what failed, and ends the bundle.
func (w *Writer) Close() error {
	if len(w.failed) > 0 {
		if err := w.Text("errors.txt", []byte(strings.Join(w.failed, "\n")+"\n")); err != nil {
			return err
		}
	}
	if err := w.files.Close(); err != nil {
		return err
	}
	return w.packed.Close()
}

// Left marks what was left out.
const Left = "left out by weft support-bundle"

// material are the fields of documents that hold a secret in place of naming one.
var material = []string{"inline", "inlineString", "insecureInline", "secret", "password", "token", "clientSecret", "privateKey"}

// variables are the fields of containers and of weft's values that programs are told by.
var variables = []string{"env", "envFrom"}

// credentials are the headers, and what else has a name and a value, that say who asks.
var credentials = []string{"authorization", "cookie", "api-key", "token", "secret", "password"}

// tells reports whether the value beside a name may prove who asks.
func tells(name any) bool {
	text, _ := name.(string)
	return slices.ContainsFunc(credentials, func(c string) bool { return strings.Contains(strings.ToLower(text), c) })
}

// noise are fields that repeat others, and may hold what was left out there.
var noise = []string{"managedFields", "kubectl.kubernetes.io/last-applied-configuration"}

// clean is a value of JSON without what may be secret.
func clean(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, value := range v {
			_, text := value.(string)
			switch {
			case slices.Contains(noise, key):
			case text && (slices.Contains(material, key) || key == "value" && tells(v["name"])):
				out[key] = Left
			case !text && slices.Contains(variables, key):
				out[key] = Left
			default:
				out[key] = clean(value)
			}
		}
		return out
	case string:
		if filter := strings.ToLower(v); strings.Contains(filter, "(") && slices.ContainsFunc(credentials, func(c string) bool { return strings.Contains(filter, c) }) {
			return Left // a filter of a RouteGroup
		}
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = clean(v[i])
		}
		return out
	}
	return v
}

package decode

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/syntax"
)

// A document of a mesh that nobody has is sound by itself: whoever knows what is stored finds the mistake, when
// all is read. Where there are more of those than anybody is told of, the rest is not worth its reading: the
// texts are looked through once for the meshes that they bring along themselves.

// homeless counts documents of meshes that are not there.
type homeless struct {
	of     map[string]int  // by mesh; those that come are not among them once they are known
	all    int             // in of
	coming map[string]bool // the meshes that the texts bring; nil before they were looked through
}

// tooMany reports whether there are more than are told of.
func (h *homeless) tooMany(b Bounds, texts []Text) bool {
	if h.all <= b.Mistakes {
		return false
	}
	if h.coming == nil {
		h.coming = map[string]bool{}
		for _, t := range texts {
			meshesIn(t, h.coming)
		}
		for mesh := range h.coming {
			h.all -= h.of[mesh]
		}
	}
	return h.all > b.Mistakes
}

// add takes note of a document.
func (h *homeless) add(b Bounds, o *api.Object) {
	if b.Meshes == nil || o.Mesh == "" || o.Kind == api.KindMesh || h.coming[o.Mesh] || b.Meshes(o.Mesh) {
		return
	}
	if h.of == nil {
		h.of = map[string]int{}
	}
	h.of[o.Mesh]++
	h.all++
}

// meshesIn adds the names of the meshes that a text has, and may add others too. Documents that are none by a look
// at their lines are not parsed.
func meshesIn(t Text, into map[string]bool) {
	for chunk := range syntax.Chunks(t.File, bytes.TrimPrefix(t.Text, []byte("\ufeff"))) {
		if kind, sure := kindInLines(chunk.Text); sure && kind != api.KindMesh && kind != "List" {
			continue
		}
		if syntax.LooksLikeJSON(chunk.Text) && meshesInJSON(chunk.Text, into) {
			continue
		}
		for doc := range syntax.Documents(chunk.File, chunk.Text) {
			if doc == nil || syntax.ScalarOf(syntax.Member(doc.Root, "type")) != api.KindMesh && syntax.ScalarOf(syntax.Member(doc.Root, "kind")) != api.KindMesh {
				continue
			}
			into[syntax.ScalarOf(syntax.Member(doc.Root, "name"))] = true
			if meta := syntax.Member(doc.Root, "metadata"); meta != nil {
				into[syntax.ScalarOf(syntax.Member(meta, "name"))] = true
			}
		}
	}
}

// kindInLines is the kind of a document that is written as most are: each of its own fields at the begin of a
// line. It is not sure of any other.
func kindInLines(text []byte) (kind string, sure bool) {
	begun := false
	for line := range bytes.Lines(text) {
		line = bytes.TrimRight(line, " \t\r\n")
		if len(line) == 0 || line[0] == '#' {
			continue
		}
		if line[0] == ' ' || line[0] == '\t' {
			if !begun {
				return "", false
			}
			continue
		}
		begun = true
		key, value, ok := strings.Cut(string(line), ":")
		if !ok || !isWord(key) || value != "" && value[0] != ' ' {
			return "", false
		}
		if key != "type" && key != "kind" {
			continue
		}
		if value = strings.TrimSpace(value); kind != "" || !isWord(value) {
			return "", false
		}
		kind = value
	}
	return kind, kind != ""
}

// isWord reports whether a text has letters and digits alone, so that it says in YAML what it seems to.
func isWord(text string) bool {
	for i := range len(text) {
		if c := text[i]; (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') {
			return false
		}
	}
	return text != ""
}

// meshesInJSON does so for JSON values and lists of them, and is not ok where one of them is of another form.
func meshesInJSON(text []byte, into map[string]bool) (ok bool) {
	dec := json.NewDecoder(bytes.NewReader(text))
	depth := 0
	for dec.More() || depth > 0 {
		if depth > 0 && !dec.More() {
			if _, err := dec.Token(); err != nil {
				return false
			}
			depth--
			continue
		}
		if next := bytes.TrimLeft(text[dec.InputOffset():], " \t\r\n,"); len(next) > 0 && next[0] == '[' {
			if _, err := dec.Token(); err != nil {
				return false
			}
			depth++
			continue
		}
		var x struct {
			Type, Kind, Name string
			Metadata         struct{ Name string }
		}
		if err := dec.Decode(&x); err != nil || x.Kind == "List" {
			return false
		}
		if x.Type == api.KindMesh || x.Kind == api.KindMesh {
			into[x.Name], into[x.Metadata.Name] = true, true
		}
	}
	return true
}

package decode

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/syntax"
)

// Migration makes of a document, as the values of JSON, those of today that say the same;
// changed is false where it is of today. It may change the document that it is given.
type Migration func(doc map[string]any, at func(api.Path) api.Position) (today []map[string]any, changed bool)

// Rewritten are texts in which the documents of some kinds are rewritten. A text without any
// that changes stays as it is; of others each document is a text of its own, at the line
// at which it stood. A document that cannot be read stays, for All to say what is wrong.
func Rewritten(kinds map[string]Migration, texts ...Text) []Text {
	var out []Text
	for _, t := range texts {
		var parts []Text
		changed := false
		for doc, broken := range syntax.Documents(t.File, t.Text) {
			if broken != nil {
				parts, changed = nil, false // All says so
				break
			}
			today, ok := rewritten(doc, kinds)
			changed = changed || ok
			line := doc.PositionOf(doc.Root).Line
			parts = append(parts, Text{t.File, append(bytes.Repeat([]byte("\n"), max(line-1, 0)), today...)})
		}
		if !changed {
			parts = []Text{t}
		}
		out = append(out, parts...)
	}
	return out
}

// mostPrinted is how many bytes a document has at most that stands in a message.
const mostPrinted = 8 << 10

// today is what a refused document of an older form would be, as the end of a message;
// empty where that is too long for one.
func (d *decoder) today(typ *api.Type) string {
	var doc map[string]any
	if typ.Rewrite == nil || len(d.Text) > mostPrinted || d.Root.Decode(&doc) != nil {
		return ""
	}
	var out bytes.Buffer
	to := yaml.NewEncoder(&out)
	to.SetIndent(2)
	for _, one := range typ.Rewrite(doc) {
		if err := to.Encode(one); err != nil {
			return "" // the command says what is wrong
		}
	}
	return ":\n" + strings.TrimSuffix(out.String(), "\n")
}

// rewritten is the text of the documents that d is today.
func rewritten(d *syntax.Document, kinds map[string]Migration) (text []byte, changed bool) {
	whole := func() []byte {
		var v any
		if d.Root.Decode(&v) != nil {
			return d.Text
		}
		out, err := json.Marshal(v)
		if err != nil {
			return d.Text
		}
		return out
	}
	rewrite := kinds[syntax.ScalarOf(syntax.Member(d.Root, "kind"))]
	var doc map[string]any
	if rewrite == nil || d.Root.Decode(&doc) != nil {
		if d.Item == "" {
			return d.Text, false
		}
		return whole(), false
	}
	today, ok := rewrite(doc, d.Locate)
	if !ok && d.Item == "" {
		return d.Text, false
	} else if !ok {
		return whole(), false
	}
	for i, one := range today {
		body, err := json.Marshal(one)
		if err != nil {
			panic(fmt.Sprintf("values of YAML: %v", err)) // their keys are texts
		}
		if i > 0 {
			text = append(text, "\n---\n"...)
		}
		text = append(text, body...)
	}
	return text, true
}

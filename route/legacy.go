package route

import (
	"encoding/json"

	"github.com/weftmesh/weft/api"
)

// Rewriter rewrites a document of an older form, as the values of JSON: into those of today
// that say the same, and what was changed. Without changes the document is of today.
type Rewriter func(doc map[string]any) (today []map[string]any, changes []LegacyField)

// LegacyField is a part of a document that has another form today.
type LegacyField struct {
	Field   api.Path
	Message string // what is old; what to write
	// Dropped says that the part has no form today: it is left out.
	Dropped bool
}

// ListIn is the list that a value of a document is; nil where it is none.
func ListIn(v any) []any {
	out, _ := v.([]any)
	return out
}

// Write is the change of an older field into what is to be written instead.
func Write(at api.Path, name string, value any) LegacyField {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err) // values of JSON always marshal
	}
	return LegacyField{Field: at, Message: "is an older form; write " + name + ": " + string(text)}
}

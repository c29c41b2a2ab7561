package install

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"strconv"
	"strings"
	"text/template"

	"github.com/weftmesh/weft/api/decode"
)

// functions are those of Helm that templates of the chart may use beside the ones of
// text/template, and mean what they mean there. (Sprig and Helm's own engine would cost
// each sidecar 18 MB of program: control planes and sidecars are one.)
func functions(t *template.Template) template.FuncMap {
	return template.FuncMap{
		"default": func(otherwise, v any) any {
			if empty(v) {
				return otherwise
			}
			return v
		},
		"quote":     func(v any) string { return strconv.Quote(fmt.Sprint(v)) },
		"join":      join,
		"lookup":    func(_, _, _, _ string) map[string]any { return nil }, // no cluster is asked, as by `helm template`
		"list":      func(v ...any) []any { return v },
		"splitList": func(separator, text string) []string { return strings.Split(text, separator) },
		"int":       toInt,
		"omit":      omit,
		"toYaml":    toYAML,
		"toJson":    toJSON,
		"indent":    indent,
		"nindent":   func(n int, text string) string { return "\n" + indent(n, text) },
		"sha256sum": func(text string) string { sum := sha256.Sum256([]byte(text)); return hex.EncodeToString(sum[:]) },
		"include": func(name string, data any) (string, error) {
			var out bytes.Buffer
			err := t.ExecuteTemplate(&out, name, data)
			return out.String(), err
		},
	}
}

// empty is what text/template takes for false.
func empty(v any) bool {
	truth, ok := template.IsTrue(v)
	return !ok || !truth
}

func join(separator string, list any) string {
	var out []string
	for v, i := reflect.ValueOf(list), 0; v.IsValid() && i < v.Len(); i++ {
		out = append(out, fmt.Sprint(v.Index(i).Interface()))
	}
	return strings.Join(out, separator)
}

// toInt is a number of JSON as one that compares with those of templates.
func toInt(v any) (int, error) {
	switch n := v.(type) {
	case float64:
		return int(n), nil
	case int64:
		return int(n), nil
	case int:
		return n, nil
	}
	return 0, fmt.Errorf("%v is no number", v)
}

func omit(from map[string]any, keys ...string) map[string]any {
	out := maps.Clone(from)
	for _, k := range keys {
		delete(out, k)
	}
	return out
}

func toJSON(v any) (string, error) {
	text, err := json.Marshal(v)
	return string(text), err
}

func toYAML(v any) (string, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return "", err
	}
	out, err := decode.ToYAML(text)
	return strings.TrimSuffix(string(out), "\n"), err
}

func indent(n int, text string) string {
	pad := strings.Repeat(" ", n)
	return pad + strings.ReplaceAll(text, "\n", "\n"+pad)
}

package decode_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"go.yaml.in/yaml/v3"

	"github.com/weftmesh/weft/api/decode"
)

// FuzzJSON: what is JSON for Go is JSON for weft, with the same content.
func FuzzJSON(f *testing.F) {
	for _, text := range []string{
		`{}`, `[]`, `{"a": [1, -0.5e+3, true, false, null, "\u00e9\n\ud83d\ude00"]}`, "{\"a\":1}\n{\"b\":2}", `[1,]`, `[,1]`, `{"a" 1}`, `{"a":}`,
		`{"a":1,}`, `{a:1}`, `["\x"]`, "[\"\n\"]", `["\u12"]`, `["\ud800"]`, `[01]`, `[1.]`, `[.5]`, `[+1]`, `[1e]`, `[tru]`, `[nul]`, `[1 2]`, `[`, `{"a"`, `["a`, `["a\`, `[]]`, `{}x`,
		`["<<", "yes", "1.0", "~"]`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if !utf8.Valid(text) {
			return
		}
		want, deep, err := values(text)
		printed, wrong := decode.ToYAML(text)
		if (err == nil) != (wrong == nil) && !deep {
			t.Fatalf("Go says %v, weft %v", err, wrong)
		}
		if err != nil || wrong != nil {
			return
		}
		dec := yaml.NewDecoder(bytes.NewReader(printed))
		for _, w := range want {
			var got any
			if err := dec.Decode(&got); err != nil {
				t.Fatalf("%v in\n%s", err, printed)
			}
			if again, err := json.Marshal(got); err != nil || !sameJSON(t, w, again) {
				t.Fatalf("%s became %s (%v), printed as\n%s", w, again, err, printed)
			}
		}
	})
}

// values are the maps and lists that text holds one after the other; deep says
// that one of them nests deeper than weft reads.
func values(text []byte) (out []json.RawMessage, deep bool, err error) {
	dec := json.NewDecoder(bytes.NewReader(text))
	for {
		var v json.RawMessage
		err := dec.Decode(&v)
		if errors.Is(err, io.EOF) && len(out) > 0 {
			return out, deep, nil
		}
		if err != nil {
			return nil, deep, err
		}
		if v[0] != '{' && v[0] != '[' {
			return nil, deep, errors.New("a single value")
		}
		deep = deep || bytes.Count(v, []byte("["))+bytes.Count(v, []byte("{")) > 90
		out = append(out, v)
	}
}

// sameJSON compares by content, numbers as Go's floating-point numbers.
func sameJSON(t *testing.T, a, b []byte) bool {
	var x, y any
	if err := json.Unmarshal(a, &x); err != nil {
		return true // a number out of range
	}
	if err := json.Unmarshal(b, &y); err != nil {
		t.Fatal(err)
	}
	return cmp.Equal(x, y)
}

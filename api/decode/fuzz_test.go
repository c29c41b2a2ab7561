package decode_test

import (
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/decode"
	"github.com/weftmesh/weft/api/syntax"
	"github.com/weftmesh/weft/internal/corpus"
)

// breaks makes every line break of YAML a line feed.
var breaks = strings.NewReplacer("\r", "\n", "\u0085", "\n", "\u2028", "\n", "\u2029", "\n")

// FuzzDecode: no text makes the decoder panic, every finding has its place in
// the text, and what was accepted prints to what reads back the same.
func FuzzDecode(f *testing.F) {
	for _, text := range corpus.Texts(f) {
		f.Add(text)
	}
	f.Add([]byte(`[{"type":"Mesh","name":"a"},{"type":"Mesh","name":"b","meshServices":{"mode":"Exclusive"}}]`))
	f.Add([]byte("apiVersion: v1\nkind: ConfigMap"))
	f.Fuzz(func(t *testing.T, text []byte) {
		objects, err := decode.Objects(catalog, "f", text)
		lines := 1 + strings.Count(breaks.Replace(string(text)), "\n")
		for _, v := range api.Violations(err) {
			if v.Line < 1 || v.Line > lines+1 || v.Column < 1 || v.Message == "" {
				t.Errorf("finding without a place: %v", v)
			}
		}
		for _, o := range objects {
			printed, err := decode.PrintYAML(catalog, o)
			if err != nil {
				t.Fatal(err)
			}
			again, err := decode.One(catalog, "", printed, o.Ref)
			if api.Refuses(err) {
				t.Fatalf("%v\nin\n%s", err, printed)
			}
			if diff := cmp.Diff(o, again, ignoreSource); diff != "" {
				t.Fatalf("%s\nin\n%s", diff, printed)
			}
		}
	})
}

// Small texts that stand for very large documents are refused cheaply.
func TestBombs(t *testing.T) {
	t.Parallel()
	billion := "type: MeshGateway\nname: a\nconf:\n  a: &a [x,x,x,x,x,x,x,x,x,x]\n"
	for c := 'b'; c < 'j'; c++ {
		billion += "  " + string(c) + ": &" + string(c) + " [" + strings.Repeat("*"+string(c-1)+",", 9) + "*" + string(c-1) + "]\n"
	}
	merges := "type: Mesh\nname: a\nx: &a {k: v}\n"
	for c := 'b'; c < 'j'; c++ {
		merges += "x" + string(c) + ": &" + string(c) + " {<<: [" + strings.Repeat("*"+string(c-1)+",", 9) + "*" + string(c-1) + "]}\n"
	}
	for name, text := range map[string]string{
		"aliases":       billion,
		"merge keys":    merges + "meshServices: *i\n",
		"self":          "type: MeshGateway\nname: a\nconf: &a {x: *a}\n",
		"deep list":     "type: MeshGateway\nname: a\nconf: " + strings.Repeat("[", 9000) + strings.Repeat("]", 9000),
		"deeper list":   "type: MeshGateway\nname: a\nconf: " + strings.Repeat("[", 200_000),
		"deep JSON":     `{"type": "MeshGateway", "name": "a", "conf": ` + strings.Repeat("[", 200_000) + strings.Repeat("]", 200_000) + "}",
		"long list":     "type: Dataplane\nname: a\nnetworking: {inbound: [" + strings.Repeat("{},", 200_000) + "]}\n",
		"many mistakes": "type: Mesh\nname: a\n" + strings.Repeat("x: 1\n", 150_000),
		"many fields":   "type: Mesh\nname: a\n" + manyKeys(90_000),
		"large":         "type: Mesh\nname: a\n#" + strings.Repeat("x", syntax.MaxDocument),
		"large JSON":    `{"type": "Mesh", "name": "` + strings.Repeat("x", syntax.MaxDocument) + `"}`,
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			objects, err := decode.Objects(catalog, "f", []byte(text))
			runtime.ReadMemStats(&after)
			if !api.Refuses(err) || len(objects) > 0 {
				t.Errorf("accepted: %v", err)
			}
			if n := len(api.Violations(err)); n > 200 {
				t.Errorf("%d findings", n)
			}
			if used := (after.TotalAlloc - before.TotalAlloc) >> 20; used > 400 {
				t.Errorf("took %d MiB", used)
			}
		})
	}
}

func manyKeys(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString("k")
		b.WriteString(strings.Repeat("a", i%7))
		b.WriteByte(byte('a' + i%26))
		b.WriteString(strings.Repeat("b", i%5))
		b.WriteString(": 1\n")
	}
	return b.String()
}

func BenchmarkDecode(b *testing.B) {
	for name, text := range map[string]string{
		"yaml": "type: Dataplane\nmesh: default\nname: web-1\nlabels: {app: web}\nnetworking:\n  address: 10.0.0.1\n  inbound:\n  - port: 8080\n    servicePort: 18080\n    tags: {kuma.io/service: web, kuma.io/protocol: http}\n  outbound:\n  - port: 10001\n    backendRef: {kind: MeshService, name: backend, port: 80}\n",
		"json": `{"type":"Dataplane","mesh":"default","name":"web-1","labels":{"app":"web"},"networking":{"address":"10.0.0.1","inbound":[{"port":8080,"servicePort":18080,"tags":{"kuma.io/service":"web","kuma.io/protocol":"http"}}],"outbound":[{"port":10001,"backendRef":{"kind":"MeshService","name":"backend","port":80}}]}}`,
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := decode.Objects(catalog, "", []byte(text)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

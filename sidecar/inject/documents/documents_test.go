package documents_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/weftmesh/weft/api/decode"
	"github.com/weftmesh/weft/sidecar/inject"
	"github.com/weftmesh/weft/sidecar/inject/documents"
)

func injected(texts ...string) documents.Result {
	var all []decode.Text
	for i, t := range texts {
		all = append(all, decode.Text{File: string(rune('a' + i)), Text: []byte(t)})
	}
	return documents.Inject(documents.Settings{Config: inject.Default("1"), Namespace: "default"}, all...)
}

// What cannot be read is said at its line, and does not stop the others.
func TestBrokenDocuments(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"kind: A\n---\na: [\n":                    "a:3:1: the text is not valid YAML: did not find",
		"kind: Pod\nkind: Pod\n":                  "a:2:1: the text is not valid YAML: key \"kind\" already set in map; correct it",
		"- kind: Pod\n":                           "a:1:1: the document is no map; write one that begins with apiVersion:",
		"apiVersion: v1\nmetadata:\n  name: on\n": "a:3:9: metadata.name: a value that is a bool stands where a string belongs; put text in quotes",
		"apiVersion: v1\nkind: Pod\nspec:\n  containers: {name: x}\n": "a:4:15: spec.containers: a value that is a object stands where a []v1.Container belongs",
		"\xff": "the text is not UTF-8",
	} {
		found := injected(text).All()
		if len(found) == 0 || !strings.Contains(found[len(found)-1].Error(), want) {
			t.Errorf("%q: %v", text, found)
		}
	}
}

// Files follow one another in one stream, each as it was written.
func TestSeveralFiles(t *testing.T) {
	t.Parallel()
	got := string(injected("kind: A # a\n", "---\nkind: B", "{\"kind\": \"C\"}\n").Text())
	if want := "kind: A # a\n---\nkind: B\n---\n{\"kind\": \"C\"}\n"; got != want {
		t.Errorf("%s", got)
	}
}

// FuzzInject gives any text: nothing is lost, and injecting again changes nothing.
func FuzzInject(f *testing.F) {
	f.Add("apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {containers: [&c {name: app, readinessProbe: {tcpSocket: {port: 80}}}]}\n")
	f.Add("kind: List\napiVersion: v1\nitems: [{apiVersion: apps/v1, kind: Deployment, spec: {template: {spec: {containers: [{name: a}]}}}}]\n")
	f.Add("apiVersion: batch/v1\nkind: CronJob\nmetadata: {<<: {name: x}}\n---\n{\"kind\":\"Pod\",\"apiVersion\":\"v1\"}\n")
	f.Fuzz(func(t *testing.T, text string) {
		once := injected(text)
		for _, v := range once.All() {
			if v.Severity == "error" {
				return
			}
		}
		twice := injected(string(once.Text()))
		if !bytes.Equal(once.Text(), twice.Text()) {
			t.Errorf("injecting again changes it:\n%s\n%s", once.Text(), twice.Text())
		}
		if once.Documents() != twice.Documents() {
			t.Errorf("%d documents became %d", once.Documents(), twice.Documents())
		}
	})
}

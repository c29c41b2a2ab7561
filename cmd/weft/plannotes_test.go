package main

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// What a server notes of its plan, such as that it is not whole, is told by whichever command asks
// for one, and is among the notes that programs read.
func TestWhatAPlanNotesIsTold(t *testing.T) {
	t.Parallel()
	const note = "others were not looked at"
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"from": 7, "changes": [{"object": "MeshRetry/new/r", "action": "create"}], "notes": [{"severity": "info", "code": "Cut", "message": "`+note+`"}]}`)
	}))
	defer server.Close()
	const mesh = "type: MeshRetry\nmesh: new\nname: r\nspec: {to: [{targetRef: {kind: Mesh}, default: {http: {numRetries: 1}}}]}\n"
	for _, command := range []string{"plan -f -", "plan -f - -o json", "plan --delete MeshRetry r", "apply -f - --dry-run"} {
		var out, errs bytes.Buffer
		got := run(t.Context(), append(strings.Fields(command), "--server", server.URL), strings.NewReader(mesh), &out, &errs)
		if got != 0 || strings.Count(errs.String(), note) != 1 || strings.Contains(command, "json") != strings.Contains(out.String(), note) {
			t.Errorf("%s: exit status %d\nstdout: %sstderr: %s", command, got, &out, &errs)
		}
	}
}

package main

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// What is pruned goes in the step that stores the documents, or not at all.
func TestApplyPrunesInOneRequest(t *testing.T) {
	t.Parallel()
	var asked []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.Method+" "+r.URL.RequestURI())
		_, _ = io.WriteString(w, `{"from": 7, "changes": [{"object": "MeshRetry/new/r", "action": "create"}, {"object": "MeshRetry/new/old", "action": "delete"}]}`)
	}))
	defer server.Close()
	var out, errs bytes.Buffer
	mesh := strings.NewReader("type: MeshRetry\nmesh: new\nname: r\nspec: {to: [{targetRef: {kind: Mesh}, default: {http: {numRetries: 1}}}]}\n")
	got := run(t.Context(), []string{"apply", "-f", "-", "--prune", "-l", "team=a,tier=b", "--dry-run", "--server", server.URL}, mesh, &out, &errs)
	if got != 0 || out.String() != "+ MeshRetry/new/r  create\n- MeshRetry/new/old  delete\n\nno dataplane is affected\n" {
		t.Errorf("exit status %d\nstdout: %sstderr: %s", got, &out, &errs)
	}
	if all := strings.Join(asked, "; "); all != "POST /_apply?dryRun=true&prune=team%3Da%2Ctier%3Db" {
		t.Errorf("it asked %s", all)
	}
}

package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestGeneratedSourcesAreFresh(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..")
	files, err := sources(root)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range files {
		got, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), string(got)); diff != "" {
			t.Errorf("%s is stale; run go generate ./policies/all (-want +got):\n%s", name, diff)
		}
	}
}

// A comment becomes a sentence about the field, spelled as its writer did.
func TestSentences(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, field, comment, want string }{
		{"HTTP", "http", "HTTP has the bounds of requests.", "HTTP has the bounds of requests."},
		{"PerTryTimeout", "perTryTimeout", "PerTryTimeout bounds one\nattempt.", "Bounds one attempt."},
		{"Name", "name", "Name is what people call it.", "What people call it."},
	} {
		if got := sentence(c.name, c.field, c.comment); got != c.want {
			t.Errorf("%s: %q", c.name, got)
		}
	}
}

// Package golden runs stories: txtar files that hold documents, questions and
// the answers that a reader of the documents expects.
//
// A file of a story whose name begins with want. is a question with its answer;
// all others are documents. The text before the first file says what the story
// is about. With -update the answers are written anew, for review.
package golden

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
)

var update = flag.Bool("update", false, "write the answers of stories anew")

// File is one document of a story.
type File struct {
	Name string
	Text []byte
}

// Stories runs every story of a directory as a test of its own. Answer gets the
// story's documents and one question: the name of the want file, without want.
func Stories(t *testing.T, dir string, answer func(docs []File, question string) string) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "*.txtar"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no stories in %s: %v", dir, err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			t.Parallel()
			tell(t, path, answer)
		})
	}
}

// Equal compares text with what a file holds, and writes it there with -update.
func Equal(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}

func tell(t *testing.T, path string, answer func([]File, string) string) {
	story, err := txtar.ParseFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var docs []File
	for _, f := range story.Files {
		if !strings.HasPrefix(f.Name, "want.") {
			docs = append(docs, File{f.Name, f.Data})
		}
	}
	asked := 0
	for i, f := range story.Files {
		question, ok := strings.CutPrefix(f.Name, "want.")
		if !ok {
			continue
		}
		asked++
		got := strings.TrimRight(answer(docs, question), "\n") + "\n"
		if *update {
			story.Files[i].Data = []byte(got)
		} else if diff := cmp.Diff(string(f.Data), got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", f.Name, diff)
		}
	}
	if asked == 0 {
		t.Error("the story asks nothing")
	}
	if *update {
		if err := os.WriteFile(path, txtar.Format(story), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

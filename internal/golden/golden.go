// Package golden runs stories: txtar files that hold documents, questions and
// the answers that a reader of the documents expects.
//
// A file of a story whose name begins with want. is a question with its answer; all others
// are documents, but for those that Answer names. What the answers say of requests is what
// the simulator says; internal/differential asks real Envoys the same requests. The text
// before the first file says what the story is about. With -update the answers are written anew, for review.
package golden

import (
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/weftmesh/weft/internal/cases"
)

// File is one document of a story.
type File struct {
	Name string
	Text []byte
}

// Stories runs every story of a directory as a test of its own. Answer gets the
// story's documents and one question: the name of the want file, without want.
func Stories(t *testing.T, dir string, answer func(docs []File, question string) string) {
	t.Helper()
	cases.Files(t, filepath.Join(dir, "*.txtar"), func(t *testing.T, _ string, story *txtar.Archive) *txtar.Archive {
		return answered(t, story, answer)
	})
}

// answered is a story with answers.
func answered(t *testing.T, story *txtar.Archive, answer func(docs []File, question string) string) *txtar.Archive {
	t.Helper()
	docs := documents(story)
	if len(docs) == len(story.Files) {
		t.Error("the story asks nothing")
	}
	for i, f := range story.Files {
		if question, ok := strings.CutPrefix(f.Name, "want."); ok {
			story.Files[i].Data = []byte(strings.TrimRight(answer(docs, question), "\n") + "\n")
		}
	}
	return story
}

// documents are those of a story.
func documents(story *txtar.Archive) (docs []File) {
	for _, f := range story.Files {
		if !strings.HasPrefix(f.Name, "want.") {
			docs = append(docs, File{f.Name, f.Data})
		}
	}
	return docs
}

// Answered runs the stories below dir as tests of a package that takes part in every answer; with -short some of them,
// since package golden runs them all.
func Answered(t *testing.T, dir string) {
	t.Helper()
	cases.Files(t, filepath.Join(dir, some()), func(t *testing.T, _ string, story *txtar.Archive) *txtar.Archive {
		return answered(t, story, Answer)
	})
}

// some are the names of the stories for other packages than this one.
func some() string {
	if testing.Short() {
		return "[c-f]*.txtar"
	}
	return "*.txtar"
}

// Simulated is Answered for what stories say of requests alone.
func Simulated(t *testing.T, dir string) {
	t.Helper()
	cases.Files(t, filepath.Join(dir, some()), func(_ *testing.T, _ string, story *txtar.Archive) *txtar.Archive {
		docs := documents(story)
		for i, f := range story.Files {
			question, _ := strings.CutPrefix(f.Name, "want.")
			if verb, _, _ := strings.Cut(question, ":"); verb == "sim" || verb == "goes" || verb == "each" {
				story.Files[i].Data = []byte(strings.TrimRight(Answer(docs, question), "\n") + "\n")
			}
		}
		return story
	})
}

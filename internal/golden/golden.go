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
	run(t, filepath.Join(dir, "*.txtar"), answer, func(string) bool { return true })
}

// Answered runs the stories below dir as tests of a package that takes part in every answer; with -short some of them,
// since package golden runs them all.
func Answered(t *testing.T, dir string) {
	t.Helper()
	run(t, filepath.Join(dir, some()), Answer, func(string) bool { return true })
}

// Simulated is Answered for what stories say of requests alone.
func Simulated(t *testing.T, dir string) {
	t.Helper()
	run(t, filepath.Join(dir, some()), Answer, func(verb string) bool { return verb == "sim" || verb == "goes" || verb == "each" })
}

// some are the names of the stories for other packages than this one.
func some() string {
	if testing.Short() {
		return "[c-f]*.txtar"
	}
	return "*.txtar"
}

// run asks the questions of stories whose verb is asked, and leaves the others.
func run(t *testing.T, pattern string, answer func(docs []File, question string) string, asked func(verb string) bool) {
	t.Helper()
	cases.Files(t, pattern, func(t *testing.T, _ string, story *txtar.Archive) *txtar.Archive {
		var docs []File
		for _, f := range story.Files {
			if !strings.HasPrefix(f.Name, "want.") {
				docs = append(docs, File{f.Name, f.Data})
			}
		}
		if len(docs) == len(story.Files) {
			t.Error("the story asks nothing")
		}
		for i, f := range story.Files {
			question, is := strings.CutPrefix(f.Name, "want.")
			if verb, _, _ := strings.Cut(question, ":"); is && asked(verb) {
				story.Files[i].Data = []byte(strings.TrimRight(answer(docs, question), "\n") + "\n")
			}
		}
		return story
	})
}

package file_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/decode"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/internal/storetest"
	"github.com/weftmesh/weft/store"
	"github.com/weftmesh/weft/store/file"
	"github.com/weftmesh/weft/store/memory"
)

var catalog = api.NewCatalog(api.Types()...)

func readText(name string, text []byte) ([]*api.Object, []*api.Violation) {
	objects, err := decode.Objects(catalog, name, text)
	return objects, api.Violations(err)
}

func config(dir string) file.Config {
	return file.Config{Dir: dir, Decode: readText, Log: slog.New(slog.DiscardHandler)}
}

func service(name string, port int) string {
	return fmt.Sprintf("type: MeshService\nmesh: default\nname: %s\nspec:\n  ports: [{port: %d}]\n", name, port)
}

func put(t *testing.T, dir, name, text string) {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// content is what a directory says, as name=port, and its errors.
func content(d *file.Dir) (text string, errors []*api.Violation) {
	objects, violations := d.Content()
	var parts []string
	for _, o := range objects {
		parts = append(parts, fmt.Sprintf("%s=%d", o.Name, storetest.Port(o)))
	}
	for _, v := range violations {
		if v.Severity == api.Error {
			errors = append(errors, v)
		}
	}
	return strings.Join(parts, " "), errors
}

func scan(t *testing.T, d *file.Dir) bool {
	t.Helper()
	changed, err := d.Scan()
	if err != nil {
		t.Fatal(err)
	}
	return changed
}

func TestTheLastGoodVersionStaysUntilThereIsABetterOne(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d := file.NewDir(dir, readText)
	put(t, dir, "a.yaml", service("a", 1)+"---\n"+service("b", 2))
	put(t, dir, "sub/c.yaml", service("c", 3))
	scan(t, d)
	for _, step := range []struct{ what, a, want, problem string }{
		{"as it is", "", "a=1 b=2 c=3", ""},
		{"one of two breaks", service("a", 5) + "---\n" + strings.ReplaceAll(service("b", 2), "2", "two"), "a=5 b=2 c=3", "ports[0].port"},
		{"the file breaks", "type: [", "a=5 b=2 c=3", "YAML"},
		{"one is repaired, one goes", service("a", 6), "a=6 c=3", ""},
		{"one is renamed and broken", strings.ReplaceAll(service("x", 6), "6", "six"), "c=3", "ports[0].port"},
		{"it is emptied", "# nothing\n", "c=3", ""},
		{"it holds one again", service("d", 4), "d=4 c=3", ""},
		{"it is emptied while it holds one", "# nothing\n", "d=4 c=3", "the file is empty"},
		{"it is emptied again", "\n", "d=4 c=3", "the file is empty"},
		{"another file says the same name", service("c", 9), "c=9", "sub/c.yaml"},
	} {
		if step.a != "" {
			put(t, dir, "a.yaml", step.a)
			if !scan(t, d) {
				t.Errorf("%s: nothing changed", step.what)
			}
		}
		if scan(t, d) {
			t.Errorf("%s: it changes all the time", step.what)
		}
		got, errors := content(d)
		if got != step.want || (step.problem == "") != (len(errors) == 0) {
			t.Errorf("%s: %s with %v, want %s", step.what, got, errors, step.want)
		}
		for _, v := range errors {
			if !strings.Contains(v.Error(), step.problem) {
				t.Errorf("%s: %v does not name %s", step.what, v, step.problem)
			}
		}
	}
}

func TestWhatIsNoDocumentIsNotRead(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	put(t, dir, "a.yaml", service("a", 1))
	for _, name := range []string{"README.md", ".hidden.yaml", ".git/x.yaml", "b.yaml~", "c.yaml.swp", "..data/d.yaml"} {
		put(t, dir, name, "no document: [")
	}
	if err := os.Symlink(".", filepath.Join(dir, "loop")); err != nil {
		t.Fatal(err)
	}
	d := file.NewDir(dir, readText)
	scan(t, d)
	if got, errors := content(d); got != "a=1" || len(errors) > 0 {
		t.Errorf("read %s, %v", got, errors)
	}
	if _, err := file.NewDir(filepath.Join(dir, "none"), readText).Scan(); err == nil {
		t.Error("a directory that is not there was read")
	}
}

func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not in a minute: %s", what)
		}
	}
}

func TestStoreFollowsItsDirectory(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	put(t, dir, "a.yaml", service("a", 1))
	beside := memory.New(snapshot.New(0), nil, time.Now)
	s, err := file.Open(t.Context(), config(dir), beside)
	if err != nil {
		t.Fatal(err)
	}
	snapshot, w := s.Watch()
	if snapshot.Len() != 1 {
		t.Fatalf("%d objects at the start", snapshot.Len())
	}
	if _, _, err := s.Apply(t.Context(), store.Writes(store.Write{Put: storetest.Service(t, "x", 1)})); err == nil {
		t.Error("it takes writes")
	}
	storetest.Put(t, beside, storetest.Service(t, "guest", 7))
	put(t, dir, "b.yaml", service("b", 2))
	put(t, dir, "a.yaml", service("a", 3))
	seen := map[string]int{}
	eventually(t, "the watch tells of everything", func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, changes, err := w.Next(ctx)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range changes {
			seen[c.After.Name] = storetest.Port(c.After)
		}
		return seen["a"] == 3 && seen["b"] == 2 && seen["guest"] == 7
	})
	put(t, dir, "b.yaml", "type: [")
	eventually(t, "the problem is known", func() bool { return len(s.Problems()) > 1 })
	if err := os.Remove(filepath.Join(dir, "b.yaml")); err != nil {
		t.Fatal(err)
	}
	eventually(t, "what is removed goes, what came from elsewhere stays", func() bool {
		_, b := s.Snapshot().Get(storetest.Service(t, "b", 1).Ref)
		_, guest := s.Snapshot().Get(storetest.Service(t, "guest", 1).Ref)
		return !b && guest
	})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, _, err := w.Next(t.Context()); err == nil {
		t.Error("a watch of a closed store answered")
	}
}

func TestAFeedTakesBackWhatItGaveAfterARestart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	into := memory.New(snapshot.New(0), nil, time.Now)
	storetest.Put(t, into, storetest.Service(t, "own", 1))
	put(t, dir, "a.yaml", service("a", 1))
	feed(t, dir, into)
	if err := os.Remove(filepath.Join(dir, "a.yaml")); err != nil {
		t.Fatal(err)
	}
	feed(t, dir, into)
	if _, ok := into.Snapshot().Get(storetest.Service(t, "a", 1).Ref); ok {
		t.Error("what the directory no longer says is still there")
	}
	if _, ok := into.Snapshot().Get(storetest.Service(t, "own", 1).Ref); !ok {
		t.Error("what came from elsewhere is gone")
	}
}

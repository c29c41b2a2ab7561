package file_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/weftmesh/weft/store/file"
)

func link(t *testing.T, dir, name, to string) {
	t.Helper()
	if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
		t.Fatal(err)
	}
}

// Whoever may write into the directory must not read, through what is said of
// its files, what the control plane may read.
func TestLinksThatLeaveTheDirectoryAreNotRead(t *testing.T) {
	t.Parallel()
	outside := t.TempDir()
	put(t, outside, "secret.yaml", service("secret", 9))
	dir := filepath.Join(outside, "in")
	put(t, dir, "sub/a.yaml", service("a", 1))
	link(t, dir, "b.yaml", "sub/a.yaml") // one document in two files
	link(t, dir, "gone.yaml", "sub/gone.yaml")
	leaving := []string{"absolute.yaml", "up.yaml", "winding.yaml", "behind.yaml", "lost.yaml"}
	link(t, dir, "absolute.yaml", filepath.Join(outside, "secret.yaml"))
	link(t, dir, "up.yaml", "../secret.yaml")
	link(t, dir, "winding.yaml", "sub/../../secret.yaml")
	link(t, dir, ".out", outside)
	link(t, dir, "behind.yaml", ".out/secret.yaml")
	link(t, dir, "lost.yaml", "/nowhere/secret.yaml")
	link(t, dir, "circle.yaml", "circle.yaml")
	d := file.NewDir(dir, readText)
	scan(t, d)
	got, errors := content(d)
	var refused []string
	for _, v := range errors {
		refused = append(refused, filepath.Base(v.File)+" "+v.Message)
	}
	all := strings.Join(refused, "\n")
	if got != "a=1" || len(errors) != len(leaving)+2 || !strings.Contains(all, "circle.yaml too many levels") {
		t.Errorf("read %s, refused\n%s", got, all)
	}
	for _, name := range leaving {
		if !strings.Contains(all, name+" it is a link that leaves the directory") {
			t.Errorf("%s is not refused for that: %s", name, all)
		}
	}
	if texts, err := file.Texts(dir); err == nil || len(texts) != 2 {
		t.Errorf("%d texts, %v", len(texts), err)
	}
	if scan(t, d) {
		t.Error("it changes all the time")
	}
}

// Kubernetes mounts a ConfigMap as links to files below ..data, itself a link
// that is replaced when the ConfigMap changes.
func TestAMountedConfigMapIsRead(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	put(t, dir, "..one/a.yaml", service("a", 1))
	put(t, dir, "..two/a.yaml", service("a", 2))
	link(t, dir, "..data", "..one")
	link(t, dir, "a.yaml", "..data/a.yaml")
	d := file.NewDir(dir, readText)
	scan(t, d)
	if got, errors := content(d); got != "a=1" || len(errors) > 0 {
		t.Errorf("read %s, %v", got, errors)
	}
	link(t, dir, "..tmp", "..two")
	if err := os.Rename(filepath.Join(dir, "..tmp"), filepath.Join(dir, "..data")); err != nil {
		t.Fatal(err)
	}
	if got, errors := content(d); !scan(t, d) || len(errors) > 0 {
		t.Errorf("the exchange was not seen: %s, %v", got, errors)
	}
	if got, _ := content(d); got != "a=2" {
		t.Errorf("read %s after the exchange", got)
	}
	through := filepath.Join(t.TempDir(), "mount")
	if err := os.Symlink(dir, through); err != nil {
		t.Fatal(err)
	}
	d = file.NewDir(through, readText)
	scan(t, d)
	if got, errors := content(d); got != "a=2" || len(errors) > 0 {
		t.Errorf("a directory that is a link itself: %s, %v", got, errors)
	}
}

// Programs that keep the times of files hide no change.
func TestAChangeOfEqualSizeAndTimeIsSeen(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path, then := filepath.Join(dir, "a.yaml"), time.Now().Add(-time.Hour)
	write := func(port int) {
		put(t, dir, "a.yaml", service("a", port))
		if err := os.Chtimes(path, then, then); err != nil {
			t.Fatal(err)
		}
	}
	write(1)
	d := file.NewDir(dir, readText)
	scan(t, d)
	eventually(t, "the file is old enough for its stamp to be believed", func() bool { return scan(t, d) || file.Believed(d, path) })
	write(2)
	if !scan(t, d) {
		t.Error("the change is not seen")
	}
	if got, errors := content(d); got != "a=2" || len(errors) > 0 {
		t.Errorf("read %s, %v", got, errors)
	}
}

package secret_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/weftmesh/weft/xds/server/secret"
)

func TestASecretStays(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "data", "key")
	var all sync.WaitGroup
	var got [8]string
	for i := range got { // processes that start at the same time agree
		all.Go(func() {
			text, err := secret.Load(path, func() ([]byte, error) { return fmt.Append(nil, "secret ", i), nil })
			if err != nil {
				t.Error(err)
			}
			got[i] = string(text)
		})
	}
	all.Wait()
	for _, text := range got {
		if text != got[0] || text == "" {
			t.Errorf("not one secret: %q", got)
		}
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if left, err := os.ReadDir(filepath.Dir(path)); err != nil || len(left) != 1 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestWhatIsNoSecretIsRefused(t *testing.T) {
	t.Parallel()
	never := func() ([]byte, error) {
		t.Error("a secret was made in the place of another")
		return nil, nil
	}
	for name, c := range map[string]struct {
		text string
		mode os.FileMode
		want string
	}{
		"others read":      {"secret", 0o604, "chmod 600 "},
		"the group reads":  {"secret", 0o640, "chmod 600 "},
		"the group writes": {"secret", 0o620, "chmod 600 "},
		"empty":            {"", 0o600, "is empty, as after a loss of power; restore it from a backup, or remove it"},
	} {
		path := filepath.Join(t.TempDir(), "key")
		if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, c.mode); err != nil {
			t.Fatal(err)
		}
		if _, err := secret.Load(path, never); err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

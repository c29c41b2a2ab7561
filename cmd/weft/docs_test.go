package main

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/weftmesh/weft/hack/mutate/planted"
	"github.com/weftmesh/weft/sidecar/agent"
)

// shellBlocks are the lines of the fenced sh blocks of a page.
func shellBlocks(t *testing.T, page string) []string {
	t.Helper()
	f, err := os.Open(page)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var lines []string
	in := false
	for s := bufio.NewScanner(f); s.Scan(); {
		switch {
		case strings.HasPrefix(s.Text(), "```"):
			in = s.Text() == "```sh"
		case in:
			lines = append(lines, s.Text())
		}
	}
	return lines
}

// ports are those that the page names.
var ports = regexp.MustCompile(`\b(5681|5678|10001|8080|8081|18080|18081)\b`)

// TestFirstFiveMinutes runs the page as a user would, on ports of its own.
func TestFirstFiveMinutes(t *testing.T) {
	t.Parallel()
	var script strings.Builder
	script.WriteString("set -eu\ntrap 'kill $(jobs -p) 2>/dev/null || true; wait' EXIT\n")
	for _, line := range shellBlocks(t, "../../docs/first-five-minutes.md") {
		if !strings.HasPrefix(line, "make ") && !strings.HasPrefix(line, "export PATH=") {
			script.WriteString(line + "\n")
		}
	}
	text := script.String()
	dir := t.TempDir()
	file := filepath.Join(dir, "page.txtar")
	if err := os.WriteFile(file, []byte("freeports P5681 P5678 P10001 P8080 P8081 P18081 P18080\npage\nexec bash page.sh\nstdout '^type: MeshTimeout$'\nstdout 'http.requestTimeout = 2s'\nstdout '2 in sync, 0 behind'\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	envoy, err := agent.FindEnvoy("")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Files: []string{file},
		Setup: func(e *testscript.Env) error {
			e.Setenv("WEFT_ENVOY", envoy)
			e.Setenv(planted.Variable, os.Getenv(planted.Variable))
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"freeports": freeports,
			"page": func(ts *testscript.TestScript, _ bool, _ []string) {
				text := ports.ReplaceAllStringFunc(text, func(port string) string { return ts.Getenv("P" + port) })
				ts.Setenv("WEFT_API", "127.0.0.1:"+ts.Getenv("P5681"))
				ts.Setenv("WEFT_XDS", "127.0.0.1:"+ts.Getenv("P5678"))
				ts.Setenv("WEFT_SERVER", "http://127.0.0.1:"+ts.Getenv("P5681"))
				text = strings.ReplaceAll(text, "weft sidecar ", "weft sidecar --xds https://127.0.0.1:"+ts.Getenv("P5678")+" ")
				ts.Check(os.WriteFile(ts.MkAbs("page.sh"), []byte(text), 0o600))
			},
		},
	})
}

// fetch stands for curl, which the machine may lack: it asks until it is answered well.
func fetch() {
	url := os.Args[len(os.Args)-1]
	for deadline := time.Now().Add(2 * time.Minute); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		resp, err := http.Get(url)
		if err != nil {
			continue
		}
		text, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err == nil && resp.StatusCode == http.StatusOK {
			fmt.Print(string(text))
			return
		}
	}
	fmt.Fprintln(os.Stderr, "no good answer from", url)
	os.Exit(1)
}

// TestPagesNameCommandsThatExist holds every command line of the pages against
// the commands and flags of the program.
func TestPagesNameCommandsThatExist(t *testing.T) {
	t.Parallel()
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, page := range append(pages, "../../README.md") {
		for _, line := range shellBlocks(t, page) {
			line = strings.TrimSpace(line)
			if strings.HasPrefix(line, "weft ") {
				seen++
				exists(t, page, line)
			}
		}
	}
	if seen < 10 {
		t.Errorf("only %d commands on the pages", seen)
	}
}

// exists parses one command line as the program would, and runs nothing.
func exists(t *testing.T, page, line string) {
	t.Helper()
	words := strings.Fields(line)[1:]
	for i, w := range words {
		if w == ">" || w == "|" || w == "&" || w == "&&" || strings.HasPrefix(w, "#") {
			words = words[:i]
			break
		}
	}
	root := newRoot(&app{})
	c, rest, err := root.Find(words)
	if err == nil {
		err = c.ParseFlags(rest)
	}
	if err == nil {
		err = c.ValidateArgs(c.Flags().Args())
	}
	if err != nil {
		t.Errorf("%s: %q: %v", page, line, err)
	}
}

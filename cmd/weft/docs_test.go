package main

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
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

// ports are those that the pages name.
var ports = regexp.MustCompile(`\b(5681|5678|10001|8080|8081|18080|18081)\b`)

// TestFirstFiveMinutes runs the page as a user would, on ports of its own.
func TestFirstFiveMinutes(t *testing.T) {
	t.Parallel()
	follow(t, "first-five-minutes", `^type: MeshTimeout$`, `http.requestTimeout = 2s`, `2 in sync, 0 behind`)
}

// TestMutualTLS does the same with that page: in the end who calls is proved, and kept out where
// a permission says so.
func TestMutualTLS(t *testing.T) {
	t.Parallel()
	follow(t, "mutual-tls", `^web-1  spiffe://default/web, certified`, `mesh-traffic-permission-all-default`,
		`^  allow +spiffe://default/frontend: MeshTrafficPermission/default/web-for-frontend`,
		`^  port [0-9]+  Strict: [0-9]+ connections by TLS, 0 in plain text`, `^admin: 403$`, `revoked-identities-default`)
}

// follow runs the commands of a page, which must print something like each pattern.
func follow(t *testing.T, page string, patterns ...string) {
	t.Helper()
	var script strings.Builder
	script.WriteString("set -eu\ntrap 'kill $(jobs -p) 2>/dev/null || true; wait' EXIT\n")
	for _, line := range shellBlocks(t, "../../docs/"+page+".md") {
		if !strings.HasPrefix(line, "make ") && !strings.HasPrefix(line, "export PATH=") {
			script.WriteString(line + "\n")
		}
	}
	text, steps := script.String(), "freeports P5681 P5678 P10001 P8080 P8081 P18081 P18080\npage\nexec bash page.sh\n"
	for _, p := range patterns {
		steps += "stdout '" + p + "'\n"
	}
	file := filepath.Join(t.TempDir(), "page.txtar")
	if err := os.WriteFile(file, []byte(steps), 0o600); err != nil {
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

// fetch stands for curl, which the machine may lack: it asks until it is answered well, and with
// -w until it is answered, for the status.
func fetch() {
	url := os.Args[len(os.Args)-1]
	format := slices.Index(os.Args, "-w")
	for deadline := time.Now().Add(2 * time.Minute); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		resp, err := http.Get(url)
		if err != nil {
			continue
		}
		text, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		switch {
		case format > 0:
			fmt.Print(strings.NewReplacer("%{http_code}", strconv.Itoa(resp.StatusCode), `\n`, "\n").Replace(os.Args[format+1]))
			return
		case err == nil && resp.StatusCode == http.StatusOK:
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

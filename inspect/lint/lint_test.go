package lint_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"golang.org/x/tools/txtar"
	"pgregory.net/rapid"

	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/inspect/lint"
	"github.com/weftmesh/weft/inspect/terminal"
	"github.com/weftmesh/weft/internal/cases"
	"github.com/weftmesh/weft/internal/worlds"
)

// reading is the documents of a story.
func reading(t *testing.T, story *txtar.Archive) world.Reading {
	t.Helper()
	var r world.Reading
	for _, f := range story.Files {
		if !strings.HasSuffix(f.Name, ".yaml") {
			continue
		}
		objects, found := world.Decode(f.Name, f.Data)
		r.Objects, r.Violations = append(r.Objects, objects...), append(r.Violations, found...)
		r.Documents += len(objects)
	}
	return r
}

// now is later than all times in stories.
var now = time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)

func found(r world.Reading, ignore ...string) lint.Report {
	violations, model := world.Settings{}.Findings(r)
	return lint.Find(model, r.Objects, violations, now, ignore)
}

// TestStories: documents, and what people read of them.
func TestStories(t *testing.T) {
	t.Parallel()
	cases.Files(t, "testdata/*.txtar", func(t *testing.T, _ string, story *txtar.Archive) *txtar.Archive {
		var out bytes.Buffer
		report := found(reading(t, story))
		if err := lint.Text(&out, report, terminal.Style{}); err != nil {
			t.Fatal(err)
		}
		story.Files[len(story.Files)-1].Data = out.Bytes()
		checkSarif(t, report)
		for i := range report.Findings { // as of a control plane, whose texts nobody has
			report.Findings[i].File, report.Findings[i].Line, report.Findings[i].Column = "", 0, 0
		}
		checkSarif(t, report)
		return story
	})
}

// checkSarif holds that a report is a log of SARIF, with as many results as it has findings.
func checkSarif(t *testing.T, r lint.Report) {
	t.Helper()
	text, err := json.Marshal(lint.SarifOf(r, "1.2.3"))
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.ReadFile("testdata/sarif-2.1.0.json")
	if err != nil {
		t.Fatal(err)
	}
	schema, err := jsonschema.UnmarshalJSON(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("sarif.json", schema); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("sarif.json")
	if err != nil {
		t.Fatal(err)
	}
	log, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Validate(log); err != nil {
		t.Errorf("%v\n%s", err, text)
	}
	if n := bytes.Count(text, []byte(`"ruleId"`)); n != len(r.Findings)+len(r.Silenced) || bytes.Count(text, []byte(`"suppressions"`)) != len(r.Silenced) {
		t.Errorf("%d results of %d findings: %s", n, len(r.Findings), text)
	}
}

// TestEveryRuleHasAStory: each code that this package finds is found in one.
func TestEveryRuleHasAStory(t *testing.T) {
	t.Parallel()
	files, err := os.ReadDir("testdata")
	if err != nil {
		t.Fatal(err)
	}
	var all []byte
	for _, f := range files {
		text, err := os.ReadFile("testdata/" + f.Name())
		if err != nil {
			t.Fatal(err)
		}
		_, want, _ := bytes.Cut(text, []byte("-- want --"))
		all = append(all, want...)
	}
	for _, r := range lint.Rules() {
		if r.Severity != "" && !bytes.Contains(all, []byte(string(r.Severity)+" "+r.Code+":")) {
			t.Errorf("no story finds %s", r.Code)
		}
	}
}

// TestRandomWorldsAreFoundWithKnownCodes: whatever the documents are, nothing fails, every code
// is in the table, an ignored one is not told, and the same is found whatever the order.
func TestRandomWorldsAreFoundWithKnownCodes(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := worlds.Snapshot(t, world.Catalog(), rapid.IntRange(1, 4).Draw(t, "steps"))
		r := world.Reading{Objects: slices.Collect(s.All())}
		all := found(r)
		for _, f := range all.Findings {
			if _, known := lint.Lookup(f.Code); !known {
				t.Fatalf("%s is not in the table: %s", f.Code, f.Message)
			}
			if f.Object == "" || f.Severity == "" {
				t.Fatalf("%+v", f)
			}
		}
		slices.Reverse(r.Objects)
		if again := found(r); len(again.Findings) != len(all.Findings) {
			t.Fatalf("%d findings, and %d of the same documents", len(all.Findings), len(again.Findings))
		}
		if len(all.Findings) > 0 {
			code := all.Findings[0].Code
			if slices.ContainsFunc(found(r, code).Findings, func(f lint.Finding) bool { return f.Code == code }) {
				t.Fatalf("%s is told although it is ignored", code)
			}
		}
	})
}

// emitted are codes as the decoder and the resolver write them, and name them where several do.
var emitted = regexp.MustCompile(`(?:api\.(?:Warning|Error), |Code: +|[cC]ode(?:[A-Z]\w*)? += |\.Warns\((?:.*?, )?)"([A-Z][A-Za-z]+)"`)

// TestEveryCodeIsInTheTable: of the code that decodes and resolves documents, and of the kinds of
// policies.
func TestEveryCodeIsInTheTable(t *testing.T) {
	t.Parallel()
	seen := 0
	dirs := []string{"api", "api/decode", "control/admission", "resolve", "resolve/pods", "policies", "route", "route/kuma", "route/gateway", "route/contour", "route/skipper", "xds", "control/authorities"}
	kinds, err := filepath.Glob("../../policies/*/validate.go")
	if err != nil || len(kinds) == 0 {
		t.Fatal("no kind of policy is read", err)
	}
	for _, k := range kinds { // what a kind says of a document by itself
		dirs = append(dirs, strings.TrimPrefix(filepath.Dir(k), "../../"))
	}
	for _, dir := range dirs {
		files, err := os.ReadDir("../../" + dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			if f.IsDir() || !strings.HasSuffix(f.Name(), ".go") || strings.HasSuffix(f.Name(), "_test.go") {
				continue
			}
			text, err := os.ReadFile("../../" + dir + "/" + f.Name())
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range emitted.FindAllStringSubmatch(string(text), -1) {
				seen++
				if _, known := lint.Lookup(m[1]); !known {
					t.Errorf("%s/%s: %s is not in the table", dir, f.Name(), m[1])
				}
			}
		}
	}
	if seen < 20 {
		t.Errorf("only %d codes are seen", seen)
	}
}

// TestThePageIsMadeOfTheTable: docs/lint.md is what the table says; -update writes it.
func TestThePageIsMadeOfTheTable(t *testing.T) {
	t.Parallel()
	cases.Equal(t, "../../docs/lint.md", []byte(lint.Page()))
}

package weft_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"unicode"
)

var (
	// specCitation is how code, tests and pages cite a specification: the page below docs,
	// the sections meant, and rows of the table of the last of these (spec/identity.md 8, cases 24 to 26).
	specCitation = regexp.MustCompile(`\bspec/([a-z-]+\.md)((?:,? (?:and )?\d+(?:\.\d+)*)*)((?:, cases?(?:,? (?:and |to )?\d+)+)?)`)
	// rowCitation names rows of the tables of threats and faults.
	rowCitation = regexp.MustCompile(`\bspec/threats\.md((?:,? (?:and )?[TF]\d+)+)`)
	// identityRow names facts and threats of spec/identity.md, as code about identities does.
	identityRow = regexp.MustCompile(`\(([FI]\d+(?:, [FI]\d+)*)[,;)]`)
	row         = regexp.MustCompile(`[TFI]\d+`)
	// bareCitation is the same without its folder, which is for the specifications among themselves.
	bareCitation = regexp.MustCompile(`(?:^|[^/\w-])((?:contract|gateway-api|httpproxy|identity|kinds|kubernetes|kuma|routegroup|threats|xds)\.md)((?:,? (?:and )?\d+(?:\.\d+)*)+)`)
	// pageCitation is any other page that a comment names.
	pageCitation = regexp.MustCompile(`\bdocs/[\w/-]+\.md\b`)
	// mayCite is what each of these has.
	mayCite = regexp.MustCompile(`\.md\b|\([FI]\d`)
	section = regexp.MustCompile(`\d+(?:\.\d+)*`)
	// wrapped is where a line ends within a text, with what begins the next one of a comment.
	wrapped = regexp.MustCompile(`[ \t]*\n[ \t]*(?:(?://|#|>|\*)[ \t]+)?`)

	numberedHeading = regexp.MustCompile(`^#{2,4} (\d+(?:\.\d+)*)\.? `)
	numberedItem    = regexp.MustCompile(`^(\d+)\. `)
	tableRow        = regexp.MustCompile(`^\| (\d+) \|`)
	decision        = regexp.MustCompile(`(?m)^## (.*)\n\n(?:\*(\d{4}-\d\d-\d\d)\*)?`)
	link            = regexp.MustCompile(`\]\(([^()\s]+)\)`)
	fenced          = regexp.MustCompile("(?ms)^```.*?^```")
	code            = regexp.MustCompile("`[^`\n]*`")
)

// texts are the files of the repository that people write and that may cite pages, by
// their path from the root.
func texts(t *testing.T) map[string]string {
	t.Helper()
	found, err := written()
	if err != nil {
		t.Fatal(err)
	}
	return found
}

var written = sync.OnceValues(func() (map[string]string, error) {
	found := map[string]string{}
	return found, filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != "." && (d.Name() == "node_modules" || strings.HasPrefix(d.Name(), ".")):
			return filepath.SkipDir
		case !d.Type().IsRegular():
			return nil
		}
		switch filepath.Ext(path) {
		case ".go", ".md", ".txtar", ".sh", ".ts", ".yaml", ".proto", "":
		default:
			return nil
		}
		if info, err := d.Info(); err != nil || info.Size() > 4<<20 {
			return err
		}
		text, err := os.ReadFile(path)
		if err == nil && !slices.Contains(text, 0) {
			found[path] = string(text)
		}
		return err
	})
})

// sections are the numbers of a page's headings, those of the items of a list below them
// (4.2 is the second item of section 4), and those of rows of a numbered table.
func sections(page string) map[string]bool {
	found, heading := map[string]bool{}, ""
	for line := range strings.Lines(page) {
		if m := numberedHeading.FindStringSubmatch(line); m != nil {
			heading = m[1]
			found[heading] = true
		} else if m := numberedItem.FindStringSubmatch(line); m != nil && heading != "" {
			found[heading+"."+m[1]] = true
		} else if m := tableRow.FindStringSubmatch(line); m != nil && heading != "" {
			found[heading+"."+m[1]] = true
		}
	}
	return found
}

// TestCitationsAreAlive holds what comments, tests and pages cite to what is there: the
// page, and each section of it that they name.
func TestCitationsAreAlive(t *testing.T) {
	t.Parallel()
	c := citations{t, texts(t), map[string]bool{}}
	for path, text := range c.all {
		if path != "citations_test.go" && mayCite.MatchString(text) {
			c.follow(path, wrapped.ReplaceAllString(text, " "))
		}
	}
	if len(c.cited) < 8 {
		t.Errorf("only %d specifications are cited: %v", len(c.cited), c.cited)
	}
}

// namedFile is a file of Go as comments name it.
var namedFile = regexp.MustCompile(`\b(?:[\w-]+/)*\w+\.go\b`)

// TestNamedFilesAreThere holds comments to name files of Go that there are, by their last name or by more of
// their path. Names in texts of the program and of tests are others' files.
func TestNamedFilesAreThere(t *testing.T) {
	t.Parallel()
	all := texts(t)
	there := map[string]bool{}
	for path := range all {
		for rest := path; ; {
			there[rest] = true
			_, below, more := strings.Cut(rest, "/")
			if !more {
				break
			}
			rest = below
		}
	}
	for path, text := range all {
		if filepath.Ext(path) != ".go" || !strings.Contains(text, ".go") {
			continue
		}
		for line := range strings.Lines(text) {
			_, comment, _ := strings.Cut(line, "//")
			for _, name := range namedFile.FindAllString(comment, -1) {
				if !there[name] && !strings.Contains(line, "://") {
					t.Errorf("%s names %s, which is not there", path, name)
				}
			}
		}
	}
}

// citations are those of all texts.
type citations struct {
	*testing.T
	all   map[string]string
	cited map[string]bool // pages of docs/spec
}

// follow looks at what one text cites.
func (c citations) follow(path, text string) {
	for _, m := range specCitation.FindAllStringSubmatch(text, -1) {
		c.holds(path, m[1], m[2], m[3])
	}
	for _, m := range bareCitation.FindAllStringSubmatch(text, -1) {
		if filepath.Dir(path) == "docs/spec" {
			c.holds(path, m[1], m[2], "")
		} else {
			c.Errorf("%s cites %s%s: write spec/%[2]s%[3]s", path, m[1], m[2])
		}
	}
	for _, m := range rowCitation.FindAllStringSubmatch(text, -1) {
		c.rows(path, "threats.md", m[1])
	}
	if filepath.Ext(path) == ".go" {
		for _, m := range identityRow.FindAllStringSubmatch(text, -1) {
			c.rows(path, "identity.md", m[1])
		}
	}
	for _, page := range pageCitation.FindAllString(text, -1) {
		if _, ok := c.all[page]; !ok {
			c.Errorf("%s names %s, which is not there", path, page)
		}
	}
}

// holds reports sections of a page that are not there, and rows of the table of the last one.
func (c citations) holds(path, page, numbers, cases string) {
	text, ok := c.all["docs/spec/"+page]
	if !ok {
		c.Errorf("%s cites spec/%s, which is no page of docs/spec", path, page)
		return
	}
	c.cited[page] = true
	there := sections(text)
	meant := section.FindAllString(numbers, -1)
	if table := len(meant) - 1; table >= 0 {
		for _, row := range section.FindAllString(cases, -1) {
			meant = append(meant, meant[table]+"."+row)
		}
	}
	for _, n := range meant {
		if !there[n] {
			c.Errorf("%s cites spec/%s %s, which has no such section", path, page, n)
		}
	}
}

// rows reports rows of tables, called by a letter and a number, that are not there.
func (c citations) rows(path, page, list string) {
	for _, r := range row.FindAllString(list, -1) {
		if !strings.Contains(c.all["docs/spec/"+page], "\n| "+r+" |") {
			c.Errorf("%s cites row %s of spec/%s, which has none", path, r, page)
		}
	}
}

// anchors are the headings of a page as links name them.
func anchors(page string) map[string]bool {
	found := map[string]bool{}
	for line := range strings.Lines(fenced.ReplaceAllString(page, "")) {
		heading := strings.TrimLeft(line, "#")
		if heading == line || !strings.HasPrefix(heading, " ") {
			continue
		}
		slug := strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
				return unicode.ToLower(r)
			}
			return -1
		}, strings.TrimSpace(heading))
		found[slug] = true
	}
	return found
}

// TestLinksOfPagesAreAlive follows each link of a page to another place of the repository.
func TestLinksOfPagesAreAlive(t *testing.T) {
	t.Parallel()
	all := texts(t)
	for path, text := range all {
		if filepath.Ext(path) != ".md" {
			continue
		}
		for _, m := range link.FindAllStringSubmatch(code.ReplaceAllString(fenced.ReplaceAllString(text, ""), ""), -1) {
			if strings.Contains(m[1], ":") {
				continue // elsewhere
			}
			file, anchor, _ := strings.Cut(m[1], "#")
			to := path
			if file != "" {
				to = filepath.Join(filepath.Dir(path), file)
			}
			if _, err := os.Stat(to); err != nil {
				t.Errorf("%s links to %s, which is not there", path, m[1])
			} else if anchor != "" && filepath.Ext(to) == ".md" && !anchors(all[to])[anchor] {
				t.Errorf("%s links to %s, which has no such heading", path, m[1])
			}
		}
	}
}

// TestEveryPageIsIndexed holds docs/README.md to have each page of docs, and the index of a
// folder to have each page of that folder. Those of generated folders name each other.
func TestEveryPageIsIndexed(t *testing.T) {
	t.Parallel()
	all := texts(t)
	indexes := map[string]string{"docs": "docs/README.md", "docs/spec": "docs/spec/README.md", "docs/decisions": "docs/decisions/README.md"}
	linked := map[string]bool{"docs/README.md": true}
	for _, index := range indexes {
		for _, m := range link.FindAllStringSubmatch(all[index], -1) {
			file, _, _ := strings.Cut(m[1], "#")
			linked[filepath.Join(filepath.Dir(index), file)] = true
		}
	}
	for path := range all {
		index, has := indexes[filepath.Dir(path)]
		if has && filepath.Ext(path) == ".md" && !linked[path] {
			t.Errorf("%s is not in %s", path, index)
		}
	}
}

// TestEveryDecisionIsIndexed holds each decision to have a date, and a line of the index with
// that date.
func TestEveryDecisionIsIndexed(t *testing.T) {
	t.Parallel()
	all := texts(t)
	const folder = "docs/decisions/"
	index, found := all[folder+"README.md"], 0
	for path, text := range all {
		name, in := strings.CutPrefix(path, folder)
		if !in || name == "README.md" {
			continue
		}
		for _, m := range decision.FindAllStringSubmatch(text, -1) {
			found++
			title := strings.NewReplacer("[", `\[`, "]", `\]`).Replace(m[1])
			if m[2] == "" {
				t.Errorf("%s: %q has no date: begin with *2006-01-02*", path, m[1])
			} else if !strings.Contains(index, "- "+m[2]+" ["+title+"]("+name+"#") {
				t.Errorf("%sREADME.md has no line for %q of %s, of %s", folder, m[1], name, m[2])
			}
		}
	}
	if found < 100 {
		t.Errorf("only %d decisions", found)
	}
}

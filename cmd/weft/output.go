package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"text/tabwriter"

	"golang.org/x/term"

	"github.com/weftmesh/weft/api/decode"

	"github.com/weftmesh/weft/inspect/terminal"
)

var formats = []string{"table", "yaml", "json"}

// checkOutput refuses unknown formats before any work is done.
func (a *app) checkOutput() error { return a.oneOf(formats) }

func (a *app) oneOf(formats []string) error {
	if !slices.Contains(formats, a.output) {
		return usage("--output %q is unknown; use %s", a.output, strings.Join(formats, ", "))
	}
	return nil
}

// print writes v as JSON or YAML, or by table for people.
func (a *app) print(v any, table func(io.Writer) error) error {
	switch a.output {
	case "json":
		return writeJSON(a.out, v)
	case "yaml":
		return writeYAML(a.out, v)
	}
	return table(a.out)
}

func writeJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(v); err != nil {
		return fmt.Errorf("print JSON: %w", err)
	}
	return nil
}

// writeYAML prints what writeJSON prints, in the same order of fields.
func writeYAML(w io.Writer, v any) error {
	var text bytes.Buffer
	if err := writeJSON(&text, v); err != nil {
		return err
	}
	out, err := decode.ToYAML(text.Bytes())
	if err != nil {
		return fmt.Errorf("print YAML: %w", err)
	}
	_, err = w.Write(out)
	return err
}

// writeDocuments prints documents as a stream of YAML.
func writeDocuments[D any](w io.Writer, docs []D) error {
	for i, d := range docs {
		if i > 0 {
			fmt.Fprintln(w, "---")
		}
		if err := writeYAML(w, d); err != nil {
			return err
		}
	}
	return nil
}

// columns prints rows under a head; the first row is the head. On a terminal they are no
// wider than it.
func columns(w io.Writer, rows [][]string) error {
	if n := width(w); n > 0 {
		rows = fit(rows, n)
	}
	t := tabwriter.NewWriter(w, 0, 4, gap, ' ', 0)
	for _, r := range rows {
		fmt.Fprintln(t, strings.TrimRight(strings.Join(r, "\t"), "\t "))
	}
	return t.Flush()
}

// width is how many columns the terminal has that w is; 0 where it is none.
func width(w io.Writer) int {
	f, ok := w.(*os.File)
	if !ok || !isTerminal(w) {
		return 0
	}
	columns, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return columns
}

// isTerminal reports whether w is one.
func isTerminal(w any) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// overwrites reports whether w is a terminal that understands more than text.
func overwrites(w io.Writer) bool { return isTerminal(w) && os.Getenv("TERM") != "dumb" }

// colourful reports whether w is a terminal that may get colour.
func colourful(w io.Writer) bool { return overwrites(w) && os.Getenv("NO_COLOR") == "" }

// style is how explanations are printed: in colour on a terminal.
func (a *app) style() terminal.Style { return terminal.Style{Colour: colourful(a.out)} }

package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/syntax"
	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/inspect"
)

func newValidate(a *app) *cobra.Command {
	var files []string
	var strict bool
	c := a.command(&cobra.Command{
		Use:   "validate -f FILE|DIR|-",
		Short: "Check documents without a server",
		Long: `Checks documents by the same code as the server. What refuses a document is an
error and gives exit status 3; a reference that leads nowhere is a warning, and so is a
mesh that no document makes (see --assume-mesh), or a document for another program.`,
		Example: "  weft validate -f policies/\n  cat mr-1.yaml | weft validate -f - -o json",
		Args:    cobra.NoArgs,
		RunE:    func(*cobra.Command, []string) error { return a.validate(files, strict) },
	}, groupAsk)
	filesFlag(c, &files, "documents to check: a file, a directory, or - for standard input; may be repeated")
	a.settingsFlags(c)
	a.assumeFlag(c)
	c.Flags().BoolVar(&strict, "strict", false, "let warnings fail too")
	a.outputFlag(c)
	return c
}

func filesFlag(c *cobra.Command, files *[]string, about string) {
	c.Flags().StringArrayVarP(files, "file", "f", nil, about)
}

func (a *app) validate(files []string, strict bool) error {
	if err := a.checkOutput(); err != nil {
		return err
	}
	settings, err := a.settings()
	if err != nil {
		return err
	}
	reading, err := a.read(files)
	if err != nil {
		return err
	}
	report := settings.Validate(reading)
	if a.output == "table" {
		for _, v := range report.Violations {
			fmt.Fprintln(a.err, line(v))
		}
	}
	if err := a.print(report, func(w io.Writer) error { return summary(w, report) }); err != nil {
		return err
	}
	if report.Failed(strict) {
		return invalid(nil)
	}
	return nil
}

// read reads documents, of which there must be some.
func (a *app) read(files []string) (world.Reading, error) { return a.readBy(world.Read, files) }

func (a *app) readBy(how func(io.Reader, ...string) (world.Reading, error), files []string) (world.Reading, error) {
	if len(files) == 0 {
		return world.Reading{}, usage("-f is missing; name a file, a directory, or - for standard input")
	}
	reading, err := how(a.in, files...)
	if errors.Is(err, syntax.ErrNoDocuments) {
		return reading, usage("%w; give -f something that holds some", err)
	}
	if err == nil {
		for _, name := range reading.Empty {
			fmt.Fprintf(a.err, "%s: warning: no documents\n", name)
		}
	}
	return reading, err
}

// line is a violation as people read it.
func line(v inspect.Violation) string {
	text := v.Message
	if v.Severity == api.Warning {
		text = "warning: " + text
	}
	if v.Field != "" {
		text = string(v.Field) + ": " + text
	}
	if at := (api.Position{File: v.File, Line: v.Line, Column: v.Column}).String(); at != "" {
		text = at + ": " + text
	}
	return oneLine(text)
}

func summary(w io.Writer, r world.Report) error {
	var bad, doubtful int
	for _, v := range r.Violations {
		switch v.Severity {
		case api.Error:
			bad++
		case api.Warning:
			doubtful++
		}
	}
	_, err := fmt.Fprintf(w, "%s, %s, %s\n", many(r.Documents, "document"), many(bad, "error"), many(doubtful, "warning"))
	return err
}

func many(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

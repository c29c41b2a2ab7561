package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/cmd/weft/internal/client"
	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/inspect/lint"
)

// lintOptions are the flags of lint.
type lintOptions struct {
	files, ignore []string
	strict        bool
	exitCode      bool
}

// lintFormats are those of lint.
var lintFormats = []string{"table", "json", "sarif"}

func newLint(a *app) *cobra.Command {
	var o lintOptions
	c := a.command(&cobra.Command{
		Use:   "lint [-f FILE|DIR|-]",
		Short: "Say what is doubtful about documents",
		Long: `Says what is wrong with documents and what is doubtful although they are valid: routes
that take no request, policies without effect, attempts that the request timeout ends,
retries of what must not happen twice, and more. Each finding has a code, of which
docs/lint.md says why it matters and what to do. Without -f it looks at the documents
that the control plane holds.

The exit status is 0; 3 where there is an error, with --strict where there is a warning;
with --exit-code 4 where there is any other finding.
A comment "# weft:ignore CODE" silences a finding where it is.`,
		Example: `  weft lint -f policies/
  weft lint -f policies/ -o sarif > lint.sarif
  weft lint --ignore LimitPerInstance --strict`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return a.lint(c.Context(), o) },
	}, groupAsk)
	filesFlag(c, &o.files, "documents to look at: a file, a directory, or - for standard input; may be repeated (default: those of the control plane)")
	c.Flags().StringSliceVar(&o.ignore, "ignore", nil, "codes that are not reported, separated by commas")
	c.Flags().BoolVar(&o.strict, "strict", false, "let warnings fail too")
	exitCodeFlag(c, &o.exitCode, "there is a finding, be it a hint")
	a.settingsFlags(c)
	a.assumeFlag(c)
	a.serverFlags(c)
	c.Flags().StringVarP(&a.output, "output", "o", "table", "how to print: table, json or sarif")
	complete(c, "output", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return lintFormats, cobra.ShellCompDirectiveNoFileComp
	})
	complete(c, "ignore", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		var words []string
		for _, r := range lint.Rules() {
			words = append(words, r.Code+"\t"+r.Title)
		}
		return words, cobra.ShellCompDirectiveNoFileComp
	})
	return c
}

func (a *app) lint(ctx context.Context, o lintOptions) error {
	if err := a.oneOf(lintFormats); err != nil {
		return err
	}
	for _, code := range o.ignore {
		if _, known := lint.Lookup(code); !known {
			return usage("--ignore: there is no code %q; docs/lint.md lists them", code)
		}
	}
	settings, err := a.settings()
	if err != nil {
		return err
	}
	var reading world.Reading
	if len(o.files) > 0 {
		reading, err = a.read(o.files)
	} else {
		reading, err = a.withheld(ctx)
	}
	if err != nil {
		return err
	}
	found, model := settings.Findings(reading)
	report := lint.Find(model, reading.Objects, found, time.Now(), o.ignore)
	report.Documents = reading.Documents // those that are refused too
	if a.output == "sarif" {
		err = writeJSON(a.out, lint.SarifOf(report, thisBuild().Version))
	} else {
		err = a.print(report, func(w io.Writer) error { return lint.Text(w, report, a.style()) })
	}
	if err != nil {
		return err
	}
	if report.Count(api.Error) > 0 || o.strict && report.Count(api.Warning) > 0 {
		return invalid(nil)
	}
	return exitFound(o.exitCode, len(report.Findings) > 0)
}

// withheld are the documents of the control plane, as they were written.
func (a *app) withheld(ctx context.Context) (world.Reading, error) {
	var r world.Reading
	server, err := client.Find(a.server, a.tokenFile)
	if err != nil {
		return r, err
	}
	for _, t := range world.Catalog().Types() {
		if t.Secret { // of which nobody is shown what they hold
			continue
		}
		items, err := server.List(ctx, "/"+t.Plural+"?format=written")
		if client.Missing(err) {
			continue
		}
		if err != nil {
			return r, fmt.Errorf("read %s: %w", t.Plural, err)
		}
		for _, i := range items {
			objects, found := world.Decode("", i.Raw)
			r.Objects, r.Violations = append(r.Objects, objects...), append(r.Violations, found...)
			r.Documents++
		}
	}
	return r, nil
}

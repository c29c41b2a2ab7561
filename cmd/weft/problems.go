package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/cmd/weft/internal/client"
	"github.com/weftmesh/weft/inspect/conditions"
)

// problems is the answer of GET /_problems.
type problems struct {
	Total int                       `json:"total"`
	Items []conditions.ProblemOwner `json:"items"`
	Notes []api.Note                `json:"notes,omitempty"`
}

func newProblems(a *app) *cobra.Command {
	var exitCode bool
	c := a.command(&cobra.Command{
		Use:   "problems",
		Short: "Show everything that is wrong, by who has to act",
		Long: `Shows what is wrong in all meshes, grouped by the object, file or sidecar that it
is about: documents that are refused, references that lead nowhere, what cannot
take effect, services without a ready endpoint, what Envoys refused, sidecars that
are gone or are not let in, certificates that have ended, and a store that takes no
writes. Each has its file, line and field, what is wrong, and what to do.`,
		Example: "  weft problems\n  weft problems -o json\n  weft problems --exit-code",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := a.checkOutput(); err != nil {
				return err
			}
			server, err := client.Find(a.server, a.tokenFile)
			if err != nil {
				return err
			}
			var all problems
			if err := server.Get(c.Context(), "/_problems", &all); err != nil {
				return err
			}
			if err := a.print(all, func(w io.Writer) error { return problemsText(w, all) }); err != nil {
				return err
			}
			return exitFound(exitCode, all.Total > 0)
		},
	}, groupAsk)
	exitCodeFlag(c, &exitCode, "there is a problem")
	a.serverFlags(c)
	a.outputFlag(c)
	return c
}

func problemsText(w io.Writer, all problems) error {
	for _, o := range all.Items {
		fmt.Fprintln(w, o.Owner)
		for _, p := range o.Problems {
			fmt.Fprintln(w, "  "+problemLine(p))
		}
	}
	for _, n := range all.Notes {
		fmt.Fprintln(w, oneLine(strings.ToLower(string(n.Severity))+" "+n.Code+": "+n.Message))
	}
	if all.Total == 0 {
		_, err := fmt.Fprintln(w, "no problems")
		return err
	}
	_, err := fmt.Fprintf(w, "\n%s of %s\n", many(all.Total, "problem"), many(len(all.Items), "owner"))
	return err
}

// problemLine is file:line:col: field: severity code: what is wrong; what to do.
func problemLine(p conditions.Problem) string {
	text := fmt.Sprintf("%s %s: %s", strings.ToLower(string(p.Severity)), p.Code, p.Message)
	if p.Field != "" {
		text = string(p.Field) + ": " + text
	}
	if at := (api.Position{File: p.File, Line: p.Line, Column: p.Column}).String(); at != "" {
		text = at + ": " + text
	}
	return oneLine(text)
}

package main

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/weftmesh/weft/cmd/weft/internal/client"
	"github.com/weftmesh/weft/inspect/plan"
	"github.com/weftmesh/weft/inspect/plan/step"
)

func newDiff(a *app) *cobra.Command {
	var exitCode bool
	c := a.command(&cobra.Command{
		Use:   "diff REV [REV]",
		Short: "Say what differs between two revisions",
		Long: `Says what changed from one revision to another, or to what is stored now: the
documents, which fields of which routes at which dataplanes, and which resources of
their Envoys, as weft plan says it of a change that nobody has made yet.

The exit status is 0; with --exit-code 4 where a document differs.`,
		Example: `  weft diff 41 42
  weft diff 41 -o markdown
  weft diff 40 42 --exit-code -o json`,
		Args:              cobra.RangeArgs(1, 2),
		ValidArgsFunction: a.completeRevisions(2),
		RunE:              func(c *cobra.Command, args []string) error { return a.diff(c, args, exitCode) },
	}, groupAsk)
	exitCodeFlag(c, &exitCode, "a document differs")
	a.serverFlags(c)
	a.planOutput(c)
	return c
}

// planOutput chooses how a plan is printed.
func (a *app) planOutput(c *cobra.Command) {
	c.Flags().StringVarP(&a.output, "output", "o", "table", "output format: table, markdown, yaml or json")
	complete(c, "output", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return plannedFormats, cobra.ShellCompDirectiveNoFileComp
	})
}

// differing is the answer to GET /_diff.
type differing struct {
	To uint64 `json:"to"`
	plan.Plan
}

func (a *app) diff(c *cobra.Command, args []string, exitCode bool) error {
	if err := a.oneOf(plannedFormats); err != nil {
		return err
	}
	q := url.Values{}
	for i, name := range []string{"from", "to"}[:len(args)] {
		if err := number(args[i]); err != nil {
			return err
		}
		q.Set(name, args[i])
	}
	server, err := client.Find(a.server, a.tokenFile)
	if err != nil {
		return err
	}
	var d differing
	if err := server.Call(c.Context(), http.MethodGet, "/_diff?"+q.Encode(), "", nil, &d); err != nil {
		return err
	}
	if a.output == "json" || a.output == "yaml" {
		err = a.print(d, nil)
	} else {
		a.noted(d.Plan)
		err = a.printPlan(d.Plan)
	}
	if err != nil {
		return err
	}
	return exitFound(exitCode, changes(d.Plan))
}

// number refuses what is no revision.
func number(text string) error {
	if _, err := strconv.ParseUint(text, 10, 64); err != nil {
		return usage("%q is not a revision; `weft history` lists them", text)
	}
	return nil
}

// changes reports whether a document changes by a plan.
func changes(p plan.Plan) bool {
	return slices.ContainsFunc(p.Changes, func(c step.Change) bool { return c.Action != "unchanged" })
}

func newRollback(a *app) *cobra.Command {
	var dryRun, fields, revoked bool
	c := a.command(&cobra.Command{
		Use:   "rollback REV",
		Short: "Store again what was stored at a revision",
		Long: `Makes one new revision in which every document is as it was at revision REV: what was
changed since is changed back, what was deleted is there again, and what was created is
deleted; all of it, or nothing where the documents do not hold any more. Dataplanes that
sidecars brought along stay as they are, and so do identities that were revoked since:
--restore-revoked takes that back too. It says who may call what afterwards that could not
before. With --dry-run it says what would change, as weft plan does.`,
		Example: `  weft history
  weft rollback 41 --dry-run --diff
  weft rollback 41`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.completeRevisions(1),
		RunE:              func(c *cobra.Command, args []string) error { return a.rollback(c, args[0], dryRun, fields, revoked) },
	}, groupChange)
	c.Flags().BoolVar(&dryRun, "dry-run", false, "plan: say what would change, and store nothing")
	c.Flags().BoolVar(&revoked, "restore-revoked", false, "also have revocations of identities as they were: who was revoked since is let in again")
	c.Flags().BoolVar(&fields, "diff", false, "with --dry-run also what changes in each resource of Envoy's, field by field")
	a.serverFlags(c)
	a.planOutput(c)
	return c
}

func (a *app) rollback(c *cobra.Command, to string, dryRun, fields, revoked bool) error {
	if err := a.oneOf(plannedFormats); err != nil {
		return err
	}
	if err := number(to); err != nil {
		return err
	}
	if a.output == "markdown" && !dryRun {
		return usage("-o markdown prints a plan; give --dry-run with it")
	}
	if fields && !dryRun {
		return usage("--diff is for a plan; give --dry-run with it")
	}
	server, err := client.Find(a.server, a.tokenFile)
	if err != nil {
		return err
	}
	at := "/_rollback?to=" + to
	if revoked {
		at += "&restoreRevoked=true"
	}
	if dryRun {
		at += "&dryRun=true"
		if fields {
			at += "&include=diff"
		}
		var p plan.Plan
		if err := server.Call(c.Context(), http.MethodPost, at, "", nil, &p); err != nil {
			return err
		}
		a.noted(p)
		return a.printPlan(p)
	}
	var answer applied
	if err := server.Call(c.Context(), http.MethodPost, at, "", nil, &answer); err != nil {
		return err
	}
	a.warned(answer)
	return a.print(answer, func(w io.Writer) error {
		for _, r := range answer.Results {
			fmt.Fprintln(w, r.Object, r.Action)
		}
		if len(answer.Results) == 0 {
			fmt.Fprintf(w, "everything is as at revision %s already\n", to)
			return nil
		}
		fmt.Fprintf(w, "revision %d is as revision %s was\n", answer.Revision, to)
		return nil
	})
}

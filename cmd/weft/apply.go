package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime/multipart"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/hashicorp/go-multierror"
	"github.com/spf13/cobra"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/decode"
	"github.com/weftmesh/weft/cmd/weft/internal/client"
	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/inspect"
	"github.com/weftmesh/weft/inspect/plan"
	"github.com/weftmesh/weft/inspect/plan/access"
)

// applyOptions are the flags of apply.
type applyOptions struct {
	files  []string
	dryRun bool
	shadow bool
	fields bool // of a plan: what changes in Envoy's resources
	strict bool
	prune  bool
	skip   bool // documents of kinds that weft has not
	labels map[string]string
}

func newApply(a *app) *cobra.Command {
	var o applyOptions
	c := a.command(&cobra.Command{
		Use:   "apply -f FILE|DIR|-",
		Short: "Store documents, all or none",
		Long: `Checks all documents first, then stores them as one revision, or none of them.
With --prune, stored objects that carry the labels of -l and are not among the
documents are deleted in the same step.`,
		Example: `  weft apply -f policies/
  weft get mr mr-1 -o yaml | sed s/numRetries:.*/numRetries:\ 3/ | weft apply -f -
  weft apply -f team-a/ --prune -l team=a`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return a.apply(c, o) },
	}, groupChange)
	filesFlag(c, &o.files, "documents to store: a file, a directory, or - for standard input; may be repeated")
	c.Flags().BoolVar(&o.dryRun, "dry-run", false, "plan: say what would change, and store nothing")
	c.Flags().BoolVar(&o.strict, "strict", false, "store nothing if there is a warning")
	c.Flags().BoolVar(&o.prune, "prune", false, "delete what carries the labels of -l and is not among the documents")
	c.Flags().StringToStringVarP(&o.labels, "selector", "l", nil, "with --prune: labels, k=v")
	c.Flags().BoolVar(&o.skip, "skip-unsupported", false, "leave out documents of kinds that weft has not, with a warning; some of them may protect")
	a.serverFlags(c)
	a.outputFlag(c)
	return c
}

// applied is the answer of the server to an apply.
type applied struct {
	Revision uint64              `json:"revision"`
	Results  []result            `json:"results"`
	Warnings []inspect.Violation `json:"warnings,omitempty"`
	// Widens are verdicts about callers by which something gets in that did not.
	Widens    []access.Access `json:"widens,omitempty"`
	WidensCut int             `json:"widensCut,omitempty"`
}

// warned says on stderr what an answer warns of, and who may call what that could not before.
func (a *app) warned(answer applied) {
	for _, v := range answer.Warnings {
		fmt.Fprintln(a.err, line(v))
	}
	for i := range answer.Widens {
		fmt.Fprintln(a.err, oneLine(answer.Widens[i].Text()))
	}
	if answer.WidensCut > 0 {
		fmt.Fprintf(a.err, "and %d more verdicts let in more; weft diff lists them\n", answer.WidensCut)
	}
}

type result struct {
	Object string `json:"object"`
	Action string `json:"action"`
}

func (a *app) apply(c *cobra.Command, o applyOptions) error {
	if err := a.checkOutput(); err != nil {
		return err
	}
	if o.prune != (len(o.labels) > 0) {
		return usage("--prune and -l belong together; give both: what carries the labels may be deleted")
	}
	reading, err := a.readSound(o.files, o.skip)
	if err != nil {
		return err
	}
	server, err := client.Find(a.server, a.tokenFile)
	if err != nil {
		return err
	}
	if o.dryRun {
		var p plan.Plan
		if err := send(c.Context(), server, reading.Texts, o, &p); err != nil {
			return err
		}
		for _, v := range p.Warnings {
			fmt.Fprintln(a.err, line(v))
		}
		if a.output == "table" {
			p.Warnings = nil
		}
		a.noted(p)
		return a.printPlan(p)
	}
	if o.strict {
		if err := a.unwarned(c, server, reading.Texts, o); err != nil {
			return err
		}
	}
	var answer applied
	if err := send(c.Context(), server, reading.Texts, o, &answer); err != nil {
		return err
	}
	a.warned(answer)
	return a.print(answer, func(w io.Writer) error {
		for _, r := range answer.Results {
			fmt.Fprintln(w, r.Object, r.Action)
		}
		return nil
	})
}

// unwarned fails where an apply would warn. What others write meanwhile it does not know.
func (a *app) unwarned(c *cobra.Command, server *client.Client, texts []decode.Text, o applyOptions) error {
	var p plan.Plan
	o.dryRun = true
	if err := send(c.Context(), server, texts, o, &p); err != nil {
		return err
	}
	for _, v := range p.Warnings {
		fmt.Fprintln(a.err, line(v))
	}
	if n := len(p.Warnings); n > 0 {
		return invalid(fmt.Errorf("%d warnings, and --strict lets none pass; nothing is stored", n))
	}
	return nil
}

// readSound reads documents of which none may be refused; skip leaves out those of kinds that weft
// has not.
func (a *app) readSound(files []string, skip bool) (world.Reading, error) {
	reading, err := a.read(files)
	if err != nil {
		return reading, err
	}
	if skip {
		for _, v := range skipUnsupported(&reading) {
			fmt.Fprintln(a.err, line(inspect.ViolationOf(v)))
		}
	}
	var refused *multierror.Error
	for _, v := range reading.Violations {
		if v.Severity == api.Error {
			refused = multierror.Append(refused, v)
		}
	}
	if refused != nil {
		a.warn(reading)
		return reading, invalid(refused)
	}
	return reading, nil
}

// warn prints what is doubtful about the documents by themselves.
func (a *app) warn(reading world.Reading) {
	for _, v := range reading.Violations {
		if v.Severity != api.Error {
			fmt.Fprintln(a.err, line(inspect.ViolationOf(v)))
		}
	}
}

// send stores the documents. Their texts go as they are, each under the name of
// its file, so that the server names the places that people know.
func send(ctx context.Context, server *client.Client, texts []decode.Text, o applyOptions, answer any) error {
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	for _, t := range texts {
		field, err := form.CreateFormField(t.File)
		if err == nil {
			_, err = field.Write(t.Text)
		}
		if err != nil {
			return fmt.Errorf("send %s: %w", t.File, err)
		}
	}
	if err := form.Close(); err != nil {
		return fmt.Errorf("send the documents: %w", err)
	}
	path := "/_apply"
	if query := o.query().Encode(); query != "" {
		path += "?" + query
	}
	err := server.Call(ctx, http.MethodPost, path, form.FormDataContentType(), body.Bytes(), answer)
	var refused *client.Refusal
	if errors.As(err, &refused) && len(refused.Violations) > 0 {
		return invalid(refused)
	}
	return err
}

// query is what the request says of the apply beside the documents.
func (o applyOptions) query() url.Values {
	q := url.Values{}
	if o.dryRun {
		q.Set("dryRun", "true")
	}
	if o.shadow {
		q.Set("shadow", "true")
	}
	if o.fields {
		q.Set("include", "diff")
	}
	if o.prune {
		var labels []string
		for _, k := range slices.Sorted(maps.Keys(o.labels)) {
			labels = append(labels, k+"="+o.labels[k])
		}
		q.Set("prune", strings.Join(labels, ","))
	}
	return q
}

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"time"

	"github.com/hashicorp/go-multierror"
	"github.com/spf13/cobra"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/decode"
	"github.com/weftmesh/weft/cmd/weft/internal/client"
	"github.com/weftmesh/weft/control/admission"
	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/inspect/plan"
	"github.com/weftmesh/weft/inspect/plan/step"
	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/sidecar/attach"
	"github.com/weftmesh/weft/store"
)

// planOptions are the flags of plan.
type planOptions struct {
	files, against []string
	remove, strict bool
	exitCode       bool
	shadow, fields bool
}

func newPlan(a *app) *cobra.Command {
	var o planOptions
	c := a.command(&cobra.Command{
		Use:   "plan -f FILE|DIR|- | plan --delete KIND NAME | plan --shadow",
		Short: "Say what a change would change, and change nothing",
		Long: `Says what would become of dataplanes if the documents were stored, or an object were
deleted: which fields of which routes would change at which dataplanes, from what to
what and by whose word, which resources of their Envoys would, and what would lose its
target or its effect.

It asks the control plane, or compares with the documents of --against.
The exit status is 0; with --exit-code 4 where a document changes, effects or none.`,
		Example: `  weft plan -f policies/
  weft plan --delete meshretry mr-1
  weft plan -f policies/ --against main/policies/ -o markdown
  weft plan -f preview.yaml --shadow
  weft plan --shadow
  weft plan -f policies/ --diff
  weft plan -f policies/ --exit-code -o json`,
		Args:              cobra.MaximumNArgs(2),
		ValidArgsFunction: a.completeObject,
		RunE:              func(c *cobra.Command, args []string) error { return a.plan(c, args, o) },
	}, groupAsk)
	filesFlag(c, &o.files, "documents that would be stored: a file, a directory, or - for standard input; may be repeated")
	c.Flags().BoolVar(&o.remove, "delete", false, "plan that the object KIND NAME is deleted")
	c.Flags().StringArrayVar(&o.against, "against", nil, "documents to compare with, instead of asking the control plane; may be repeated")
	c.Flags().BoolVar(&o.shadow, "shadow", false, "plan documents with the label kuma.io/effect: shadow as if they took part: those of -f, and those that are stored in their meshes, or without -f all that are stored")
	c.Flags().BoolVar(&o.fields, "diff", false, "also what changes in each resource of Envoy's, field by field")
	exitCodeFlag(c, &o.exitCode, "a document changes")
	c.Flags().BoolVar(&o.strict, "strict", false, "fail if a document is invalid instead of leaving it out")
	a.settingsFlags(c)
	a.serverFlags(c)
	a.meshFlag(c)
	a.planOutput(c)
	return c
}

// plannedFormats are those of plans.
var plannedFormats = append(slices.Clone(formats), "markdown")

func (a *app) plan(c *cobra.Command, args []string, o planOptions) error {
	if err := a.oneOf(plannedFormats); err != nil {
		return err
	}
	var p plan.Plan
	var err error
	switch {
	case o.remove && (len(args) != 2 || len(o.files) > 0):
		return usage("--delete takes KIND NAME and no -f; name one object")
	case !o.remove && len(args) > 0:
		return usage("%q is in the way; give documents by -f, or an object by --delete KIND NAME", args[0])
	case len(o.against) > 0:
		p, err = a.planAgainst(args, o)
	case o.remove:
		p, err = a.planRemoval(c.Context(), args[0], args[1], o.fields)
	default:
		p, err = a.planWrites(c.Context(), o)
	}
	if err != nil {
		return err
	}
	if err := a.printPlan(p); err != nil {
		return err
	}
	return exitFound(o.exitCode, changes(p))
}

func (a *app) printPlan(p plan.Plan) error {
	if a.output == "markdown" {
		return plan.Markdown(a.out, p)
	}
	return a.print(p, func(w io.Writer) error { return plan.Text(w, p, a.style()) })
}

// planRemoval asks the control plane what a deletion would change.
func (a *app) planRemoval(ctx context.Context, word, name string, fields bool) (p plan.Plan, err error) {
	t, server, err := a.located(word)
	if err != nil {
		return p, err
	}
	if err := server.Call(ctx, http.MethodDelete, path(t, a.mesh, name)+"?"+applyOptions{dryRun: true, fields: fields}.query().Encode(), "", nil, &p); err != nil {
		return p, a.named(ctx, server, t, name, err)
	}
	a.noted(p)
	return p, nil
}

// planWrites asks the control plane what documents would change.
func (a *app) planWrites(ctx context.Context, o planOptions) (p plan.Plan, err error) {
	reading, notes, err := a.planned(o)
	if err != nil {
		return p, err
	}
	server, err := client.Find(a.server, a.tokenFile)
	if err != nil {
		return p, err
	}
	texts := reading.Texts
	if len(notes) > 0 {
		if texts, err = asDocument(reading.Objects); err != nil {
			return p, err
		}
	}
	err = send(ctx, server, texts, applyOptions{dryRun: true, shadow: o.shadow, fields: o.fields}, &p)
	p.Notes = append(a.noted(p), notes...)
	return p, err
}

// planned are the documents of a plan; none where it is of what is stored for previews.
func (a *app) planned(o planOptions) (world.Reading, []api.Note, error) {
	if o.shadow && len(o.files) == 0 {
		return world.Reading{}, nil, nil
	}
	return a.sound(o.files, o.strict)
}

// noted says what a plan notes by itself, such as that it is not whole.
func (a *app) noted(p plan.Plan) []api.Note {
	for _, n := range p.Notes {
		what := n.Message
		if n.Origin != nil {
			what = n.Origin.Ref.String() + ": " + what
		}
		fmt.Fprintln(a.err, oneLine(what))
	}
	return p.Notes
}

// sound reads documents, and leaves out those that are invalid where there are others:
// notes say which.
func (a *app) sound(files []string, strict bool) (world.Reading, []api.Note, error) {
	reading, err := a.read(files)
	if err != nil {
		return reading, nil, err
	}
	var notes []api.Note
	for _, v := range reading.Violations {
		fmt.Fprintln(a.err, oneLine(v.Error()))
		if v.Severity == api.Error {
			notes = append(notes, leftOut(v))
		}
	}
	if len(notes) > 0 && (strict || len(reading.Objects) == 0) {
		return reading, nil, invalid(nil)
	}
	return reading, notes, nil
}

// asDocument is objects as one document.
func asDocument(objects []*api.Object) ([]decode.Text, error) {
	list := make([]json.RawMessage, len(objects))
	for i, o := range objects {
		text, err := decode.PrintJSON(world.Catalog(), o)
		if err != nil {
			return nil, fmt.Errorf("print %s: %w", o.Ref, err)
		}
		list[i] = text
	}
	var out bytes.Buffer
	err := json.NewEncoder(&out).Encode(list)
	return []decode.Text{{File: "documents.json", Text: out.Bytes()}}, err
}

// planAgainst compares with documents.
func (a *app) planAgainst(args []string, o planOptions) (p plan.Plan, err error) {
	settings, err := a.settings()
	if err != nil {
		return p, err
	}
	var asked admission.WriteRequest
	var remove api.Ref
	var notes []api.Note
	if o.remove {
		t, err := kind(args[0])
		if err != nil {
			return p, err
		}
		gone := ref(t, a.mesh, args[1])
		remove = gone
	} else {
		reading, left, err := a.planned(o)
		if err != nil {
			return p, err
		}
		notes = left
		for _, object := range reading.Objects {
			asked.Writes = append(asked.Writes, store.Write{Put: object})
		}
	}
	base, err := a.offline(o.against, o.strict)
	if err != nil {
		return p, err
	}
	if o.remove {
		if asked, err = admission.Removal(base.model.Written(), remove); err != nil {
			return p, invalid(violations(err))
		}
	}
	chain := settings.Admission(admission.Options{Model: func() *resolve.Model { return base.model }, Now: time.Now})
	admitted, err := chain.Plan(admission.People, base.model.Written(), asked)
	if err != nil {
		return p, invalid(violations(err))
	}
	writes := admitted.Writes
	preview := plan.Preview{Takes: isAttachable}
	if o.shadow {
		writes, _ = preview.Of(store.Writes(writes...))(base.model.Written()) // of what is given
	}
	step, results := step.Next(base.model, writes, time.Now())
	if o.remove && results[0].Action == store.Missing {
		return p, fmt.Errorf("%s: the documents of --against hold no such object", results[0].Ref)
	}
	step.Renderer = settings.Renderer()
	if o.fields {
		step.Print = attach.Print
	}
	p = plan.Of(step, preview.Results(results))
	preview.Tell(&p)
	p.Notes = append(a.noted(p), notes...)
	return p, nil
}

// violations is a refusal as the errors that it consists of.
func violations(err error) error {
	r, all := admission.RefusalIn(err), &multierror.Error{}
	if r == nil {
		return err
	}
	for _, v := range r.Found {
		if v.Severity == api.Error {
			all = multierror.Append(all, v)
		}
	}
	return all
}

// isAttachable reports whether an object is a policy or a route.
func isAttachable(o *api.Object) bool {
	t, _ := world.Catalog().Type(o.Kind)
	return t.Policy || t.Route
}

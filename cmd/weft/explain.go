package main

import (
	"io"
	"net/url"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/cmd/weft/internal/client"
	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/inspect"
)

func newExplain(a *app) *cobra.Command {
	c := a.command(&cobra.Command{
		Use:   "explain",
		Short: "Say what holds, where it comes from, and what does not hold and why",
		Example: `  weft explain dataplane frontend-1 --to web
  weft explain route MeshHTTPRoute/route-1
  weft explain policy mr/mr-1 -f mesh/`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}, groupAsk)
	c.AddCommand(newExplainDataplane(a),
		newExplainObject(a, "route", "  weft explain route MeshHTTPRoute/route-1\n  weft explain route mhttpr/route-1 -f mesh/ -o json",
			"Say where a route takes part, and where not", func(t api.Type) bool { return t.Route }),
		newExplainObject(a, "policy", "  weft explain policy MeshRetry/mr-1\n  weft explain policy mt/slow -f mesh/",
			"Say where a policy takes part, by whom it is overridden, and what it does not find", func(t api.Type) bool { return t.Policy && !t.Route }))
	return c
}

// explainFlags are those that all forms share.
func (a *app) explainFlags(c *cobra.Command, files *[]string, strict *bool) {
	filesFlag(c, files, "documents to work on instead of asking the control plane; may be repeated")
	c.Flags().BoolVar(strict, "strict", false, "with -f: fail if a document is invalid instead of leaving it out")
	a.serverFlags(c)
	a.meshFlag(c)
	a.outputFlag(c)
}

func newExplainDataplane(a *app) *cobra.Command {
	var to string
	var files []string
	var strict bool
	c := a.command(&cobra.Command{
		Use:   "dataplane NAME",
		Short: "Say everything that holds for a dataplane",
		Long: `Shows every outbound with its routes and the effective policies, each field with
who set it and whom that overrides, every inbound, and what was meant for this
dataplane and does not apply, with the reason.`,
		Example:           "  weft explain dataplane frontend-1\n  weft explain dataplane frontend-1 --to web:80 -f mesh/",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.completeNames("dataplane"),
		RunE: func(c *cobra.Command, args []string) error {
			if err := a.checkOutput(); err != nil {
				return err
			}
			e, err := a.explanation(c, args[0], to, files, strict)
			if err != nil {
				return err
			}
			return a.print(e, func(w io.Writer) error { return inspect.ExplanationText(w, e, a.style()) })
		},
	}, "")
	c.Flags().StringVar(&to, "to", "", "only this destination: its name, name:port, or id")
	a.explainFlags(c, &files, &strict)
	return c
}

// explanation asks the documents of files, or the control plane where there are none.
func (a *app) explanation(c *cobra.Command, name, to string, files []string, strict bool) (inspect.Explanation, error) {
	if len(files) > 0 {
		w, err := a.offline(files, strict)
		if err != nil {
			return inspect.Explanation{}, err
		}
		r, err := w.dataplane(a.mesh, name)
		if err != nil {
			return inspect.Explanation{}, err
		}
		e, err := inspect.Explain(w.model.Reader(nil), r.Ref, to)
		e.Notes = append(e.Notes, w.left...)
		return e, err
	}
	var e inspect.Explanation
	t, server, err := a.located(api.KindDataplane)
	if err != nil {
		return e, err
	}
	question := "/_explain"
	if to != "" {
		question += "?to=" + url.QueryEscape(to)
	}
	err = server.Get(c.Context(), path(t, a.mesh, name)+question, &e)
	return e, a.inItsWords(c.Context(), server, t, name, err)
}

func newExplainObject(a *app, word, example, short string, fits func(api.Type) bool) *cobra.Command {
	var files []string
	var strict bool
	c := a.command(&cobra.Command{
		Use:     word + " KIND/NAME",
		Short:   short,
		Example: example,
		Args:    cobra.ExactArgs(1),
		ValidArgsFunction: func(c *cobra.Command, args []string, start string) ([]string, cobra.ShellCompDirective) {
			return a.completeSlashed(c, args, start, fits)
		},
		RunE: func(c *cobra.Command, args []string) error {
			if err := a.checkOutput(); err != nil {
				return err
			}
			e, err := a.objectExplanation(c, word, args[0], fits, files, strict)
			if err != nil {
				return err
			}
			return a.print(e, func(w io.Writer) error { return inspect.ObjectText(w, e, a.style()) })
		},
	}, "")
	a.explainFlags(c, &files, &strict)
	return c
}

func (a *app) objectExplanation(c *cobra.Command, word, name string, fits func(api.Type) bool, files []string, strict bool) (inspect.ObjectExplanation, error) {
	var e inspect.ObjectExplanation
	kindWord, name, ok := strings.Cut(name, "/")
	if !ok {
		return e, usage("%q names no %s; write KIND/NAME", kindWord, word)
	}
	t, err := kind(kindWord)
	if err != nil {
		return e, err
	}
	if !fits(t) {
		return e, usage("%s is no kind of %s", t.Name, word)
	}
	if len(files) > 0 {
		w, err := a.offline(files, strict)
		if err != nil {
			return e, err
		}
		e, err = inspect.ExplainObject(w.model.Reader(nil), ref(t, a.mesh, name), nil)
		e.Notes = append(e.Notes, w.left...)
		return e, err
	}
	server, err := client.Find(a.server, a.tokenFile)
	if err != nil {
		return e, err
	}
	err = server.Get(c.Context(), path(t, a.mesh, name)+"/_explain", &e)
	return e, a.inItsWords(c.Context(), server, t, name, err)
}

// completeSlashed completes KIND/NAME.
func (a *app) completeSlashed(c *cobra.Command, args []string, start string, fits func(api.Type) bool) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	word, _, slash := strings.Cut(start, "/")
	if slash {
		names, directive := a.completeNames(word)(c, nil, "")
		for i := range names {
			names[i] = word + "/" + names[i]
		}
		return names, directive
	}
	var words []string
	for _, t := range world.Catalog().Types() {
		if fits(t) {
			words = append(words, t.Name+"/")
		}
	}
	return words, cobra.ShellCompDirectiveNoSpace | cobra.ShellCompDirectiveNoFileComp
}

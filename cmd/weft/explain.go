package main

import (
	"io"
	"net/url"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/cmd/weft/internal/client"
	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/inspect/conditions"
	"github.com/weftmesh/weft/inspect/explain"
	"github.com/weftmesh/weft/resolve"
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
	a.settingsFlags(c)
	c.Flags().BoolVar(strict, "strict", false, "with -f: fail if a document is invalid instead of leaving it out")
	a.serverFlags(c)
	a.meshFlag(c)
	a.outputFlag(c)
}

func newExplainDataplane(a *app) *cobra.Command {
	var o dataplaneQuestion
	c := a.command(&cobra.Command{
		Use:   "dataplane NAME",
		Short: "Say what holds for a dataplane, and who set it",
		Long: `Shows every outbound with its routes and the effective policies, each field with
who set it and whom that overrides, and every inbound. With --all also fields
without effect, and what was meant for this dataplane and does not apply, with
the reason.

To ask for less: --to a destination, --route a route or one of its rules,
--policy a kind of policy or one object, --field one field or a block of them.`,
		Example: `  weft explain dataplane frontend-1
  weft explain dataplane frontend-1 --to web:80 -f examples/smallest
  weft explain dataplane frontend-1 --to web --field http.requestTimeout
  weft explain dataplane frontend-1 --route MeshHTTPRoute/route-1 --policy mt --all`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.completeNames("dataplane"),
		RunE: func(c *cobra.Command, args []string) error {
			if err := a.checkOutput(); err != nil {
				return err
			}
			filter, err := o.filter()
			if err != nil {
				return err
			}
			e, err := a.explanation(c, args[0], o.to, o.files, o.strict)
			if err == nil {
				e, err = e.Only(filter)
			}
			if err != nil {
				return err
			}
			style := a.style()
			style.Short = !o.all
			return a.print(e, func(w io.Writer) error { return explain.Text(w, e, style) })
		},
	}, "")
	f := c.Flags()
	f.StringVar(&o.to, "to", "", "only this destination: its name, name:port, or id")
	f.StringVar(&o.route, "route", "", "only what a route object makes: NAME, KIND/NAME, or NAME/RULE for one of its rules")
	f.StringVar(&o.policy, "policy", "", "only policies of this kind, or one of them: KIND or KIND/NAME")
	f.StringVar(&o.field, "field", "", "only this field of policies and those below it, such as http.requestTimeout")
	f.BoolVar(&o.all, "all", false, "also fields without effect, and what does not apply")
	complete(c, "policy", completeKinds)
	a.explainFlags(c, &o.files, &o.strict)
	return c
}

// dataplaneQuestion is what is asked about a dataplane.
type dataplaneQuestion struct {
	to, route, policy, field string
	all, strict              bool
	files                    []string
}

func (o *dataplaneQuestion) filter() (explain.Narrowing, error) {
	f := explain.Narrowing{Route: o.route, Field: o.field}
	if o.policy == "" {
		return f, nil
	}
	word, name, _ := strings.Cut(o.policy, "/")
	t, err := kind(word)
	if err == nil && (!t.Policy || t.Route) {
		err = usage("--policy %s is not a kind of policy", t.Name)
	}
	f.Kind, f.Policy = t.Name, name
	return f, err
}

// explanation asks the documents of files, or the control plane where there are none.
func (a *app) explanation(c *cobra.Command, name, to string, files []string, strict bool) (explain.Explanation, error) {
	if len(files) > 0 {
		w, err := a.offline(files, strict)
		if err != nil {
			return explain.Explanation{}, err
		}
		r, err := w.dataplane(a.mesh, name)
		if err != nil {
			return explain.Explanation{}, err
		}
		e, err := explain.Of(w.model.Reader(nil), r.Ref, to)
		e.Notes = append(e.Notes, w.left...)
		return e, err
	}
	var e explain.Explanation
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
		Use:     word + " [KIND/]NAME",
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
			return a.print(e, func(w io.Writer) error { return conditions.ObjectText(w, e, a.style()) })
		},
	}, "")
	a.explainFlags(c, &files, &strict)
	return c
}

func (a *app) objectExplanation(c *cobra.Command, word, name string, fits func(api.Type) bool, files []string, strict bool) (conditions.ObjectExplanation, error) {
	var e conditions.ObjectExplanation
	if len(files) > 0 {
		w, err := a.offline(files, strict)
		if err != nil {
			return e, err
		}
		t, name, err := a.object(word, name, fits, func(t api.Type, name string) ([]string, error) { return namesOf(w.model, t, a.mesh, name), nil })
		if err != nil {
			return e, err
		}
		e, err = conditions.ExplainObject(w.model.Reader(nil), ref(t, a.mesh, name), nil)
		e.Notes = append(e.Notes, w.left...)
		return e, err
	}
	server, err := client.Find(a.server, a.tokenFile)
	if err != nil {
		return e, err
	}
	t, name, err := a.object(word, name, fits, func(t api.Type, name string) (names []string, err error) {
		_, short := api.CutNamespace(name)
		items, err := server.List(c.Context(), a.pathInMesh(t.Plural)+"?name="+url.QueryEscape(short))
		for _, i := range items {
			if full := fullName(i.Ref()); name == i.Name || name == full || name == i.Ref().FullName() {
				names = append(names, full)
			}
		}
		return names, err
	})
	if err != nil {
		return e, err
	}
	err = server.Get(c.Context(), path(t, a.mesh, name)+"/_explain", &e)
	return e, a.inItsWords(c.Context(), server, t, name, err)
}

// object is the kind and the name that an argument says: KIND/NAME, or a name alone, of which
// there is one among the kinds that fit. Named are the names, with their namespaces, of those of a
// kind whom a name may mean.
func (a *app) object(word, text string, fits func(api.Type) bool, named func(api.Type, string) ([]string, error)) (api.Type, string, error) {
	kindWord, name, slash := strings.Cut(text, "/")
	t, known := kind(kindWord)
	if slash && known == nil {
		if !fits(t) {
			return t, name, usage("%s is not a kind of %s", t.Name, word)
		}
		return t, name, nil
	}
	var found []api.Type
	var names, full []string
	for _, t := range world.Catalog().Types() {
		if !fits(t) {
			continue
		}
		meant, err := named(t, text)
		if err != nil {
			return api.Type{}, "", err
		}
		for _, n := range meant {
			found, names, full = append(found, t), append(names, n), append(full, t.Name+"/"+n)
		}
	}
	switch {
	case len(found) == 1:
		return found[0], names[0], nil
	case len(found) > 1:
		return api.Type{}, "", usage("%q is the name of several; write one of %s", text, strings.Join(full, ", "))
	case slash:
		return api.Type{}, "", known
	}
	return api.Type{}, "", usage("no %s of mesh %s is %q; write KIND/NAME", word, a.mesh, text)
}

// namesOf are the names, with their namespaces, of the objects of a kind whom documents call so.
func namesOf(m *resolve.Model, t api.Type, mesh, name string) (names []string) {
	for o := range m.Snapshot().OfKind(t.Name) {
		if (t.Global || o.Mesh == mesh) && slices.Contains(calledBy(o), name) {
			names = append(names, fullName(o.Ref))
		}
	}
	return names
}

// fullName is what people call an object: NAME, or NAMESPACE/NAME.
func fullName(r api.Ref) string {
	if r.Namespace == "" {
		return r.Name
	}
	return r.Namespace + "/" + r.Name
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

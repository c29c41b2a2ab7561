package main

import (
	"net/url"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/cmd/weft/internal/client"
	"github.com/weftmesh/weft/control/world"
)

// kind finds a kind by type name, plural or short name.
func kind(word string) (api.Type, error) {
	catalog := world.Catalog()
	if t, ok := catalog.Find(word); ok {
		return t, nil
	}
	hint := "see `weft get --help`"
	if near := catalog.Nearest(word); len(near) > 0 {
		hint = "did you mean " + strings.Join(near, " or ") + "?"
	}
	return api.Type{}, usage("there is no kind %q; %s", word, hint)
}

// located finds a kind and the control plane that has its objects.
func (a *app) located(word string) (api.Type, *client.Client, error) {
	t, err := kind(word)
	if err != nil {
		return t, nil, err
	}
	server, err := client.Find(a.server, a.tokenFile)
	return t, server, err
}

// kinds lists the kinds for help texts: type name and short name.
func kinds() string {
	var out []string
	for _, t := range world.Catalog().Types() {
		out = append(out, t.Name+" ("+t.Short+")")
	}
	return strings.Join(out, ", ")
}

// path is the REST path of the objects of a kind, or of one of them.
func path(t api.Type, mesh, name string) string {
	p := "/"
	if !t.Global {
		p += "meshes/" + url.PathEscape(mesh) + "/"
	}
	p += t.Plural
	if name != "" {
		p += "/" + url.PathEscape(inKuma(name))
	}
	return p
}

// inKuma is the name by which the control plane knows what people call
// <namespace>/<name>.
func inKuma(name string) string {
	namespace, short := api.CutNamespace(name)
	return api.Ref{Namespace: namespace, Name: short}.FullName()
}

// completeKinds completes the name of a kind.
func completeKinds(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	var words []string
	for _, t := range world.Catalog().Types() {
		words = append(words, strings.ToLower(t.Name)+"\t"+t.Plural)
	}
	return words, cobra.ShellCompDirectiveNoFileComp
}

// completeObject completes a kind, then the names that the control plane has.
func (a *app) completeObject(c *cobra.Command, args []string, start string) ([]string, cobra.ShellCompDirective) {
	switch len(args) {
	case 0:
		return completeKinds(c, args, start)
	case 1:
		return a.completeNames(args[0])(c, nil, start)
	}
	return nil, cobra.ShellCompDirectiveNoFileComp
}

// completeNames completes the name of an object of one kind.
func (a *app) completeNames(word string) cobra.CompletionFunc {
	return func(c *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		t, ok := world.Catalog().Find(word)
		if !ok || len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		server, err := client.Find(a.server, a.tokenFile)
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		items, err := server.List(c.Context(), path(t, a.mesh, ""))
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		var names []string
		for _, i := range items {
			names = append(names, strings.TrimPrefix(i.Namespace+"/"+i.Name, "/"))
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}

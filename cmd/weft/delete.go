package main

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weftmesh/weft/inspect"
)

func newDelete(a *app) *cobra.Command {
	var dryRun bool
	c := a.command(&cobra.Command{
		Use:   "delete KIND NAME",
		Short: "Delete a stored object",
		Long: `Deletes one object, and warns of those that refer to it: they stay, and what
they say of it has no effect any more. One in a namespace is called NAMESPACE/NAME.`,
		Example:           "  weft delete meshretry mr-1\n  weft delete mhttpr route-1 --dry-run\n  weft delete mt slow --mesh default",
		Args:              cobra.ExactArgs(2),
		ValidArgsFunction: a.completeObject,
		RunE:              func(c *cobra.Command, args []string) error { return a.delete(c, args[0], args[1], dryRun) },
	}, groupChange)
	c.Flags().BoolVar(&dryRun, "dry-run", false, "only say what would happen")
	a.serverFlags(c)
	a.meshFlag(c)
	return c
}

func (a *app) delete(c *cobra.Command, word, name string, dryRun bool) error {
	t, server, err := a.located(word)
	if err != nil {
		return err
	}
	var would struct{ Warnings []inspect.Violation }
	at := path(t, a.mesh, name)
	if err := server.Call(c.Context(), http.MethodDelete, at+"?dryRun=true", "", nil, &would); err != nil {
		return a.named(c.Context(), server, t, name, err)
	}
	for _, v := range would.Warnings {
		if v.File == "" { // a place in a text that nobody has at hand
			v.Line, v.Column = 0, 0
		}
		fmt.Fprintln(a.err, strings.TrimPrefix(v.Object+": ", ": ")+line(v))
	}
	if dryRun {
		fmt.Fprintln(a.out, ref(t, a.mesh, name), "deleted (dry run)")
		return nil
	}
	if err := server.Call(c.Context(), http.MethodDelete, at, "", nil, nil); err != nil {
		return a.named(c.Context(), server, t, name, err)
	}
	fmt.Fprintln(a.out, ref(t, a.mesh, name), "deleted")
	return nil
}

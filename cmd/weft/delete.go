package main

import (
	"fmt"
	"net/http"

	"github.com/spf13/cobra"
)

func newDelete(a *app) *cobra.Command {
	c := a.command(&cobra.Command{
		Use:               "delete KIND NAME",
		Short:             "Delete a stored object",
		Long:              "Deletes one object. One in a namespace is called NAMESPACE/NAME.",
		Example:           "  weft delete meshretry mr-1\n  weft delete mt slow --mesh default",
		Args:              cobra.ExactArgs(2),
		ValidArgsFunction: a.completeObject,
		RunE: func(c *cobra.Command, args []string) error {
			t, server, err := a.located(args[0])
			if err != nil {
				return err
			}
			if err := server.Call(c.Context(), http.MethodDelete, path(t, a.mesh, args[1]), "", nil, nil); err != nil {
				return a.named(c.Context(), server, t, args[1], err)
			}
			fmt.Fprintln(a.out, ref(t, a.mesh, args[1]), "deleted")
			return nil
		},
	}, groupChange)
	a.serverFlags(c)
	a.meshFlag(c)
	return c
}

package main

import (
	"fmt"
	"net/http"

	"github.com/spf13/cobra"

	"github.com/weftmesh/weft/cmd/weft/internal/client"
)

func newDelete(a *app) *cobra.Command {
	c := a.command(&cobra.Command{
		Use:               "delete KIND NAME",
		Short:             "Delete a stored object",
		Example:           "  weft delete meshretry mr-1\n  weft delete mt slow --mesh default",
		Args:              cobra.ExactArgs(2),
		ValidArgsFunction: a.completeObject,
		RunE: func(c *cobra.Command, args []string) error {
			t, err := kind(args[0])
			if err != nil {
				return err
			}
			server, err := client.Find(a.server, a.tokenFile)
			if err != nil {
				return err
			}
			err = server.Call(c.Context(), http.MethodDelete, path(t, a.mesh, args[1]), "", nil, nil)
			if client.Missing(err) {
				return fmt.Errorf("%s: there is no such object; `weft get %s` lists those that there are", ref(t, a.mesh, args[1]), t.Plural)
			}
			if err != nil {
				return err
			}
			fmt.Fprintln(a.out, ref(t, a.mesh, args[1]), "deleted")
			return nil
		},
	}, groupChange)
	a.serverFlags(c)
	a.meshFlag(c)
	return c
}

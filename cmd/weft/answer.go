package main

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"github.com/weftmesh/weft/cmd/weft/internal/client"
	"github.com/weftmesh/weft/inspect/terminal"
)

// answers makes c ask the control plane something about a mesh, and print its answer, which says
// itself how people read it.
func answers[T any, P interface {
	*T
	Text(io.Writer, terminal.Style) error
}](a *app, c *cobra.Command, group string, ask func(ctx context.Context, server *client.Client, args []string, answer *T) error) *cobra.Command {
	c.RunE = func(c *cobra.Command, args []string) error {
		if err := a.checkOutput(); err != nil {
			return err
		}
		server, err := client.Find(a.server, a.tokenFile)
		if err != nil {
			return err
		}
		var answer T
		if err := ask(c.Context(), server, args, &answer); err != nil {
			return err
		}
		return a.print(answer, func(w io.Writer) error { return P(&answer).Text(w, a.style()) })
	}
	a.command(c, group)
	a.serverFlags(c)
	a.meshFlag(c)
	a.outputFlag(c)
	return c
}

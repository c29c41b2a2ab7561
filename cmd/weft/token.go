package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/weftmesh/weft/cmd/weft/internal/client"
)

func newToken(a *app) *cobra.Command {
	c := a.command(&cobra.Command{
		Use:     "token",
		Short:   "Issue tokens for dataplanes and users",
		Example: "  weft token dataplane --name web-1 > web-1.token\n  weft token user --name alice",
		Args:    cobra.NoArgs,
		RunE:    func(c *cobra.Command, _ []string) error { return c.Help() },
	}, groupRun)
	c.AddCommand(newDataplaneToken(a), newUserToken(a))
	return c
}

func newDataplaneToken(a *app) *cobra.Command {
	c := a.tokenCommand(&cobra.Command{
		Use:     "dataplane --name NAME",
		Short:   "Issue the token by which one sidecar proves which dataplane it is",
		Example: "  weft token dataplane --mesh default --name web-1 --valid-for 720h > web-1.token",
	}, "dataplane", 720*time.Hour, func() map[string]any { return map[string]any{"mesh": a.mesh} })
	a.meshFlag(c)
	complete(c, "name", a.completeNames("dataplane"))
	return c
}

func newUserToken(a *app) *cobra.Command {
	var groups []string
	c := a.tokenCommand(&cobra.Command{
		Use:     "user --name NAME",
		Short:   "Issue a token by which a person or a program uses the API",
		Example: "  weft token user --name alice --group mesh-system:admin --valid-for 24h",
	}, "user", 24*time.Hour, func() map[string]any { return map[string]any{"groups": groups} })
	c.Flags().StringSliceVar(&groups, "group", nil, "group of the user; may be repeated")
	return c
}

// tokenCommand makes c issue tokens of one kind; more is what the request says
// beside the name and the time.
func (a *app) tokenCommand(c *cobra.Command, kind string, usual time.Duration, more func() map[string]any) *cobra.Command {
	var name string
	var valid time.Duration
	c.Args = cobra.NoArgs
	c.RunE = func(c *cobra.Command, _ []string) error {
		switch {
		case name == "":
			return usage("--name is missing; name the %s that the token is for", kind)
		case valid <= 0:
			return usage("--valid-for %s is over at once; give a positive duration, such as 720h", valid)
		}
		server, err := client.Find(a.server, a.tokenFile)
		if err != nil {
			return err
		}
		body := more()
		body["name"], body["validFor"] = name, valid.String()
		var text []byte
		if err := server.Post(c.Context(), "/tokens/"+kind, body, &text); err != nil {
			return err
		}
		fmt.Fprintln(a.out, strings.TrimSpace(string(text)))
		return nil
	}
	a.serverFlags(c)
	c.Flags().StringVar(&name, "name", "", kind+" that the token is for")
	c.Flags().DurationVar(&valid, "valid-for", usual, "how long the token is good")
	return a.command(c, "")
}

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
	var name string
	var valid time.Duration
	c := a.command(&cobra.Command{
		Use:     "dataplane --name NAME",
		Short:   "Issue the token by which one sidecar proves which dataplane it is",
		Example: "  weft token dataplane --mesh default --name web-1 --valid-for 720h > web-1.token",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if name == "" {
				return usage("--name is missing; name the dataplane that the token is for")
			}
			return a.token(c, "/tokens/dataplane", map[string]any{"mesh": a.mesh, "name": name, "validFor": valid.String()}, valid)
		},
	}, "")
	a.serverFlags(c)
	a.meshFlag(c)
	c.Flags().StringVar(&name, "name", "", "dataplane that the token is for")
	c.Flags().DurationVar(&valid, "valid-for", 720*time.Hour, "how long the token is good")
	complete(c, "name", a.completeNames("dataplane"))
	return c
}

func newUserToken(a *app) *cobra.Command {
	var name string
	var groups []string
	var valid time.Duration
	c := a.command(&cobra.Command{
		Use:     "user --name NAME",
		Short:   "Issue a token by which a person or a program uses the API",
		Example: "  weft token user --name alice --group mesh-system:admin --valid-for 24h",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if name == "" {
				return usage("--name is missing; name the user that the token is for")
			}
			return a.token(c, "/tokens/user", map[string]any{"name": name, "groups": groups, "validFor": valid.String()}, valid)
		},
	}, "")
	a.serverFlags(c)
	c.Flags().StringVar(&name, "name", "", "user that the token is for")
	c.Flags().StringSliceVar(&groups, "group", nil, "group of the user; may be repeated")
	c.Flags().DurationVar(&valid, "valid-for", 24*time.Hour, "how long the token is good")
	return c
}

func (a *app) token(c *cobra.Command, path string, body any, valid time.Duration) error {
	if valid <= 0 {
		return usage("--valid-for %s is over at once; give a positive duration, such as 720h", valid)
	}
	server, err := client.Find(a.server, a.tokenFile)
	if err != nil {
		return err
	}
	var text []byte
	if err := server.Post(c.Context(), path, body, &text); err != nil {
		return err
	}
	fmt.Fprintln(a.out, strings.TrimSpace(string(text)))
	return nil
}

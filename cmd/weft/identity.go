package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/weftmesh/weft/cmd/weft/internal/client"
	"github.com/weftmesh/weft/inspect/mtls"
)

func newIdentity(a *app) *cobra.Command {
	c := a.command(&cobra.Command{
		Use:     "identity",
		Short:   "Revoke identities of workloads",
		Example: "  weft identity revoke spiffe://default/web",
		Args:    cobra.NoArgs,
		RunE:    func(c *cobra.Command, _ []string) error { return c.Help() },
	}, groupRun)
	c.AddCommand(newRevokeIdentity(a))
	return c
}

func newRevokeIdentity(a *app) *cobra.Command {
	var dry bool
	c := answers(a, &cobra.Command{
		Use:   "revoke SPIFFE-ID",
		Short: "Refuse an identity everywhere, and give it no certificate",
		Long: `Writes the identity into the MeshTrafficPermission revoked-identities-MESH, which denies
it over all else. Its sidecars get no certificate and no configuration any more and
their streams end; inbounds refuse its requests, and their connections drain. To take
it back, take its rule out of that document. A token in wrong hands is revoked by
weft token revoke as well.`,
		Example: `  weft identity revoke spiffe://default/web
  weft identity revoke spiffe://default.east.mesh.local/ns/shop/sa/web --dry-run`,
		Args: cobra.ExactArgs(1),
	}, "", func(ctx context.Context, server *client.Client, args []string, done *mtls.RevokedIdentity) error {
		return server.Post(ctx, a.authoritiesOf("/revoke"), map[string]any{"spiffeID": args[0], "dryRun": dry}, done)
	})
	c.Flags().BoolVar(&dry, "dry-run", false, "change nothing, and say whom it would concern")
	return c
}

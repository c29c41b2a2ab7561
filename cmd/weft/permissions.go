package main

import (
	"context"
	"net/url"

	"github.com/spf13/cobra"

	"github.com/weftmesh/weft/cmd/weft/internal/client"
	"github.com/weftmesh/weft/inspect/permissions"
)

func newPermissions(a *app) *cobra.Command {
	var from, to string
	var counts bool
	c := answers(a, &cobra.Command{
		Use:   "permissions",
		Short: "Show who may call what, and who says so",
		Long: `Shows for each destination of a mesh and each caller whether it is let in: allow,
deny, some where that depends on the request, and open where nobody asks who calls.
Each has the entry that decides. --counts asks the Envoys of who is called how many requests
shadows of permissions would have refused, were they real.`,
		Example: "  weft permissions\n  weft permissions --to backend --from web-1 -o json",
		Args:    cobra.NoArgs,
	}, groupAsk, func(ctx context.Context, server *client.Client, _ []string, all *permissions.Permissions) error {
		query := url.Values{"from": {from}, "to": {to}}
		if counts {
			query.Set("counts", "true")
		}
		return server.Get(ctx, a.pathInMesh("_permissions")+"?"+query.Encode(), all)
	})
	c.Flags().StringVar(&from, "from", "", "only what this dataplane may call")
	c.Flags().StringVar(&to, "to", "", "only who may call this service, as kuma.io/service names it")
	c.Flags().BoolVar(&counts, "counts", false, "ask Envoys what shadows of permissions would have refused")
	return c
}

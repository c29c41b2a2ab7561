package main

import (
	"io"
	"net/url"

	"github.com/spf13/cobra"

	"github.com/weftmesh/weft/cmd/weft/internal/client"
	"github.com/weftmesh/weft/inspect"
)

func newPermissions(a *app) *cobra.Command {
	var from, to string
	var counts bool
	c := a.command(&cobra.Command{
		Use:   "permissions",
		Short: "Show who may call what, and who says so",
		Long: `Shows for each destination of a mesh and each caller whether it is let in: allow,
deny, some where that depends on the request, and open where nobody asks who calls.
Each has the entry that decides. --counts asks the Envoys of who is called how many requests
shadows of permissions would have refused, were they real.`,
		Example: "  weft permissions\n  weft permissions --to backend --from web-1 -o json",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := a.checkOutput(); err != nil {
				return err
			}
			server, err := client.Find(a.server, a.tokenFile)
			if err != nil {
				return err
			}
			var all inspect.Permissions
			query := url.Values{"from": {from}, "to": {to}}
			if counts {
				query.Set("counts", "true")
			}
			if err := server.Get(c.Context(), "/meshes/"+url.PathEscape(a.mesh)+"/_permissions?"+query.Encode(), &all); err != nil {
				return err
			}
			return a.print(all, func(w io.Writer) error { return all.Text(w, a.style()) })
		},
	}, groupAsk)
	c.Flags().StringVar(&from, "from", "", "only what this dataplane may call")
	c.Flags().StringVar(&to, "to", "", "only who may call this service, as kuma.io/service names it")
	c.Flags().BoolVar(&counts, "counts", false, "ask Envoys what shadows of permissions would have refused")
	a.serverFlags(c)
	a.meshFlag(c)
	a.outputFlag(c)
	return c
}

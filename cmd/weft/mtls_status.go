package main

import (
	"io"
	"net/url"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/weftmesh/weft/cmd/weft/internal/client"
	"github.com/weftmesh/weft/inspect"
)

// newMTLSStatus shows how far a mesh is on the way from plain text to mutual TLS.
func newMTLSStatus(a *app) *cobra.Command {
	var name string
	var size int
	c := a.command(&cobra.Command{
		Use:   "status",
		Short: "Show roots, certificates, and connections in plain text",
		Long: `Shows for a mesh the roots of its authorities, and for each inbound which mode of
mutual TLS documents want, which one its Envoy has confirmed, and how many
connections it has by TLS and in plain text; at the end who called in plain text.`,
		Example: "  weft mtls status\n  weft mtls status --name backend -o json",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := a.checkOutput(); err != nil {
				return err
			}
			server, err := client.Find(a.server, a.tokenFile)
			if err != nil {
				return err
			}
			query := url.Values{}
			if name != "" {
				query.Set("name", name)
			}
			if size > 0 {
				query.Set("size", strconv.Itoa(size))
			}
			var all inspect.MTLS
			if err := server.Get(c.Context(), "/meshes/"+url.PathEscape(a.mesh)+"/_mtls?"+query.Encode(), &all); err != nil {
				return err
			}
			return a.print(all, func(w io.Writer) error { return all.Text(w, a.style()) })
		},
	}, "")
	c.Flags().StringVar(&name, "name", "", "only dataplanes of whose names this is a part")
	c.Flags().IntVar(&size, "size", 0, "how many dataplanes to show at most; 0 is all")
	a.serverFlags(c)
	a.meshFlag(c)
	a.outputFlag(c)
	return c
}

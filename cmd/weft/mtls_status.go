package main

import (
	"context"
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
	c := answers(a, &cobra.Command{
		Use:   "status",
		Short: "Show roots, certificates, and connections in plain text",
		Long: `Shows for a mesh the roots of its authorities, and for each inbound which mode of
mutual TLS documents want, which one its Envoy has confirmed, and how many
connections it has by TLS and in plain text; at the end who called in plain text.`,
		Example: "  weft mtls status\n  weft mtls status --name backend -o json",
		Args:    cobra.NoArgs,
	}, "", func(ctx context.Context, server *client.Client, _ []string, all *inspect.MTLS) error {
		query := url.Values{}
		if name != "" {
			query.Set("name", name)
		}
		if size > 0 {
			query.Set("size", strconv.Itoa(size))
		}
		return server.Get(ctx, "/meshes/"+url.PathEscape(a.mesh)+"/_mtls?"+query.Encode(), all)
	})
	c.Flags().StringVar(&name, "name", "", "only dataplanes of whose names this is a part")
	c.Flags().IntVar(&size, "size", 0, "how many dataplanes to show at most; 0 is all")
	return c
}

package main

import (
	"context"
	"fmt"
	"net/url"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/weftmesh/weft/cmd/weft/internal/client"
	"github.com/weftmesh/weft/inspect/mtls"
)

// newMTLSStatus shows how far a mesh is on the way from plain text to mutual TLS.
func newMTLSStatus(a *app) *cobra.Command {
	var name string
	var size int
	var wait time.Duration
	c := answers(a, &cobra.Command{
		Use:   "status",
		Short: "Show roots, certificates, and connections in plain text",
		Long: `Shows for a mesh the roots of its authorities, and for each inbound which mode of
mutual TLS documents want, which one its Envoy has confirmed, and how many
connections it has by TLS and in plain text; at the end who called in plain text.
With --wait it returns when the mesh waits for nothing, as far as documents have it
go, and fails with what it waits for if that is not so by then.`,
		Example: "  weft mtls status\n  weft mtls status --name backend -o json\n  weft apply -f strict.yaml && weft mtls status --wait 60s",
		Args:    cobra.NoArgs,
	}, "", func(ctx context.Context, server *client.Client, _ []string, all *mtls.MTLS) error {
		query := url.Values{}
		if name != "" {
			query.Set("name", name)
		}
		if size > 0 {
			query.Set("size", strconv.Itoa(size))
		}
		return a.awaitMTLS(ctx, server, a.pathInMesh("_mtls")+"?"+query.Encode(), wait, all)
	})
	c.Flags().StringVar(&name, "name", "", "only dataplanes of whose names this is a part")
	c.Flags().DurationVar(&wait, "wait", 0, "wait so long for the mesh to get where documents have it go")
	c.Flags().IntVar(&size, "size", 0, "how many dataplanes to show at most; 0 is all")
	return c
}

// awaitMTLS asks until the mesh waits for nothing, or the time is over.
func (a *app) awaitMTLS(ctx context.Context, server *client.Client, path string, wait time.Duration, all *mtls.MTLS) error {
	return a.until(ctx, wait, func(ctx context.Context) (sample, error) {
		*all = mtls.MTLS{}
		if err := server.Get(ctx, path, all); err != nil || len(all.Phase.WaitsFor) == 0 {
			return sample{}, err
		}
		first := all.Phase.WaitsFor[0]
		return sample{server, fmt.Errorf("%s waits: %s", all.Phase.Name, first), first}, nil
	})
}

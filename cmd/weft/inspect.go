package main

import (
	"github.com/spf13/cobra"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/cmd/weft/internal/client"
	"github.com/weftmesh/weft/control/world"
)

// inspections are what can be asked of the Envoy of a sidecar: the command, the path of
// the API, and what it shows.
var inspections = []struct{ name, path, about string }{
	{"config-dump", "xds", "Show the configuration that the sidecar's Envoy holds"},
	{"stats", "stats", "Show the statistics of the sidecar's Envoy"},
	{"clusters", "clusters", "Show the clusters of the sidecar's Envoy, and who answers for them"},
}

func newInspect(a *app) *cobra.Command {
	c := a.command(&cobra.Command{
		Use:   "inspect",
		Short: "List dataplanes, and ask the Envoy of one what it really holds",
		Long: `Lists dataplanes with how far each follows, and asks the Envoy of a sidecar through the
control plane and the sidecar's own agent, which leaves out keys and tokens. What should be
there says "weft explain dataplane".`,
		Example: "  weft inspect dataplanes --state behind\n  weft inspect config-dump web-1\n  weft inspect stats web-1\n  weft inspect clusters web-1 -o json",
		Args:    cobra.NoArgs,
		RunE:    func(c *cobra.Command, _ []string) error { return c.Help() },
	}, groupAsk)
	c.AddCommand(newInspectDataplanes(a))
	for _, what := range inspections {
		sub := a.command(&cobra.Command{
			Use:               what.name + " DATAPLANE",
			Short:             what.about,
			Example:           "  weft inspect " + what.name + " web-1",
			Args:              cobra.ExactArgs(1),
			ValidArgsFunction: a.completeNames("dataplane"),
			RunE: func(c *cobra.Command, args []string) error {
				if err := a.checkOutput(); err != nil {
					return err
				}
				if a.output == "yaml" {
					return usage("--output yaml: Envoys answer in text or JSON; use json, or leave it out")
				}
				server, err := client.Find(a.server, a.tokenFile)
				if err != nil {
					return err
				}
				path := a.pathInMesh("dataplanes", inKuma(args[0])) + "/" + what.path
				if a.output == "json" {
					path += "?format=json"
				}
				var text []byte
				if err := server.Get(c.Context(), path, &text); err != nil {
					t, _ := world.Catalog().Type(api.KindDataplane)
					return a.inItsWords(c.Context(), server, t, args[0], err)
				}
				_, err = a.out.Write(text)
				return err
			},
		}, "")
		a.serverFlags(sub)
		a.meshFlag(sub)
		a.outputFlag(sub)
		c.AddCommand(sub)
	}
	return c
}

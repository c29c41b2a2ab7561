package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weftmesh/weft/api/crd"
	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/deploy"
)

//go:generate go run . install crds --with httpproxy,routegroup --directory ../../deploy/crds
//go:generate go run . install crds --directory ../../deploy/chart/crds

// definitions is the command line of install crds.
type definitions struct {
	with      []string
	gateway   string
	directory string
}

func newInstallCRDs(a *app) *cobra.Command {
	var d definitions
	bundles := strings.Join(crd.Bundles(world.Catalog()), ",")
	c := a.command(&cobra.Command{
		Use:   "crds",
		Short: "Print the custom resources that weft reads",
		Long: `Prints the CustomResourceDefinitions of weft's own kinds as one stream of YAML. A cluster
that has them of Kuma would have them replaced: look first.

Those of HTTPProxy and RouteGroup are supersets of what Contour and Skipper publish, with
the fields of older forms and conditions in the status; they are printed only where --with
names them. Those of the Gateway API are printed as its project publishes them, where
--gateway-api names a channel; a cluster may have them already.`,
		Example: "  weft install crds | kubectl apply --server-side -f -\n  weft install crds --with " + bundles + " --directory crds/\n  weft install crds --gateway-api standard | kubectl apply --server-side -f -",
		Args:    cobra.NoArgs,
		RunE:    func(*cobra.Command, []string) error { return a.installCRDs(d) },
	}, "")
	c.Flags().StringSliceVar(&d.with, "with", nil, "also print these: "+bundles)
	c.Flags().StringVar(&d.directory, "directory", "", "write a file for each into this directory, in place of printing them")
	c.Flags().StringVar(&d.gateway, "gateway-api", "", "also print those of the Gateway API, of this channel: "+strings.Join(deploy.Channels, " or "))
	complete(c, "gateway-api", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return deploy.Channels, cobra.ShellCompDirectiveNoFileComp
	})
	complete(c, "with", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return crd.Bundles(world.Catalog()), cobra.ShellCompDirectiveNoFileComp
	})
	return c
}

func (a *app) installCRDs(d definitions) error {
	known := crd.Bundles(world.Catalog())
	for _, w := range d.with {
		if !slices.Contains(known, w) {
			return usage("--with %q is unknown; write one of %s", w, strings.Join(known, ", "))
		}
	}
	gateway, err := gatewayDefinitions(d.gateway)
	if err != nil {
		return err
	}
	all := crd.All(world.Catalog(), thisBuild().bundle(), d.with...)
	if d.directory == "" {
		if err := writeDocuments(a.out, all); err != nil {
			return err
		}
		_, err := a.out.Write(gateway)
		return err
	}
	if err := os.MkdirAll(d.directory, 0o755); err != nil {
		return fmt.Errorf("write definitions: %w", err)
	}
	for _, one := range all {
		var text bytes.Buffer
		if err := writeYAML(&text, one); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(d.directory, one.Metadata.Name+".yaml"), text.Bytes(), 0o644); err != nil {
			return fmt.Errorf("write definitions: %w", err)
		}
	}
	if len(gateway) > 0 {
		if err := os.WriteFile(filepath.Join(d.directory, "gateway-api-"+d.gateway+".yaml"), gateway, 0o644); err != nil {
			return fmt.Errorf("write definitions: %w", err)
		}
	}
	return nil
}

// gatewayDefinitions are those of a channel of the Gateway API; empty without one.
func gatewayDefinitions(channel string) ([]byte, error) {
	if channel == "" {
		return nil, nil
	}
	if !slices.Contains(deploy.Channels, channel) {
		return nil, usage("--gateway-api %q is unknown; write one of %s", channel, strings.Join(deploy.Channels, ", "))
	}
	return deploy.GatewayAPI(channel)
}

// bundle is the version that definitions are marked with.
func (b build) bundle() string {
	if release == "" {
		return "dev"
	}
	return b.Version
}

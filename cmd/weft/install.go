package main

import (
	"github.com/spf13/cobra"

	"github.com/weftmesh/weft/cmd/internal/sidecarcmd"
)

func newInstall(a *app) *cobra.Command {
	c := a.command(&cobra.Command{
		Use:     "install",
		Short:   "Print what a cluster needs, or set up this host",
		Example: "  weft install control-plane | kubectl apply --server-side -f -\n  weft install transparent-proxy --dry-run",
		Args:    cobra.NoArgs,
		RunE:    func(c *cobra.Command, _ []string) error { return c.Help() },
	}, groupRun)
	c.AddCommand(newInstallCRDs(a), newInstallControlPlane(a), sidecarcmd.InstallTransparentProxy())
	return c
}

func newUninstall(a *app) *cobra.Command {
	c := a.command(&cobra.Command{
		Use:     "uninstall",
		Short:   "Take away what install made",
		Example: "  weft uninstall control-plane | kubectl delete --ignore-not-found -f -\n  weft uninstall transparent-proxy",
		Args:    cobra.NoArgs,
		RunE:    func(c *cobra.Command, _ []string) error { return c.Help() },
	}, groupRun)
	c.AddCommand(newUninstallControlPlane(a), sidecarcmd.UninstallTransparentProxy())
	return c
}

package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/weftmesh/weft/cmd/weft/internal/client"
	"github.com/weftmesh/weft/inspect/mtls"
)

func newMTLS(a *app) *cobra.Command {
	c := a.command(&cobra.Command{
		Use:     "mtls",
		Short:   "Show how far a mesh is with mutual TLS, and replace roots",
		Example: "  weft mtls status\n  weft mtls authorities\n  weft mtls rotate\n  weft mtls abort",
		Args:    cobra.NoArgs,
		RunE:    func(c *cobra.Command, _ []string) error { return c.Help() },
	}, groupRun)
	c.AddCommand(newMTLSStatus(a), newAuthorities(a), newRotate(a), newAbort(a))
	return c
}

func newAuthorities(a *app) *cobra.Command {
	return answers(a, &cobra.Command{
		Use:   "authorities",
		Short: "Show who signs certificates, and where the rotations of roots stand",
		Long: `Shows each authority of a mesh, its roots with how many sidecars have a certificate
of each, the phase of its rotation, and whom that waits for. Of an authority outside,
as a SPIRE, it shows by whom its roots are believed. What is wrong, and how many
dataplanes have no certificate, stands with each.`,
		Example: "  weft mtls authorities\n  weft mtls authorities --mesh shop -o json",
		Args:    cobra.NoArgs,
	}, "", func(ctx context.Context, server *client.Client, _ []string, all *mtls.Authorities) error {
		return server.Get(ctx, a.authoritiesOf(""), all)
	})
}

func (a *app) authoritiesOf(what string) string {
	return a.pathInMesh("_authorities") + what
}

// turning is what rotate and abort ask for.
type rotation struct {
	Identity string `json:"identity,omitempty"`
	Force    bool   `json:"force,omitempty"`
	Now      bool   `json:"now,omitempty"`
	Spread   string `json:"spread,omitempty"`
	DryRun   bool   `json:"dryRun,omitempty"`
}

func newRotate(a *app) *cobra.Command {
	var ask rotation
	var spread time.Duration
	c := a.rotateCommand(&cobra.Command{
		Use:   "rotate",
		Short: "Replace the root of an authority while sidecars call each other",
		Long: `Makes another root and has it take over without a failed connection: first all
sidecars trust it (Trusting), then it signs and certificates are renewed (Issuing),
then the last certificates of the old root end (Settling), then the old root is
trusted no more (Retiring). weft mtls authorities shows the phase.

--force ends a rotation that runs: the old root is trusted no more at once. --now does
that with a new rotation too, for a root whose key is in wrong hands. Both say of
which sidecars new connections fail until they have renewed; --dry-run only says it.`,
		Example: `  weft mtls rotate
  weft mtls rotate --identity shop --rotation-spread 1h
  weft mtls rotate --now --dry-run`,
	}, "/rotate", &ask)
	c.Flags().BoolVar(&ask.Force, "force", false, "trust the old root of the rotation that runs no more, whoever still has a certificate of it")
	c.Flags().BoolVar(&ask.Now, "now", false, "trust the old root no more at once: its key is in wrong hands")
	c.Flags().DurationVar(&spread, "rotation-spread", 0, "over how long certificates are renewed (default as weft serve says)")
	c.PreRunE = func(c *cobra.Command, _ []string) error {
		if c.Flags().Changed("rotation-spread") {
			if spread <= 0 {
				return usage("--rotation-spread %s is no positive duration; write 10m", spread)
			}
			ask.Spread = spread.String()
		}
		return nil
	}
	return c
}

func newAbort(a *app) *cobra.Command {
	return a.rotateCommand(&cobra.Command{
		Use:   "abort",
		Short: "Go back to the root that was to be replaced",
		Long: `Ends a rotation by the same phases backwards, so that no connection fails. Once the old
root is being retired there is no way back: wait, and rotate again.`,
		Example: "  weft mtls abort\n  weft mtls abort --identity shop",
	}, "/abort", &rotation{})
}

// rotateCommand makes c ask something of a root.
func (a *app) rotateCommand(c *cobra.Command, path string, ask *rotation) *cobra.Command {
	c.Args = cobra.NoArgs
	answers(a, c, "", func(ctx context.Context, server *client.Client, _ []string, done *mtls.Rotated) error {
		return server.Post(ctx, a.authoritiesOf(path), ask, done)
	})
	c.Flags().StringVar(&ask.Identity, "identity", "", "name of the MeshIdentity whose root it is (default: that of Mesh.mtls)")
	c.Flags().BoolVar(&ask.DryRun, "dry-run", false, "change nothing, and say what would be")
	return c
}

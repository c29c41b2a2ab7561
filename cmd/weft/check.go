package main

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/weftmesh/weft/cmd/internal/cli"
	"github.com/weftmesh/weft/cmd/internal/sidecarcmd"
	"github.com/weftmesh/weft/cmd/weft/internal/check"
	"github.com/weftmesh/weft/cmd/weft/internal/cluster"
	"github.com/weftmesh/weft/control/install"
	"github.com/weftmesh/weft/sidecar/inject"
)

// clusterTarget is which cluster a command line is about.
type clusterTarget struct {
	kubeconfig, context, namespace string
}

func clusterFlags(c *cobra.Command, t *clusterTarget) {
	c.Flags().StringVar(&t.kubeconfig, "kubeconfig", "", "file that says how the API server is reached (else KUBECONFIG, else ~/.kube/config)")
	c.Flags().StringVar(&t.context, "context", "", "context of that file (default the current one)")
	c.Flags().StringVarP(&t.namespace, "namespace", "n", install.DefaultNamespace, "namespace of the control plane")
}

// open reaches the API server.
func (t clusterTarget) open() (*cluster.Client, error) {
	return cluster.Open(t.kubeconfig, t.context, "weft/"+thisBuild().Version)
}

func newCheck(a *app) *cobra.Command {
	var on clusterTarget
	before := false
	c := a.command(&cobra.Command{
		Use:   "check",
		Short: "See whether a cluster has all that weft needs, or what is wrong with an installation",
		Long: `Goes through a list of things that have to hold, and says of each that does not what was
found, what to do, and which section of the documentation is about it. It changes nothing
and reads no Secret. What you may not look at is skipped, and said to be.

Outside of Kubernetes weft check sidecar looks at a host. With --pre it looks at a cluster before weft is installed: among other things whether
custom resources of another mesh would be replaced.

The exit status is 1 if something is wrong, and 0 where there are warnings alone.`,
		Example: "  weft check --pre\n  weft check\n  weft check -o json --namespace mesh",
		Args:    cobra.NoArgs,
		RunE:    func(c *cobra.Command, _ []string) error { return a.check(c, on, before) },
	}, groupRun)
	clusterFlags(c, &on)
	c.Flags().BoolVar(&before, "pre", false, "look at a cluster before weft is installed")
	a.outputFlag(c)
	c.AddCommand(newCheckSidecar(a))
	return c
}

func newCheckSidecar(a *app) *cobra.Command {
	x, redirected := sidecarcmd.NewLine(a.program()), false
	c := a.command(&cobra.Command{
		Use:   "sidecar",
		Short: "See whether a sidecar outside of Kubernetes would run on this host, or what is wrong with one that does",
		Long: `Takes the flags and the environment of weft sidecar, and looks at what has to hold on this
host: that Envoy runs, ports are free, the token and the authority are sound, and the control
plane is reached, is the one of --ca-file, takes the token and has the same time. It changes
nothing, brings no Dataplane and gets no certificate. Run it as the sidecar's user, and as
root for --transparent-proxy.

The exit status is 1 if something is wrong, and 0 where there are warnings alone.`,
		Example: `  weft check sidecar --xds https://10.0.0.1:5678 --name web-1 --token-file web-1.token --ca-file ca.pem
  weft check sidecar --dataplane-file web-1.yaml --token-file web-1.token --ca-file ca.pem --transparent-proxy -o json`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := errors.Join(a.checkOutput(), x.Read(c)); err != nil {
				return err
			}
			return a.checks(c, check.Options{Now: time.Now(), Sidecar: &check.Sidecar{Config: x.Config, TransparentProxy: redirected}})
		},
	}, "")
	x.Flags(c)
	c.Flags().BoolVar(&redirected, "transparent-proxy", false, "look whether traffic can be redirected to the sidecar too")
	a.outputFlag(c)
	return c
}

// checked is what programs get.
type checked struct {
	Success bool           `json:"success"`
	Checks  []check.Result `json:"checks"`
}

func (a *app) check(c *cobra.Command, on clusterTarget, before bool) error {
	if err := a.checkOutput(); err != nil {
		return err
	}
	client, err := on.open()
	if err != nil {
		return err
	}
	return a.checks(c, check.Options{Cluster: client, Namespace: on.namespace, Version: inject.Tag(thisBuild().Version),
		Bundle: thisBuild().bundle(), Before: before, Now: time.Now()})
}

// checks goes through them, and tells each.
func (a *app) checks(c *cobra.Command, of check.Options) error {
	out, last := checked{Checks: []check.Result{}}, ""
	out.Success = check.Run(c.Context(), of, func(r check.Result) {
		out.Checks = append(out.Checks, r)
		if a.output == "table" {
			if r.Group != last {
				last = r.Group
				fmt.Fprintf(a.out, "%s\n%s\n", r.Group, strings.Repeat("-", len(r.Group)))
			}
			fmt.Fprint(a.out, checkLine(r))
		}
	})
	failed := &exitError{Status: cli.StatusFailed}
	if a.output != "table" {
		if err := a.print(out, nil); err != nil || out.Success {
			return err
		}
		return failed
	}
	if !out.Success {
		fmt.Fprintln(a.out, "\nsomething is wrong")
		return failed
	}
	_, err := fmt.Fprintln(a.out, "\nnothing is wrong")
	return errors.Join(err)
}

// checkLine is one check for people.
func checkLine(r check.Result) string {
	mark := map[string]string{check.OK: "✓", check.Warning: "‼", check.Error: "×", check.Skipped: "-"}[r.Status]
	out := mark + " " + r.Check + "\n"
	for _, line := range []string{r.Message, r.Hint, r.Page} {
		if line != "" {
			out += "    " + line + "\n"
		}
	}
	return out
}

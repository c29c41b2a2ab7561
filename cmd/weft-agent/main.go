// Command weft-agent is the agent of a sidecar alone: what `weft sidecar`, `weft install
// transparent-proxy` and `weft uninstall transparent-proxy` do, by the same command lines, without
// the control plane and what else weft is. It is what images of pods hold.
//
//go:generate go test -run ^TestReferenceIsFresh$ . -update
package main

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/hashicorp/go-multierror"
	"github.com/spf13/cobra"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/decode"
	"github.com/weftmesh/weft/cmd/internal/cli"
	"github.com/weftmesh/weft/cmd/internal/sidecarcmd"
)

// release is the version that `make build` writes into the binary.
var release = ""

func main() { cli.Main(run) }

// run executes one command line and returns its exit status.
func run(ctx context.Context, args []string, in io.Reader, out, errs io.Writer) int {
	return cli.Run(ctx, newRoot(in, errs), args, in, out, errs)
}

func newRoot(in io.Reader, errs io.Writer) *cobra.Command {
	root := &cobra.Command{
		Use:     "weft-agent",
		Short:   "The agent of a sidecar: weft sidecar as a program of its own",
		Long:    "Runs Envoy beside a workload, and redirects the workload's traffic to it, as the same commands of weft do.",
		Version: cli.Version(release),
		RunE:    func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	install := cli.Command(&cobra.Command{Use: "install", Short: "Set up this host or network namespace"}, "")
	install.AddCommand(sidecarcmd.InstallTransparentProxy())
	uninstall := cli.Command(&cobra.Command{Use: "uninstall", Short: "Take away what was set up"}, "")
	uninstall.AddCommand(sidecarcmd.UninstallTransparentProxy())
	root.AddCommand(install, uninstall, sidecarcmd.New(sidecarcmd.Program{
		Version:   root.Version,
		Documents: func(file string) ([]*api.Object, error) { return documents(in, errs, file) },
	}, ""))
	return root
}

// documents reads the documents of a file of a sidecar, of the kinds that it can have.
func documents(in io.Reader, errs io.Writer, file string) ([]*api.Object, error) {
	name, text, err := file, []byte(nil), error(nil)
	if file == "-" {
		name = "<stdin>"
		text, err = io.ReadAll(in)
	} else {
		text, err = os.ReadFile(file)
	}
	if err != nil {
		return nil, fmt.Errorf("--dataplane-file: %w", err)
	}
	objects, err := decode.Objects(api.NewCatalog(api.Types()...), name, text)
	if err == nil {
		return objects, nil
	}
	found := api.Violations(err)
	if len(found) == 0 {
		return nil, cli.Usage("--dataplane-file: %w", err)
	}
	var refused *multierror.Error
	for _, v := range found {
		if v.Severity == api.Error {
			refused = multierror.Append(refused, v)
		} else {
			fmt.Fprintln(errs, cli.OneLine("warning: "+v.Error()))
		}
	}
	if refused != nil {
		return nil, &cli.Exit{Status: cli.StatusInvalid, Err: refused}
	}
	return objects, nil
}

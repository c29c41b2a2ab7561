// Command weft is the whole program: control plane, sidecar agent and command
// line. This package reads flags and the environment, wires the parts together
// and prints; it decides nothing about policies.
package main

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"github.com/weftmesh/weft/cmd/internal/cli"
)

func main() { cli.Main(run) }

// run executes one command line and returns its exit status.
func run(ctx context.Context, args []string, in io.Reader, out, errs io.Writer) int {
	return cli.Run(ctx, newRoot(&app{in: in, out: out, err: errs}), args, in, out, errs)
}

// app is what all commands share.
type app struct {
	in       io.Reader
	out, err io.Writer

	server           string
	tokenFile        string
	mesh             string
	output           string
	extAuthz         string
	rootNamespaces   []string
	assumedMeshes    []string
	backendAddresses []string
	meshGrants       bool
}

// command is a cobra command with what every command of weft must have.
func (a *app) command(c *cobra.Command, group string) *cobra.Command { return cli.Command(c, group) }

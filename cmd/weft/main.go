// Command weft is the whole program: control plane, sidecar agent and command
// line. This package reads flags and the environment, wires the parts together
// and prints; it decides nothing about policies.
package main

import (
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	go func() { // the first signal asks for an end in order, the second one ends, also the first process of a container
		<-ctx.Done()
		again := make(chan os.Signal, 1)
		signal.Notify(again, os.Interrupt, syscall.SIGTERM)
		os.Exit(statusSignal + int((<-again).(syscall.Signal)))
	}()
	status := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(status)
}

// run executes one command line and returns its exit status.
func run(ctx context.Context, args []string, in io.Reader, out, errs io.Writer) int {
	a := &app{in: in, out: out, err: errs}
	root := newRoot(a)
	root.SetArgs(args)
	root.SetIn(in)
	root.SetOut(out)
	root.SetErr(errs)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return statusDone
	}
	var coded *exitError
	switch {
	case errors.As(err, &coded):
	case !a.started: // cobra itself refused the command line
		coded = &exitError{statusUsage, misunderstood(err)}
	default:
		coded = &exitError{statusFailed, err}
	}
	a.report(coded)
	return coded.status
}

// app is what all commands share.
type app struct {
	in       io.Reader
	out, err io.Writer
	// started says that a command was recognised and its arguments counted.
	started bool

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
func (a *app) command(c *cobra.Command, group string) *cobra.Command {
	c.GroupID = group
	c.SilenceUsage, c.SilenceErrors = true, true
	if c.Args != nil {
		c.Args = inWords(c.Args)
	}
	return c
}

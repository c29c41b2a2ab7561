// Package cli is what the command lines of all programs of weft have in common: how they
// are run, read their environment, log, report errors and end.
package cli

import (
	"cmp"
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"github.com/spf13/cobra"
)

// Main runs a program until it ends, and asks it to end on the first signal.
func Main(run func(ctx context.Context, args []string, in io.Reader, out, errs io.Writer) int) {
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

// Run executes one command line and returns its exit status.
func Run(ctx context.Context, root *cobra.Command, args []string, in io.Reader, out, errs io.Writer) int {
	started := false // a command was recognised and its arguments counted
	root.PersistentPreRun = func(*cobra.Command, []string) { started = true }
	root.SilenceUsage, root.SilenceErrors = true, true
	root.SetArgs(args)
	root.SetIn(in)
	root.SetOut(out)
	root.SetErr(errs)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return StatusDone
	}
	var coded *Exit
	switch {
	case errors.As(err, &coded):
	case !started: // cobra itself refused the command line
		coded = &Exit{Status: StatusUsage, Err: misunderstood(err)}
	default:
		coded = &Exit{Status: StatusFailed, Err: err}
	}
	report(errs, root.Name(), coded)
	return coded.Status
}

// Command is a cobra command with what every command of weft must have.
func Command(c *cobra.Command, group string) *cobra.Command {
	c.GroupID = group
	c.SilenceUsage, c.SilenceErrors = true, true
	if c.Args != nil {
		c.Args = inWords(c.Args)
	}
	return c
}

// Complete registers the completion of a flag that exists.
func Complete(c *cobra.Command, flag string, f cobra.CompletionFunc) {
	if err := c.RegisterFlagCompletionFunc(flag, f); err != nil {
		panic(err) // the flag is not there: a mistake of this program
	}
}

// Version is release, which `make build` writes into a binary, else what Go knows of it.
func Version(release string) string {
	if info, ok := debug.ReadBuildInfo(); ok {
		return cmp.Or(release, info.Main.Version)
	}
	return release
}

// UsualMesh is the mesh of commands that name none.
func UsualMesh() string { return cmp.Or(os.Getenv("WEFT_MESH"), "default") }

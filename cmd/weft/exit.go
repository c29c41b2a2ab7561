package main

import (
	"github.com/spf13/cobra"

	"github.com/weftmesh/weft/cmd/internal/cli"
)

// exitHelp is that table for people.
const exitHelp = `Exit status of every command: 0 done; 1 failed (the server, the network, a file, a
refusal by the store); 2 wrong usage; 3 the documents are invalid; 4 with --exit-code:
there are differences or findings.`

// exitCodeFlag is the flag by which a command tells by its exit status what it found.
func exitCodeFlag(c *cobra.Command, to *bool, where string) {
	c.Flags().BoolVar(to, "exit-code", false, "exit with 4 where "+where)
}

// exitFound is the exit status of a command that found something, where the caller asked for it.
func exitFound(asked, found bool) error {
	if asked && found {
		return &exitError{Status: cli.StatusFindings}
	}
	return nil
}

// invalid says that documents are wrong; err holds the violations, or nil where
// they were printed already.
func invalid(err error) error { return &exitError{Status: cli.StatusInvalid, Err: err} }

// exitError gives an error its exit status.
type exitError = cli.Exit

// usage is a command line that cannot be meant.
func usage(format string, args ...any) error { return cli.Usage(format, args...) }

// flatten takes many errors apart that came as one.
func flatten(err error) []error { return cli.Flatten(err) }

func oneLine(s string) string { return cli.OneLine(s) }

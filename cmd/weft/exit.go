package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/hashicorp/go-multierror"
	"github.com/spf13/cobra"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/cmd/weft/internal/client"
	"github.com/weftmesh/weft/cmd/weft/internal/top"
)

// The exit statuses, which scripts rely on: one table for all commands.
const (
	statusDone     = 0 // done
	statusFailed   = 1 // the server, the network or a file failed, or the store refused
	statusUsage    = 2 // the command line cannot be meant
	statusInvalid  = 3 // the documents are invalid
	statusFindings = 4 // differences or findings, where --exit-code asks to be told of them

	statusSignal = 128 // and the number of the signal that ended it before it was done
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
		return &exitError{status: statusFindings}
	}
	return nil
}

// exitError gives an error its exit status.
type exitError struct {
	status int
	err    error // nil where everything was said already
}

func (e *exitError) Error() string {
	if e.err == nil {
		return ""
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

// usage is a command line that cannot be meant.
func usage(format string, args ...any) error {
	return &exitError{statusUsage, fmt.Errorf(format, args...)}
}

// misunderstood is cobra's refusal of a command line in one line.
func misunderstood(err error) error {
	text, near, ok := strings.Cut(err.Error(), "\n\nDid you mean this?")
	if ok {
		return fmt.Errorf("%s; did you mean %s?", text, strings.Join(strings.Fields(near), " or "))
	}
	return fmt.Errorf("%s; see --help", strings.TrimSpace(text))
}

// inWords says of arguments that a command does not take what it takes: documents by -f, or what
// its usage says.
func inWords(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		err := check(c, args)
		switch {
		case err == nil || c.HasSubCommands():
			return err
		case check(c, nil) != nil:
			return usage("write %s; see --help", c.UseLine())
		case c.Flags().Lookup("file") != nil:
			return usage("%q is in the way; give documents by -f: %s -f %s", args[0], c.CommandPath(), args[0])
		}
		return usage("%q is in the way; %s takes no arguments, see --help", args[0], c.CommandPath())
	}
}

// invalid says that documents are wrong; err holds the violations, or nil where
// they were printed already.
func invalid(err error) error { return &exitError{statusInvalid, err} }

// report prints an error, one line for each of many.
func (a *app) report(err error) {
	for _, e := range flatten(err) {
		var v *api.Violation
		if errors.As(e, &v) {
			fmt.Fprintln(a.err, oneLine(v.Error()))
			continue
		}
		if text := oneLine(e.Error()); text != "" {
			fmt.Fprintln(a.err, "weft: "+text)
		}
	}
}

// flatten takes many errors apart that came as one.
func flatten(err error) []error {
	var many *multierror.Error
	if errors.As(err, &many) {
		var all []error
		for _, e := range many.Errors {
			all = append(all, flatten(e)...)
		}
		return all
	}
	var refused *client.Refusal
	if errors.As(err, &refused) && len(refused.Violations) > 0 {
		var all []error
		for i := range refused.Violations {
			all = append(all, &refused.Violations[i])
		}
		return all
	}
	return []error{err}
}

func oneLine(s string) string { return strings.Join(strings.Fields(top.Printable(s)), " ") }

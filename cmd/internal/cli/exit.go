package cli

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode"

	"github.com/hashicorp/go-multierror"
	"github.com/spf13/cobra"

	"github.com/weftmesh/weft/api"
)

// The exit statuses, which scripts rely on: one table for all commands.
const (
	StatusDone     = 0 // done
	StatusFailed   = 1 // the server, the network or a file failed, or the store refused
	StatusUsage    = 2 // the command line cannot be meant
	StatusInvalid  = 3 // the documents are invalid
	StatusFindings = 4 // differences or findings, where --exit-code asks to be told of them

	statusSignal = 128 // and the number of the signal that ended it before it was done
)

// Exit gives an error its exit status.
type Exit struct {
	Status int
	Err    error // nil where everything was said already
}

func (e *Exit) Error() string {
	if e.Err == nil {
		return ""
	}
	return e.Err.Error()
}

func (e *Exit) Unwrap() error { return e.Err }

// Usage is a command line that cannot be meant.
func Usage(format string, args ...any) error {
	return &Exit{Status: StatusUsage, Err: fmt.Errorf(format, args...)}
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
			return Usage("write %s; see --help", c.UseLine())
		case c.Flags().Lookup("file") != nil:
			return Usage("%q is in the way; give documents by -f: %s -f %s", args[0], c.CommandPath(), args[0])
		}
		return Usage("%q is in the way; %s takes no arguments, see --help", args[0], c.CommandPath())
	}
}

// report prints an error of a program, one line for each of many.
func report(w io.Writer, program string, err error) {
	for _, e := range Flatten(err) {
		var v *api.Violation
		if errors.As(e, &v) {
			fmt.Fprintln(w, OneLine(v.Error()))
			continue
		}
		if text := OneLine(e.Error()); text != "" {
			fmt.Fprintln(w, program+": "+text)
		}
	}
}

// Flatten takes many errors apart that came as one.
func Flatten(err error) []error {
	var many *multierror.Error
	if errors.As(err, &many) {
		var all []error
		for _, e := range many.Errors {
			all = append(all, Flatten(e)...)
		}
		return all
	}
	var several interface{ Several() []error }
	if errors.As(err, &several) {
		if all := several.Several(); len(all) > 0 {
			return all
		}
	}
	return []error{err}
}

// OneLine is a text that a terminal can show in one line.
func OneLine(s string) string { return strings.Join(strings.Fields(Printable(s)), " ") }

// Printable is s on one line, without what a terminal would obey.
func Printable(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return ' '
		case !unicode.IsPrint(r):
			return '\uFFFD'
		}
		return r
	}, s)
}

package main

import (
	"fmt"
	"io"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/weftmesh/weft/cmd/internal/cli"
)

// release is the version that `make build` writes into the binary.
var release = ""

// build is what `weft version` tells.
type build struct {
	Version string `json:"version"`
	Commit  string `json:"commit,omitempty"`
	Go      string `json:"go"`
	System  string `json:"system"`
}

func thisBuild() build {
	b := build{Version: cli.Version(release), Go: runtime.Version(), System: runtime.GOOS + "/" + runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			b.Commit = s.Value
		}
	}
	return b
}

func newVersion(a *app) *cobra.Command {
	c := a.command(&cobra.Command{
		Use:     "version",
		Short:   "Print the version of this program",
		Example: "  weft version\n  weft version -o json",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if err := a.checkOutput(); err != nil {
				return err
			}
			b := thisBuild()
			return a.print(b, func(w io.Writer) error {
				_, err := fmt.Fprintf(w, "weft %s (%s, %s)\n", b.Version, b.Go, b.System)
				return err
			})
		},
	}, groupOther)
	a.outputFlag(c)
	return c
}

package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/weftmesh/weft/cmd/weft/internal/client"
	"github.com/weftmesh/weft/cmd/weft/internal/top"
)

func newTop(a *app) *cobra.Command {
	var once bool
	c := a.command(&cobra.Command{
		Use:   "top",
		Short: "Watch what changes, and how far the sidecars follow",
		Long: `Shows live, in a terminal: how many sidecars are in sync; which ones are behind,
refuse something or get no configuration, the worst first; and the latest revisions with
who made them, what changed, how many dataplanes that concerned, and how many sidecars
have acknowledged it how fast. It goes on when the control plane is started anew. q or
Ctrl-C ends it. --once prints all of it once, and -o json or yaml the same for programs.`,
		Example: "  weft top\n  weft top --once\n  weft top -o json",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := a.checkOutput(); err != nil {
				return err
			}
			in, isFile := a.in.(*os.File)
			switch {
			case once || a.output != "table":
				return a.topOnce(c.Context())
			case !isFile || !isTerminal(a.in) || !overwrites(a.out):
				return usage("there is no terminal to draw on; give --once, or -o json")
			}
			return a.topLive(c.Context(), in, a.out.(*os.File))
		},
	}, groupAsk)
	c.Flags().BoolVar(&once, "once", false, "print what there is now, and end")
	a.serverFlags(c)
	a.meshFlag(c)
	a.outputFlag(c)
	return c
}

func (a *app) topOnce(ctx context.Context) error {
	server, err := client.Find(a.server, a.tokenFile)
	if err != nil {
		return err
	}
	v := top.View{Server: server.Address(), Mesh: a.mesh}
	if err := top.Once(ctx, server, &v); err != nil {
		return err
	}
	return a.print(v.Summary(), func(w io.Writer) error {
		for _, l := range v.Lines(width(w), 0, time.Now(), colourful(w)) {
			if _, err := fmt.Fprintln(w, l); err != nil {
				return err
			}
		}
		return nil
	})
}

// topLive draws until somebody ends it. A control plane that is not there yet is waited for,
// but one that refuses who asks is not.
func (a *app) topLive(ctx context.Context, in, out *os.File) error {
	server, err := client.Find(a.server, a.tokenFile)
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	tells := make(chan top.Tell)
	go top.Follow(ctx, func() (top.Source, error) { return client.Find(a.server, a.tokenFile) }, a.mesh, tells)
	return top.Screen{In: in, Out: out, Colours: colourful(out)}.Show(ctx, &top.View{Server: server.Address(), Mesh: a.mesh}, tells)
}

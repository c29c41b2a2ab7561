package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/weftmesh/weft/cmd/weft/internal/client"
	"github.com/weftmesh/weft/cmd/weft/internal/top"
)

func newTop(a *app) *cobra.Command {
	var once, traffic bool
	ask := top.NewTraffic(false).Ask
	c := a.command(&cobra.Command{
		Use:   "top",
		Short: "Watch what changes, and how far the sidecars follow",
		Long: `Shows live, in a terminal: how many sidecars are in sync; which ones are behind,
refuse something or get no configuration, the worst first; and the latest revisions with
who made them, what changed, how many dataplanes that concerned, and how many sidecars
have acknowledged it how fast. It goes on when the control plane is started anew. q or
Ctrl-C ends it. --once prints all of it once, and -o json or yaml the same for programs.

--traffic, or key t, shows what the sidecars counted of requests in the last minute: how
many each service, caller, route or rule has, how many succeed, how long they take, how
many are repeated or denied, and why those failed that no service answered. Keys choose
what is summed, sort, filter, and go from a service to its rules.`,
		Example: "  weft top\n  weft top --traffic\n  weft top --once\n  weft top --traffic --by rule -o json",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := errors.Join(a.checkOutput(), ask.Check()); err != nil {
				return err
			}
			in, isFile := a.in.(*os.File)
			switch {
			case traffic && (once || a.output != "table"):
				return a.topTrafficOnce(c.Context(), ask)
			case once || a.output != "table":
				return a.topOnce(c.Context())
			case !isFile || !isTerminal(a.in) || !overwrites(a.out):
				return usage("there is no terminal to draw on; give --once, or -o json")
			}
			return a.topLive(c.Context(), in, a.out.(*os.File), top.Traffic{Ask: ask, Shown: traffic})
		},
	}, groupAsk)
	c.Flags().BoolVar(&once, "once", false, "print what there is now, and end")
	c.Flags().BoolVar(&traffic, "traffic", false, "show requests in place of sidecars and changes")
	c.Flags().StringVar(&ask.By, "by", ask.By, "what is summed of requests: service, caller, route or rule")
	c.Flags().StringVar(&ask.Sort, "sort", ask.Sort, "what comes first of requests: rate, failed, denied, retried or latency")
	c.Flags().StringVar(&ask.Window, "window", ask.Window, "of which time requests are: 1m or 15m")
	c.Flags().StringVar(&ask.Of, "of", "", "a service: only requests that it sends or gets")
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
		return printLines(w, v.Lines(width(w), 0, time.Now(), colourful(w)))
	})
}

// topLive draws until somebody ends it. A control plane that is not there yet is waited for,
// but one that refuses who asks is not.
func (a *app) topLive(ctx context.Context, in, out *os.File, traffic top.Traffic) error {
	server, err := client.Find(a.server, a.tokenFile)
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	tells, asks := make(chan top.Tell), top.NewAsker()
	find := func() (top.Source, error) { return client.Find(a.server, a.tokenFile) }
	go top.Follow(ctx, find, a.mesh, tells)
	go top.FollowTraffic(ctx, find, a.mesh, asks, tells)
	return top.Screen{In: in, Out: out, Colours: colourful(out)}.Show(ctx, &top.View{Server: server.Address(), Mesh: a.mesh, Traffic: traffic}, tells, asks)
}

// topTrafficOnce prints what sidecars counted of requests.
func (a *app) topTrafficOnce(ctx context.Context, ask top.Question) error {
	server, err := client.Find(a.server, a.tokenFile)
	if err != nil {
		return err
	}
	v := top.View{Server: server.Address(), Mesh: a.mesh, Traffic: top.Traffic{Ask: ask}}
	if err := top.TrafficOnce(ctx, server, &v); err != nil {
		return err
	}
	return a.print(v.Traffic.Answer(), func(w io.Writer) error {
		return printLines(w, v.Traffic.Lines(width(w), time.Now(), colourful(w)))
	})
}

func printLines(w io.Writer, lines []string) error {
	for _, l := range lines {
		if _, err := fmt.Fprintln(w, l); err != nil {
			return err
		}
	}
	return nil
}

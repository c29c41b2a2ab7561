package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/weftmesh/weft/cmd/internal/cli"
	"github.com/weftmesh/weft/cmd/weft/internal/client"
	"github.com/weftmesh/weft/cmd/weft/internal/demo"
	"github.com/weftmesh/weft/control"
)

// demoOptions are the flags of demo.
type demoOptions struct {
	once      bool
	languages bool
	envoy     string
	level     string
}

func newDemo(a *app) *cobra.Command {
	var o demoOptions
	c := a.command(&cobra.Command{
		Use:   "demo",
		Short: "See it work: a small mesh on real Envoys, with every request explained",
		Long: `Starts a control plane with a store in a temporary directory, small echo services,
and a real Envoy sidecar for each; sends requests through the sidecars, and prints
what each did and why. It stays up until Ctrl-C; with --once it ends, and fails if
an answer or an explanation is not as the documents promise.

Everything listens on loopback and on free ports, and nothing is left behind.`,
		Example: "  weft demo\n  weft demo --once -o json\n  weft demo --languages",
		Args:    cobra.NoArgs,
		RunE:    func(c *cobra.Command, _ []string) error { return a.demo(c.Context(), o) },
	}, groupStart)
	c.Flags().BoolVar(&o.once, "once", false, "run the requests, check them and end")
	c.Flags().BoolVar(&o.languages, "languages", false, "one shop routed in four languages, with the same policies attached")
	c.Flags().StringVar(&o.envoy, "envoy", "", "Envoy's binary (else WEFT_ENVOY, PATH, .tools here or beside the program)")
	c.Flags().StringVar(&o.level, "log-level", "error", "what the control plane and the sidecars say on stderr: debug, info, warn or error")
	a.outputFlag(c)
	return c
}

func (a *app) demo(ctx context.Context, o demoOptions) error {
	if err := a.checkOutput(); err != nil {
		return err
	}
	log, err := cli.NewLogger(a.err, "text", o.level)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "weft-demo-")
	if err != nil {
		return fmt.Errorf("make a directory for the demo: %w", err)
	}
	defer os.RemoveAll(dir)
	plane, stop, err := startPlane(ctx, filepath.Join(dir, "data"), log)
	if err != nil {
		return err
	}
	out := a.out
	if a.output != "table" {
		out = a.err // what programs read stands alone on stdout
	}
	fmt.Fprintln(out, "starting a control plane, small services and an Envoy for each")
	world := demo.Kuma
	if o.languages {
		world = demo.Languages
	}
	config := demo.Config{World: world, Dir: dir, Envoy: o.envoy, Out: out, Paint: colourful(out), Log: log}
	return errors.Join(a.inMesh(ctx, config, plane, o.once, filepath.Join(dir, "data", "admin-token")), stop())
}

// inMesh runs the demo's mesh on a control plane that is up.
func (a *app) inMesh(ctx context.Context, config demo.Config, plane demo.Plane, once bool, tokenFile string) (err error) {
	d, err := demo.Start(ctx, config, plane)
	defer func() { err = errors.Join(err, d.Close()) }()
	if err != nil {
		return err
	}
	results, err := d.Run(ctx)
	err = errors.Join(err, d.Traffic(ctx), d.Tap(ctx))
	if a.output != "table" {
		if printed := a.print(results, func(io.Writer) error { return nil }); printed != nil {
			return printed
		}
	}
	if once || err != nil {
		if err == nil {
			fmt.Fprintln(config.Out, "\nall answers and explanations are as the documents promise")
		}
		return err
	}
	d.Addresses(os.Args[0], tokenFile)
	<-ctx.Done()
	fmt.Fprintln(config.Out, "\nstopping")
	return nil
}

// startPlane runs a control plane in this process, on free ports and with all
// that protects it turned on. stop ends it and says what went wrong.
func startPlane(ctx context.Context, dir string, log *slog.Logger) (demo.Plane, func() error, error) {
	config := control.Default()
	config.DataDir, config.API, config.XDS = dir, "127.0.0.1:0", "127.0.0.1:0"
	config.ReportEvery = 2 * time.Second // nobody waits for a demo
	// The plane outlives the first Ctrl-C: the sidecars stop before it.
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	p, err := control.New(ctx, config, log)
	if err != nil {
		cancel()
		return demo.Plane{}, nil, err
	}
	ended := make(chan error, 1)
	go func() { ended <- p.Serve(ctx) }()
	stop := func() error {
		cancel()
		return <-ended
	}
	token, err := os.ReadFile(filepath.Join(dir, "admin-token"))
	if err != nil {
		return demo.Plane{}, nil, errors.Join(fmt.Errorf("read the admin token: %w", err), stop())
	}
	api := "http://" + p.API()
	c, err := client.At(api, strings.TrimSpace(string(token)))
	if err != nil {
		return demo.Plane{}, nil, errors.Join(err, stop())
	}
	return demo.Plane{API: api, XDS: "https://" + p.XDS(), CAFile: filepath.Join(dir, "ca.pem"), Client: c}, stop, nil
}

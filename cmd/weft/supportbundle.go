package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/weftmesh/weft/cmd/weft/internal/bundle"
	"github.com/weftmesh/weft/cmd/weft/internal/check"
	"github.com/weftmesh/weft/cmd/weft/internal/client"
	"github.com/weftmesh/weft/cmd/weft/internal/cluster"
	"github.com/weftmesh/weft/sidecar/inject"
)

func newSupportBundle(a *app) *cobra.Command {
	var on clusterTarget
	var file string
	c := a.command(&cobra.Command{
		Use:   "support-bundle -f FILE",
		Short: "Collect what support needs, without secrets",
		Long: `Writes an archive (tar.gz) of what a cluster and a control plane say: documents, pods in
outline, the control plane with its logs, what 'weft check' finds, problems, status and
metrics. Of a cluster it asks as kubectl does, of a control plane as other commands do;
one of the two is enough.

It reads no Secret, and leaves out what may hold one, such as the variables of pods. Look
into it all the same before you hand it on: documents hold names and addresses.`,
		Example: "  weft support-bundle -f weft.tar.gz\n  weft support-bundle -f - --kubeconfig prod.yaml > weft.tar.gz",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if file == "" {
				return usage("-f is missing; name the archive to write, or - for standard output")
			}
			return a.supportBundle(c.Context(), on, file)
		},
	}, groupOther)
	c.Flags().StringVarP(&file, "file", "f", "", "archive to write; - is standard output")
	clusterFlags(c, &on)
	a.serverFlags(c)
	return c
}

func (a *app) supportBundle(ctx context.Context, on clusterTarget, file string) error {
	var to io.Writer = a.out
	closed := func() error { return nil }
	if file != "-" {
		f, err := os.OpenFile(file, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
		if err != nil {
			return fmt.Errorf("write the bundle: %w", err)
		}
		to, closed = f, f.Close
	}
	w := bundle.New(to, time.Now())
	reached, err := a.collect(ctx, w, on)
	if err == nil {
		err = w.Close()
	}
	if err = errors.Join(err, closed()); err != nil {
		return fmt.Errorf("write the bundle: %w", err)
	}
	for _, f := range w.Failed() {
		fmt.Fprintln(a.err, "not in the bundle: "+oneLine(f))
	}
	if !reached {
		return errors.New("neither a cluster nor a control plane answers; give --kubeconfig FILE or --server URL")
	}
	if file != "-" {
		fmt.Fprintf(a.out, "%s: %d files\n", file, len(w.Names()))
	}
	return nil
}

// collect asks whoever answers, and says whether somebody did.
func (a *app) collect(ctx context.Context, w *bundle.Writer, on clusterTarget) (reached bool, err error) {
	if err := w.JSON("about.json", map[string]any{"weft": thisBuild(), "time": time.Now().UTC()}); err != nil {
		return false, err
	}
	c, unreached := on.open()
	if unreached == nil {
		unreached = c.Get(ctx, "/version", &struct{}{})
	}
	if unreached != nil {
		w.Fail("the cluster", unreached)
	} else {
		reached = true
		if err := errors.Join(w.JSON("check.json", checkedBy(ctx, c, on.namespace)), w.Cluster(ctx, c, on.namespace)); err != nil {
			return reached, err
		}
	}
	server, err := client.Find(a.server, a.tokenFile)
	if err != nil {
		w.Fail("the control plane", err)
		return reached, nil
	}
	answered, err := a.collectServer(ctx, w, server)
	return reached || answered, err
}

// collectServer asks a control plane.
func (a *app) collectServer(ctx context.Context, w *bundle.Writer, server *client.Client) (answered bool, err error) {
	files := map[string]string{"about.json": "/", "problems.json": "/_problems", "meshes.json": "/meshes", "config.json": "/config", "metrics.txt": "/metrics"}
	var meshes struct{ Items []struct{ Name string } }
	if err := server.Get(ctx, "/meshes", &meshes); err != nil {
		w.Fail("the control plane", err)
		return false, nil
	}
	for _, m := range meshes.Items {
		files["status-"+m.Name+".json"] = "/meshes/" + m.Name + "/_status"
		files["authorities-"+m.Name+".json"] = "/meshes/" + m.Name + "/_authorities"
	}
	for name, path := range files {
		var raw []byte
		if err := server.Call(ctx, http.MethodGet, path, "", nil, &raw); err != nil {
			w.Fail("the control plane: "+path, err)
			continue
		}
		add := func() error { return w.Text("server/"+name, raw) }
		if strings.HasSuffix(name, ".json") {
			add = func() error { return w.JSON("server/"+name, json.RawMessage(raw)) }
		}
		if err := add(); err != nil {
			return true, err
		}
	}
	return true, nil
}

// checkedBy are the findings of weft check.
func checkedBy(ctx context.Context, c *cluster.Client, namespace string) (out []check.Result) {
	check.Run(ctx, check.Options{Cluster: c, Namespace: namespace, Version: inject.Tag(thisBuild().Version), Bundle: thisBuild().bundle(), Now: time.Now()},
		func(r check.Result) { out = append(out, r) })
	return out
}

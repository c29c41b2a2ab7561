package main

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/cmd/internal/cli"
	"github.com/weftmesh/weft/cmd/weft/internal/demo"
	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/internal/envoytest"
	"github.com/weftmesh/weft/sidecar/agent"
)

// example is an example on ports of its own, with workloads that answer.
type example struct {
	t         *testing.T
	dir       string // its documents, as they are used
	mesh      string
	planes    []*api.Object
	workloads map[string]*envoytest.Backend // by dataplane
	server    demo.Plane
}

// local are the ports that examples have on this host.
var local = regexp.MustCompile(`\b1[1-3]\d{3}\b`)

func place(t *testing.T, dir string) *example {
	t.Helper()
	reading, err := world.Read(nil, dir)
	if err != nil || len(reading.Violations) > 0 {
		t.Fatalf("%v %v", err, reading.Violations)
	}
	e := &example{t: t, dir: t.TempDir(), workloads: map[string]*envoytest.Backend{}}
	ports := map[string]string{}
	for _, o := range reading.Objects {
		dp, ok := o.Spec.(*api.Dataplane)
		if !ok {
			continue
		}
		e.mesh = o.Mesh
		e.planes = append(e.planes, o)
		for _, in := range dp.Networking.Inbound {
			b := envoytest.StartBackend(t, o.Name)
			e.workloads[o.Name] = b
			ports[fmt.Sprint(in.ServicePort)] = fmt.Sprint(b.Port)
		}
	}
	free, err := demo.FreePorts(100)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range reading.Texts {
		moved := local.ReplaceAllStringFunc(string(text.Text), func(port string) string {
			if ports[port] == "" {
				ports[port], free = fmt.Sprint(free[0]), free[1:]
			}
			return ports[port]
		})
		if err := os.WriteFile(filepath.Join(e.dir, filepath.Base(text.File)), []byte(moved), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return e
}

func (e *example) weft(args ...string) string {
	e.t.Helper()
	var out, errs bytes.Buffer
	if status := run(e.t.Context(), args, strings.NewReader(""), &out, &errs); status != cli.StatusDone || errs.Len() > 0 {
		e.t.Fatalf("weft %v: %d\n%s%s", args, status, &out, &errs)
	}
	return out.String()
}

func (e *example) start() {
	e.t.Helper()
	dir, log := e.t.TempDir(), slog.New(slog.DiscardHandler)
	server, stop, err := startPlane(e.t.Context(), filepath.Join(dir, "data"), log)
	if err != nil {
		e.t.Fatal(err)
	}
	e.t.Cleanup(func() {
		if err := stop(); err != nil {
			e.t.Error(err)
		}
	})
	e.server = server
	e.weft("validate", "--strict", "-f", e.dir)
	e.weft(e.ask("apply", "-f", e.dir)...)
	for _, o := range e.planes {
		config := agent.Default()
		config.Mesh, config.Name, config.Envoy = o.Mesh, o.Name, envoytest.Path(e.t)
		config.XDS, config.CAFile, config.TokenFile = server.XDS, server.CAFile, filepath.Join(dir, o.Name+".token")
		config.Concurrency, config.DrainTime = 1, 0
		token := e.weft(e.ask("token", "dataplane", "-m", o.Mesh, "--name", o.Name)...)
		if err := os.WriteFile(config.TokenFile, []byte(token), 0o600); err != nil {
			e.t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan error, 1)
		go func() { ended <- agent.New(config, log).Run(ctx) }()
		e.t.Cleanup(func() {
			cancel()
			if err := <-ended; err != nil {
				e.t.Errorf("the sidecar of %s: %v", o.Name, err)
			}
		})
	}
	e.synced()
}

func (e *example) synced() {
	e.t.Helper()
	deadline := time.Now().Add(90 * time.Second)
	want := fmt.Sprintf(": %s, %d in sync, 0 behind, 0 refusing", many(len(e.planes), "dataplane"), len(e.planes))
	for text := ""; !strings.Contains(text, want); {
		if time.Now().After(deadline) {
			e.t.Fatalf("not in sync:\n%s", text)
		}
		text = e.weft(e.ask("status", "-m", e.mesh, "--wait", "30s")...)
	}
}

func (e *example) ask(args ...string) []string {
	return append(args, "--server", e.server.API, "--token-file", filepath.Join(filepath.Dir(e.server.CAFile), "admin-token"))
}

func (e *example) moved() []*api.Object {
	e.t.Helper()
	reading, err := world.Read(nil, e.dir)
	if err != nil {
		e.t.Fatal(err)
	}
	return slices.DeleteFunc(reading.Objects, func(o *api.Object) bool { return o.Kind != api.KindDataplane })
}

func (e *example) hostsOf(caller string) string {
	e.t.Helper()
	for _, o := range e.moved() {
		for _, out := range o.Spec.(*api.Dataplane).Networking.Outbound {
			if o.Name == caller && out.Hosts != nil {
				return net.JoinHostPort("127.0.0.1", fmt.Sprint(out.Port))
			}
		}
	}
	e.t.Fatalf("%s calls no hosts", caller)
	return ""
}

// Package demo is a whole mesh on one machine: small services, a real Envoy
// beside each, and requests through them whose answers and explanations are
// compared with what the documents promise.
//
// It promises to use nothing but loopback and free ports, and to leave nothing
// behind. It starts no control plane: it is given one.
package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"

	"github.com/weftmesh/weft/cmd/weft/internal/client"
)

// Plane is the control plane that the demo uses.
type Plane struct {
	API    string // http://HOST:PORT
	XDS    string // https://HOST:PORT
	CAFile string
	Client *client.Client // with the admin's token
}

// Config is how the demo runs.
type Config struct {
	World *World
	Dir   string // for tokens; the caller removes it
	Envoy string // path of the binary; empty: look for it
	Out   io.Writer
	Paint bool // colour
	Log   *slog.Logger
}

// Demo is a mesh that is up.
type Demo struct {
	config  Config
	plane   Plane
	mesh    *mesh
	results []Result
}

// Result is one request, what came back and why (spec/contract.md 9).
type Result struct {
	Request     Request     `json:"request"`
	Response    Response    `json:"response"`
	Explanation Explanation `json:"explanation"`
}

// Request is what the demo asked for.
type Request struct {
	Method  string            `json:"method"`
	URL     string            `json:"url"`
	Headers map[string]string `json:"headers,omitempty"`
}

// Response is what came back through the sidecars.
type Response struct {
	Status  int               `json:"status"`
	Headers map[string]string `json:"headers"`
	answer  *answer           // of the echo service, where it was reached
	text    string            // of who answered instead, as Envoy does with its reason
}

// Start applies the documents, starts services and sidecars, and returns when
// everything that the caller calls answers through its sidecar. Close ends it all,
// also after an error.
func Start(ctx context.Context, c Config, p Plane) (*Demo, error) {
	d := &Demo{config: c, plane: p}
	if err := d.apply(ctx); err != nil {
		return d, err
	}
	var err error
	if d.mesh, err = startMesh(ctx, c, p); err != nil {
		return d, err
	}
	return d, d.mesh.wait(ctx)
}

// Close drains and stops the sidecars and ends the services.
func (d *Demo) Close() error {
	if d.mesh == nil {
		return nil
	}
	return d.mesh.close()
}

// apply sends the example documents as one change.
func (d *Demo) apply(ctx context.Context) error {
	names, err := fs.Glob(d.config.World.documents, "*/*.yaml")
	if err != nil {
		return fmt.Errorf("list the demo's documents: %w", err)
	}
	var stream []byte
	for _, name := range names {
		text, err := fs.ReadFile(d.config.World.documents, name)
		if err != nil {
			return fmt.Errorf("read the demo's documents: %w", err)
		}
		stream = append(append(stream, "---\n"...), text...)
	}
	if err := d.plane.Client.Call(ctx, "POST", "/_apply", "application/yaml", stream, nil); err != nil {
		return fmt.Errorf("apply the demo's documents: %w", err)
	}
	return nil
}

// Run goes through all steps, prints each, and returns everything that was not
// as the documents promise.
func (d *Demo) Run(ctx context.Context) ([]Result, error) {
	var wrong []error
	for i, s := range d.config.World.steps {
		if err := d.step(ctx, i+1, s); err != nil {
			wrong = append(wrong, fmt.Errorf("%s: %w", s.title, err))
		}
	}
	return d.results, errors.Join(wrong...)
}

package demo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/cmd/weft/internal/client"
	"github.com/weftmesh/weft/inspect/seen"
	"github.com/weftmesh/weft/inspect/terminal"
	"github.com/weftmesh/weft/inspect/web/requests"
)

// Tap watches one request on its way, as `weft tap` does, and prints which rule and policies shaped it. It fails
// where the sidecar saw none, or another rule took it than the documents promise.
func (d *Demo) Tap(ctx context.Context) error {
	i := slices.IndexFunc(d.config.World.steps, func(s step) bool { return len(s.origins) > 0 && s.times == 1 })
	if i < 0 {
		return errors.New("no step sends one request that a route takes")
	}
	s := d.config.World.steps[i]
	from := d.callerOf(s, 0)
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	stream, err := d.plane.Client.PostStream(ctx, "/meshes/"+d.mesh.mesh+"/_taps", requests.TapRequest{Dataplanes: []string{from}, To: s.host, For: api.Duration(patience)})
	if err != nil {
		return fmt.Errorf("watch the requests of %s: %w", from, err)
	}
	defer stream.Close()
	var got seen.Record
	err = client.EachEvent(stream, func(event string, data []byte) error {
		switch event {
		case "begin":
			_, err := d.ask(ctx, from, s, "tapped")
			return err
		case "request":
			return errors.Join(json.Unmarshal(data, &got), io.EOF)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("watch the requests of %s: %w", from, err)
	}
	w := d.config.Out
	fmt.Fprintf(w, "\n%s\n", d.paint(bold, "One request, as the sidecar of "+from+" saw it"))
	fmt.Fprintf(w, "   %s\n\n", d.paint(dim, "weft tap "+from+" shows all of them as they come; weft why, those that failed"))
	var text strings.Builder
	if err := seen.Lines(&text, &got, terminal.Style{Colour: d.config.Paint}); err != nil {
		return err
	}
	for line := range strings.Lines(text.String()) {
		fmt.Fprint(w, "   "+line)
	}
	if got.Rule == nil || got.Path != s.path || !slices.Contains(s.origins, api.Ref{Kind: got.Rule.Kind, Mesh: d.mesh.mesh, Namespace: got.Rule.Namespace, Name: got.Rule.Name}.String()) {
		return fmt.Errorf("%s%s was taken by %+v, and the documents promise %v", s.host, got.Path, got.Rule, s.origins)
	}
	return nil
}

package demo

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/cmd/weft/internal/top"
	"github.com/weftmesh/weft/inspect/traffic"
)

// Traffic prints what the sidecars counted of the requests, as `weft top --traffic` does, as soon as those
// of all steps are there. It fails where they do not come, or are not of the routes that the documents promise.
func (d *Demo) Traffic(ctx context.Context) error {
	view := top.View{Mesh: d.mesh.mesh, Traffic: top.NewTraffic(false)}
	view.Traffic.Ask.By, view.Traffic.Ask.Window = string(traffic.ByRule), "15m"
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		err := top.TrafficOnce(ctx, d.plane.Client, &view)
		if err != nil {
			return fmt.Errorf("ask what the sidecars counted: %w", err)
		}
		missing := d.uncounted(view.Traffic.Answer().Items)
		if missing == "" {
			break
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the sidecars counted too few requests: %s", missing)
		case <-time.After(500 * time.Millisecond):
		}
	}
	w := d.config.Out
	fmt.Fprintf(w, "\n%s\n", d.paint(bold, "What the sidecars counted, by rule"))
	fmt.Fprintf(w, "   %s\n\n", d.paint(dim, "weft top --traffic shows the same as it goes on"))
	for _, l := range view.Traffic.Lines(0, time.Now(), d.config.Paint)[1:] {
		fmt.Fprintf(w, "   %s\n", l)
	}
	return nil
}

// uncounted names a route of which fewer requests were counted than a step sent; empty for none.
func (d *Demo) uncounted(items []traffic.Item) string {
	for _, s := range d.config.World.steps {
		counted := 0
		for _, i := range items {
			kind, name, _ := strings.Cut(i.Route, "/")
			if slices.Contains(s.origins, api.Ref{Kind: kind, Mesh: d.mesh.mesh, Namespace: i.RouteNamespace, Name: name}.String()) {
				counted += min(int(i.Requests), timed(&i)) // Envoy tells durations up to five seconds later
			}
		}
		if sent := max(s.times, 1); len(s.origins) > 0 && counted < sent {
			return fmt.Sprintf("%d of the %d of %q, by %s", counted, sent, s.title, strings.Join(s.origins, ", "))
		}
	}
	return ""
}

// timed is of how many requests of an item it is known how long they took.
func timed(i *traffic.Item) (n int) {
	for _, of := range i.Latency.Counts {
		n += int(of)
	}
	return n
}

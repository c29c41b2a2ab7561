package conformance

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/weftmesh/weft/sidecar/agent"
)

// edge is the workload of a Gateway: an edge dataplane with a real Envoy.
type edge struct {
	stop func()
}

// runEdges has one for every Gateway of the class.
func (c *cluster) runEdges(ctx context.Context) error {
	var list gatewayv1.GatewayList
	if err := c.c.List(ctx, &list); err != nil {
		return err
	}
	wanted := map[string]bool{}
	for i := range list.Items {
		g := &list.Items[i]
		key := g.Namespace + "/" + g.Name
		if g.Spec.GatewayClassName != "weft" {
			continue
		}
		if wanted[key] = true; c.edges[key] == nil {
			e, err := c.runEdge(ctx, g)
			if err != nil {
				return fmt.Errorf("edge of %s: %w", key, err)
			}
			c.edges[key] = e
		}
	}
	for key, e := range c.edges {
		if !wanted[key] {
			e.stop()
			delete(c.edges, key)
		}
	}
	return nil
}

func (c *cluster) runEdge(ctx context.Context, g *gatewayv1.Gateway) (*edge, error) {
	address, name := fmt.Sprintf("10.245.0.%d", c.next()), "edge-"+g.Namespace+"-"+g.Name
	if out, err := exec.Command("ip", "addr", "add", address+"/32", "dev", "pods").CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%w: %s", err, out)
	}
	err := c.plane.apply(ctx, map[string]any{
		"type": "Dataplane", "mesh": "default", "name": name,
		"labels":     map[string]string{"k8s.kuma.io/namespace": g.Namespace, "gateway.networking.k8s.io/gateway-name": g.Name},
		"networking": map[string]any{"address": address, "gateway": map[string]any{"type": "BUILTIN"}},
	})
	if err != nil {
		return nil, err
	}
	cfg := agent.Default()
	cfg.XDS, cfg.Name, cfg.Envoy, cfg.Concurrency, cfg.DrainTime = c.plane.xds, name, os.Getenv("WEFT_ENVOY"), 1, 0
	log, err := os.Create(filepath.Join(c.plane.dir, name+".log"))
	if err != nil {
		return nil, err
	}
	running, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- agent.New(cfg, slog.New(slog.NewTextHandler(log, nil))).Run(running) }()
	return &edge{stop: func() {
		cancel()
		if err := <-done; err != nil {
			c.t.Logf("edge %s: %v", name, err)
		}
		log.Close()
		_, _ = c.plane.ask(context.Background(), http.MethodDelete, "/meshes/default/dataplanes/"+cfg.Name, nil)
		_ = exec.Command("ip", "addr", "del", address+"/32", "dev", "pods").Run()
	}}, nil
}

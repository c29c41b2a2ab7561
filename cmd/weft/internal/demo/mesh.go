package demo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/weftmesh/weft/sidecar/agent"
)

// patience is how long the mesh may take to come up.
const patience = 45 * time.Second

// workload is one process of a service, with its dataplane.
type workload struct{ dataplane, service, version string }

// workloads are those of the demo.
var workloads = []workload{
	{"frontend-1", "frontend", ""},
	{"web-1", "web", ""},
	{"orders-1", "orders", ""},
	{"backend-1", "backend", "1.0"},
	{"backend-2", "backend", "2.0"},
}

// caller is the dataplane through whose sidecar the requests go, and called
// are the services that it reaches.
const caller = "frontend-1"

var called = []string{"web", "orders", "backend"}

// mesh is the running services and sidecars.
type mesh struct {
	services  []*service
	sidecars  []*agent.Agent
	outbounds map[string]string // service -> address of frontend's outbound
	group     *errgroup.Group
	ended     context.Context // done when a sidecar gave up
	stop      context.CancelFunc
}

func startMesh(ctx context.Context, c Config, p Plane) (*mesh, error) {
	m := &mesh{outbounds: map[string]string{}}
	ctx, m.stop = context.WithCancel(ctx)
	m.group, m.ended = errgroup.WithContext(ctx)
	ports, err := FreePorts(len(workloads) + len(called))
	if err != nil {
		return m, err
	}
	for i, s := range called {
		m.outbounds[s] = fmt.Sprintf("127.0.0.1:%d", ports[len(workloads)+i])
	}
	for i, w := range workloads {
		s, err := startService(w.service, w.version)
		if err != nil {
			return m, err
		}
		m.services = append(m.services, s)
		tags := map[string]string{"kuma.io/service": w.service, "kuma.io/protocol": "http"}
		if w.version != "" {
			tags["version"] = w.version
		}
		document := m.dataplane(w.dataplane, tags, ports[i], s.port)
		if err := m.sidecar(ctx, c, p, w, document); err != nil {
			return m, err
		}
	}
	return m, nil
}

// dataplane is the document of one workload; the caller has outbounds.
func (m *mesh) dataplane(name string, tags map[string]string, port, servicePort int) map[string]any {
	networking := map[string]any{
		"address": "127.0.0.1",
		"inbound": []any{map[string]any{"port": port, "servicePort": servicePort, "serviceAddress": "127.0.0.1", "tags": tags}},
	}
	if name == caller {
		var outbound []any
		for _, s := range called {
			_, text, _ := strings.Cut(m.outbounds[s], ":")
			outbound = append(outbound, map[string]any{
				"address": "127.0.0.1", "port": json.Number(text), "tags": map[string]string{"kuma.io/service": s},
			})
		}
		networking["outbound"] = outbound
	}
	return map[string]any{"type": "Dataplane", "mesh": "default", "name": name, "networking": networking}
}

// sidecar gets a token that lets a workload speak for its service, and runs its Envoy.
func (m *mesh) sidecar(ctx context.Context, c Config, p Plane, w workload, document map[string]any) error {
	name := w.dataplane
	text, err := json.Marshal(document)
	if err != nil {
		return fmt.Errorf("write Dataplane %s: %w", name, err)
	}
	var token []byte
	if err := p.Client.Post(ctx, "/tokens/dataplane", map[string]any{
		"mesh": "default", "name": name, "tags": map[string][]string{"kuma.io/service": {w.service}}, "validFor": "24h"}, &token); err != nil {
		return fmt.Errorf("get a token for %s: %w", name, err)
	}
	file := filepath.Join(c.Dir, name+".token")
	if err := os.WriteFile(file, token, 0o600); err != nil {
		return fmt.Errorf("keep the token of %s: %w", name, err)
	}
	config := agent.Default()
	config.XDS, config.CAFile, config.TokenFile = p.XDS, p.CAFile, file
	config.Name, config.Dataplane, config.Envoy = name, text, c.Envoy
	config.Concurrency, config.DrainTime = 1, 0
	a := agent.New(config, c.Log)
	m.sidecars = append(m.sidecars, a)
	m.group.Go(func() error {
		if err := a.Run(m.ended); err != nil {
			return fmt.Errorf("sidecar of %s: %w", name, err)
		}
		return nil
	})
	return nil
}

// wait returns when every service answers through the caller's sidecar.
func (m *mesh) wait(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for _, s := range called {
		for {
			err := m.probe(ctx, s)
			if err == nil {
				break
			}
			select {
			case <-m.ended.Done():
				return m.close()
			case <-ctx.Done():
				return fmt.Errorf("%s does not answer through the sidecars within %s: %w", s, patience, err)
			case <-time.After(50 * time.Millisecond):
			}
		}
	}
	return nil
}

func (m *mesh) probe(ctx context.Context, service string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+m.outbounds[service]+"/probe", nil)
	if err != nil {
		return fmt.Errorf("probe %s: %w", service, err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("status %d", resp.StatusCode)
	}
	return nil
}

func (m *mesh) close() error {
	m.stop()
	err := m.group.Wait()
	for _, s := range m.services {
		err = errors.Join(err, s.server.Close())
	}
	return err
}

// FreePorts finds ports that nobody listens on, all different. They lie below
// the range from which outgoing connections take theirs, so that only another
// listener could have one meanwhile.
func FreePorts(n int) ([]int, error) {
	const lowest, ephemeral, attempts = 10_240, 32_768, 1000
	var ports []int
	var held []net.Listener
	defer func() {
		for _, l := range held {
			l.Close()
		}
	}()
	for range attempts {
		if len(ports) == n {
			return ports, nil
		}
		port := lowest + rand.IntN(ephemeral-lowest)
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			continue // taken
		}
		held = append(held, l)
		ports = append(ports, port)
	}
	return nil, fmt.Errorf("no %d free ports on loopback among %d", n, attempts)
}

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

// mesh is the running services and sidecars.
type mesh struct {
	*World
	services  []*service
	sidecars  []*agent.Agent
	outbounds map[way]string // address of the outbound by which somebody calls
	inbounds  []string       // addresses at which the sidecars take connections
	group     *errgroup.Group
	ended     context.Context // done when a sidecar gave up
	stop      context.CancelFunc
}

func startMesh(ctx context.Context, c Config, p Plane) (*mesh, error) {
	m := &mesh{World: c.World, outbounds: map[way]string{}}
	ctx, m.stop = context.WithCancel(ctx)
	m.group, m.ended = errgroup.WithContext(ctx)
	ports, err := FreePorts(len(m.workloads) + len(m.called))
	if err != nil {
		return m, err
	}
	for i, x := range m.calls() {
		m.outbounds[way{x.from, x.host}] = fmt.Sprintf("127.0.0.1:%d", ports[len(m.workloads)+i])
	}
	for i, w := range m.workloads {
		s, err := startService(w.service, w.version)
		if err != nil {
			return m, err
		}
		m.services = append(m.services, s)
		m.inbounds = append(m.inbounds, fmt.Sprintf("127.0.0.1:%d", ports[i]))
		document := m.dataplane(w, ports[i], s.port)
		if err := m.sidecar(ctx, c, p, w, document); err != nil {
			return m, err
		}
	}
	return m, nil
}

// dataplane is the document of one workload; who calls has outbounds.
func (m *mesh) dataplane(w workload, port, servicePort int) map[string]any {
	tags := w.tags()
	tags["kuma.io/protocol"] = "http"
	networking := map[string]any{
		"address": "127.0.0.1",
		"inbound": []any{map[string]any{"name": "http", "port": port, "servicePort": servicePort, "serviceAddress": "127.0.0.1", "tags": tags}},
	}
	var outbound []any
	for _, x := range m.calls() {
		if x.from == w.dataplane {
			_, text, _ := strings.Cut(m.outbounds[way{x.from, x.host}], ":")
			outbound = append(outbound, map[string]any{"address": "127.0.0.1", "port": json.Number(text), x.by: x.ref})
		}
	}
	if outbound != nil {
		networking["outbound"] = outbound
	}
	return map[string]any{"type": "Dataplane", "mesh": m.mesh, "name": w.dataplane, "labels": w.labels, "networking": networking}
}

// tags are those by which a workload is selected.
func (w workload) tags() map[string]string {
	tags := map[string]string{"kuma.io/service": w.service}
	if w.version != "" {
		tags["version"] = w.version
	}
	return tags
}

// bound are the values that a token binds, of which each key may have several.
func bound(values map[string]string) map[string][]string {
	out := map[string][]string{}
	for key, value := range values {
		out[key] = []string{value}
	}
	return out
}

// sidecar gets a token that binds who a workload is, and runs its Envoy. What the token does
// not bind selects no endpoint once inbounds are Strict.
func (m *mesh) sidecar(ctx context.Context, c Config, p Plane, w workload, document map[string]any) error {
	name := w.dataplane
	text, err := json.Marshal(document)
	if err != nil {
		return fmt.Errorf("write Dataplane %s: %w", name, err)
	}
	var token []byte
	if err := p.Client.Post(ctx, "/tokens/dataplane", map[string]any{
		"mesh": m.mesh, "name": name, "tags": bound(w.tags()), "labels": bound(w.labels), "validFor": "24h"}, &token); err != nil {
		return fmt.Errorf("get a token for %s: %w", name, err)
	}
	file := filepath.Join(c.Dir, name+".token")
	if err := os.WriteFile(file, token, 0o600); err != nil {
		return fmt.Errorf("keep the token of %s: %w", name, err)
	}
	config := agent.Default()
	config.XDS, config.CAFile, config.TokenFile = p.XDS, p.CAFile, file
	config.Mesh, config.Name, config.Dataplane, config.Envoy = m.mesh, name, text, c.Envoy
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

// wait returns when every sidecar takes connections, and everything that is called
// answers through the caller's. A probe alone does not come to every workload, and
// connections that fail use up the retries that a step is about.
func (m *mesh) wait(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for _, address := range m.inbounds {
		if err := m.until(ctx, address, func(ctx context.Context) error { return m.dial(ctx, address) }); err != nil {
			return err
		}
	}
	for _, x := range m.calls() {
		if err := m.until(ctx, x.host, func(ctx context.Context) error { return m.probe(ctx, x) }); err != nil {
			return err
		}
	}
	return nil
}

// until tries until what answers, or a sidecar or the time ends.
func (m *mesh) until(ctx context.Context, what string, try func(context.Context) error) error {
	for {
		err := try(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-m.ended.Done():
			return m.close()
		case <-ctx.Done():
			return fmt.Errorf("%s is not there within %s: %w", what, patience, err)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func (m *mesh) dial(ctx context.Context, address string) error {
	c, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		return err
	}
	return c.Close()
}

func (m *mesh) probe(ctx context.Context, x call) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+m.outbounds[way{x.from, x.host}]+"/probe", nil)
	if err != nil {
		return fmt.Errorf("probe %s: %w", x.host, err)
	}
	req.Host = x.host
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

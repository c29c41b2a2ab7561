package differential

import (
	"cmp"
	"context"
	"net"
	"testing"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/internal/envoytest"
	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/xds/bootstrap/render"
	"github.com/weftmesh/weft/xds/resource"
	"github.com/weftmesh/weft/xds/server"
	"github.com/weftmesh/weft/xds/server/port"
)

// plane is weft's own xDS server, before Envoys each of which is the sidecar of many
// dataplanes: it serves by name what is joined, instead of what it would render.
type plane struct {
	*server.Server
	t    testing.TB
	port uint32
	stop func()
}

// joined renders by name.
type joined map[string]*resource.State

func (j joined) Render(r *effective.Resolved) *resource.State     { return j[r.Ref.Name] }
func (j joined) RenderGRPC(r *effective.Resolved) *resource.State { return j[r.Ref.Name] }

// newPlane serves states to the Envoys of those names until stop.
func newPlane(t testing.TB, states joined) *plane {
	t.Helper()
	options := server.Default()
	options.Renderer = states
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &plane{Server: server.New(options), t: t, port: uint32(l.Addr().(*net.TCPAddr).Port)}
	door := port.New(port.Options{Logger: options.Logger, Register: p.Register})
	served := make(chan error, 1)
	go func() { served <- door.Serve(l) }()
	p.stop = func() {
		ctx, cancel := context.WithTimeout(context.Background(), slowest)
		defer cancel()
		if err := p.Shutdown(ctx); err != nil {
			t.Errorf("streams did not end: %v", err)
		}
		_ = door.Shutdown(ctx) // the Envoys are gone
		if err := <-served; err != nil {
			t.Error(err)
		}
	}
	var documents []*api.Object
	for _, name := range sortedKeys(states) {
		documents = append(documents, &api.Object{Ref: dataplane(name), Spec: &api.Dataplane{Networking: &api.Networking{Address: "127.0.0.1"}}})
	}
	model, _ := world.Compile(world.Snapshot(documents...))
	p.Publish(model, resolve.Affected{})
	return p
}

func dataplane(name string) api.Ref {
	return api.Ref{Kind: api.KindDataplane, Mesh: "default", Name: name}
}

// envoy starts one with weft's own bootstrap, and waits until it has confirmed all
// that it is served and listens. Agent is the socket that takes its lines; empty for an agent
// that is away, which holds nothing up.
func (p *plane) envoy(name string, stateOfTheWorld bool, agent string) *envoytest.Envoy {
	p.t.Helper()
	admin := envoytest.Socket(p.t)
	b, err := render.Bootstrap(render.Config{
		Mesh: "default", Name: name, XDSHost: "127.0.0.1", XDSPort: p.port, StateOfTheWorld: stateOfTheWorld, AdminSocket: admin, AgentSocket: cmp.Or(agent, envoytest.Socket(p.t)),
	})
	if err != nil {
		p.t.Fatal(err)
	}
	e := envoytest.Start(p.t, admin, b).Ready()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		s, _ := p.Status(dataplane(name))
		if s.Nack != nil {
			p.t.Fatalf("%s refuses what it is sent: %+v", name, *s.Nack)
		}
		if s.InSync {
			return e
		}
		if time.Now().After(deadline) {
			p.t.Fatalf("%s has not taken what it is sent: %+v\n%s", name, s, e.Log())
		}
	}
}

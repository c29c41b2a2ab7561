package server_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/decode"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/internal/envoytest"
	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/xds"
	"github.com/weftmesh/weft/xds/bootstrap/render"
	"github.com/weftmesh/weft/xds/server"
	"github.com/weftmesh/weft/xds/server/port"
	"github.com/weftmesh/weft/xds/server/syncstatus"
)

const patience = time.Minute // for what is under way; only a failure takes as long

// plane is a control plane without a store.
type plane struct {
	*server.Server
	t    testing.TB
	opts server.Options
	addr *net.TCPAddr
	held *os.File // the socket, which keeps the port between two servers
	stop func()

	snapshot *snapshot.Snapshot
	model    *resolve.Model
}

// silent has a server that waits for its first publication.
func silent(t testing.TB, change func(*server.Options)) *plane {
	t.Helper()
	o := server.Default()
	o.Renderer = xds.NewRenderer(world.Kinds())
	if change != nil {
		change(&o)
	}
	p := &plane{t: t, opts: o}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p.held, err = l.(*net.TCPListener).File()
	if err != nil {
		t.Fatal(err)
	}
	p.addr = l.Addr().(*net.TCPAddr)
	_ = l.Close() // held is open
	p.start()
	t.Cleanup(func() {
		p.stop()
		_ = p.held.Close()
	})
	return p
}

// serve has a server that published documents.
func serve(t testing.TB, change func(*server.Options), documents ...string) *plane {
	t.Helper()
	p := silent(t, change)
	p.snapshot = world.Snapshot(p.decode(documents)...)
	p.model, _ = world.Compile(p.snapshot)
	p.Publish(p.model, everybody)
	return p
}

// everybody is for a server to which nobody is connected yet.
var everybody resolve.Affected

// start opens the server at the plane's port.
func (p *plane) start() {
	p.t.Helper()
	l, err := net.FileListener(p.held)
	if err != nil {
		p.t.Fatal(err)
	}
	p.Server = server.New(p.opts)
	s, door := p.Server, port.New(port.Options{Logger: p.opts.Logger, Register: p.Server.Register})
	served := make(chan error, 1)
	go func() { served <- door.Serve(l) }()
	p.stop = func() {
		p.stop = func() {}
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := s.Shutdown(ctx); err != nil {
			p.t.Errorf("streams did not end: %v", err)
		}
		ctx, cancel = context.WithTimeout(ctx, 2*time.Second)
		defer cancel()
		_ = door.Shutdown(ctx) // clients may keep their connections open until then
		if err := <-served; err != nil {
			p.t.Error(err)
		}
	}
}

// restart replaces the server by one that knows nothing of the streams before.
func (p *plane) restart(documents ...string) {
	p.t.Helper()
	p.stop()
	p.start()
	if len(documents) > 0 {
		p.change(documents...)
	}
	p.Publish(p.model, everybody)
}

func (p *plane) decode(documents []string) []*api.Object {
	p.t.Helper()
	var out []*api.Object
	for _, d := range documents {
		objects, err := decode.Objects(world.Catalog(), "test.yaml", []byte(d))
		if err != nil {
			p.t.Fatalf("%v\n%s", err, d)
		}
		out = append(out, objects...)
	}
	return out
}

// change updates the model without publishing it.
func (p *plane) change(documents ...string) resolve.Affected {
	p.t.Helper()
	var changes []snapshot.Change
	for _, o := range p.decode(documents) {
		before, _ := p.snapshot.Get(o.Ref)
		changes = append(changes, snapshot.Change{Before: before, After: o})
	}
	return p.step(changes)
}

func (p *plane) step(changes []snapshot.Change) (affected resolve.Affected) {
	p.snapshot = p.snapshot.With(p.snapshot.Revision()+1, changes)
	p.model, affected = p.model.Update(p.snapshot, changes)
	return affected
}

// apply publishes documents.
func (p *plane) apply(documents ...string) {
	p.t.Helper()
	affected := p.change(documents...)
	p.Publish(p.model, affected)
}

// remove deletes an object and publishes that.
func (p *plane) remove(ref api.Ref) {
	p.t.Helper()
	before, ok := p.snapshot.Get(ref)
	if !ok {
		p.t.Fatalf("no %s", ref)
	}
	affected := p.step([]snapshot.Change{{Before: before}})
	p.Publish(p.model, affected)
}

func dataplaneRef(name string) api.Ref {
	return api.Ref{Kind: api.KindDataplane, Mesh: "default", Name: name}
}

// until polls the status of a dataplane.
func (p *plane) until(name, what string, ok func(syncstatus.Status) bool) syncstatus.Status {
	p.t.Helper()
	deadline := time.Now().Add(patience)
	for {
		s, _ := p.Status(dataplaneRef(name))
		if ok(s) {
			return s
		}
		if time.Now().After(deadline) {
			p.t.Fatalf("waited until %s %s; status %+v", name, what, s)
		}
		time.Sleep(2 * time.Millisecond)
	}
}

// synced waits until a dataplane has confirmed the newest publication.
func (p *plane) synced(name string) syncstatus.Status {
	p.t.Helper()
	now := p.snapshot.Revision()
	return p.until(name, fmt.Sprintf("has revision %d", now), func(s syncstatus.Status) bool { return s.InSync && s.Acked == now })
}

// envoy starts a real Envoy as a dataplane.
func (p *plane) envoy(name, form string) *envoytest.Envoy {
	p.t.Helper()
	return p.envoyWith(name, form, "")
}

// envoyWith starts one that finds its token in a file, if that is not empty.
func (p *plane) envoyWith(name, form, tokenPath string) *envoytest.Envoy {
	p.t.Helper()
	admin := envoytest.Socket(p.t)
	b, err := render.Bootstrap(render.Config{
		Mesh: "default", Name: name, XDSHost: "127.0.0.1", XDSPort: uint32(p.addr.Port),
		StateOfTheWorld: form == syncstatus.StateOfTheWorld, AdminSocket: admin, TokenPath: tokenPath,
	})
	if err != nil {
		p.t.Fatal(err)
	}
	return envoytest.Start(p.t, admin, b).Ready()
}

// The documents of the tests.

const exclusive = "type: Mesh\nname: default\nmeshServices: {mode: Exclusive}\n"

// service is a MeshService whose inbounds listen at target.
func service(name string, target uint32) string {
	return fmt.Sprintf(`type: MeshService
mesh: default
name: %s
spec:
  selector: {dataplaneTags: {app: %s}}
  ports: [{port: 8080, targetPort: %d, appProtocol: http}]
`, name, name, target)
}

// member is a dataplane behind a service.
func member(service string, at uint32) string {
	return fmt.Sprintf(`type: Dataplane
mesh: default
name: %s-1
networking:
  address: 127.0.0.1
  inbound: [{port: %d, tags: {kuma.io/service: %s, app: %s, kuma.io/protocol: http}}]
`, service, at, service, service)
}

// caller is a dataplane that reaches services, at a port each.
func caller(name string, outbounds map[uint32]string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "type: Dataplane\nmesh: default\nname: %s\nnetworking:\n  address: 127.0.0.1\n  outbound:\n", name)
	for port, service := range outbounds { // resolving sorts them
		fmt.Fprintf(&b, "  - {address: 127.0.0.1, port: %d, backendRef: {kind: MeshService, name: %s, port: 8080}}\n", port, service)
	}
	return b.String()
}

// switched is the route to web, which leads to backend.
func switched(backend string) string {
	return fmt.Sprintf(`type: MeshHTTPRoute
mesh: default
name: to-web
spec:
  targetRef: {kind: Mesh}
  to:
  - targetRef: {kind: MeshService, name: web}
    rules:
    - matches: [{path: {type: PathPrefix, value: /}}]
      default:
        backendRefs: [{kind: MeshService, name: %s, port: 8080}]
`, backend)
}

// retries of the route to web.
func retries(n int) string {
	return fmt.Sprintf(`type: MeshRetry
mesh: default
name: retries
spec:
  targetRef: {kind: Mesh}
  to:
  - targetRef: {kind: MeshService, name: web}
    default: {http: {numRetries: %d, retryOn: ["5xx"]}}
`, n)
}

// connecting is the connect timeout of a service.
func connecting(service, timeout string) string {
	return fmt.Sprintf(`type: MeshTimeout
mesh: default
name: connecting
spec:
  targetRef: {kind: Mesh}
  to:
  - targetRef: {kind: MeshService, name: %s}
    default: {connectionTimeout: %s}
`, service, timeout)
}

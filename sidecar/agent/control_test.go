package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"

	"github.com/weftmesh/weft/api/decode"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/internal/envoytest"
	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/sidecar/attach"
	"github.com/weftmesh/weft/xds"
	"github.com/weftmesh/weft/xds/bootstrap/render"
	"github.com/weftmesh/weft/xds/server"
	"github.com/weftmesh/weft/xds/server/authn"
	"github.com/weftmesh/weft/xds/server/port"
)

const dataplane = `type: Dataplane
mesh: default
name: web-1
networking: {address: 127.0.0.1, outbound: [{port: %d, tags: {kuma.io/service: web}}]}
`

// control is a control plane for web-1 with a real ADS. It lets in the first
// token, for a moment at a time, until it has seen the second.
type control struct {
	t      *testing.T
	addr   string
	stop   func()
	asked  atomic.Int64
	second atomic.Bool
	agents attach.SidecarServer // nil: none
	docs   string
}

func newControl(t *testing.T) *control {
	t.Helper()
	c := &control{t: t, docs: fmt.Sprintf(dataplane, envoytest.Port(t))}
	c.start(envoytest.Address(t))
	t.Cleanup(func() { c.stop() })
	return c
}

func (c *control) start(at string) {
	c.t.Helper()
	l, err := net.Listen("tcp", at)
	if err != nil {
		c.t.Fatal(err)
	}
	c.addr = l.Addr().String()
	o := server.Default()
	x := xds.NewRenderer(world.Kinds()).Reporting()
	o.Renderer, o.Authenticator = x, c
	o.RendererFor = server.ByFeatures(x.For)
	ads := server.New(o)
	objects, err := decode.Objects(world.Catalog(), "web-1.yaml", []byte(c.docs))
	if err != nil {
		c.t.Fatal(err)
	}
	m, _ := world.Compile(snapshot.New(1, append(objects, world.DefaultMesh())...))
	ads.Publish(m, resolve.Affected{})
	p := port.New(port.Options{Logger: o.Logger, HTTP: http.HandlerFunc(c.bootstrap), Register: func(g grpc.ServiceRegistrar) {
		ads.Register(g)
		if c.agents != nil {
			attach.RegisterSidecarServer(g, c.agents)
		}
	}})
	served := make(chan error, 1)
	go func() { served <- p.Serve(l) }()
	c.stop = func() {
		c.stop = func() {}
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = ads.Shutdown(ctx) // the port closes what is left
		_ = p.Shutdown(ctx)
		if err := <-served; err != nil {
			c.t.Error(err)
		}
	}
}

func (c *control) bootstrap(w http.ResponseWriter, r *http.Request) {
	c.asked.Add(1)
	var ask struct {
		Name, TokenPath, AgentSocket string
		Features                     []any
	}
	if err := json.NewDecoder(r.Body).Decode(&ask); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	at := c.addrPort()
	text, err := render.Bootstrap(render.Config{Mesh: "default", Name: ask.Name, TokenPath: ask.TokenPath, XDSHost: "127.0.0.1", XDSPort: at, AgentSocket: ask.AgentSocket,
		Metadata: map[string]any{"features": ask.Features}})
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	_, _ = w.Write(text)
}

func (c *control) addrPort() uint32 {
	a, err := net.ResolveTCPAddr("tcp", c.addr)
	if err != nil {
		c.t.Error(err)
		return 0
	}
	return uint32(a.Port)
}

func (c *control) Authenticate(_ context.Context, credentials string) (authn.Identity, error) {
	var who authn.Identity
	switch {
	case credentials == "second":
		c.second.Store(true)
	case credentials == "first" && !c.second.Load():
		who.Expires = time.Now().Add(time.Second)
	case credentials != "":
		return who, errors.New("the token is not good")
	}
	return who, nil
}

// TestTheTokenIsRenewedWithoutARestart: a new token in its file is enough.
func TestTheTokenIsRenewedWithoutARestart(t *testing.T) {
	t.Parallel()
	c := newControl(t)
	conf := config("http://" + c.addr)
	conf.TokenFile = write(t, "token", "first\n")
	r := run(t, conf, true)
	eventually(t, "ready", func() bool { return r.ready() == http.StatusOK })
	if err := os.WriteFile(conf.TokenFile, nil, 0o600); err != nil { // somebody is about to write it
		t.Fatal(err)
	}
	eventually(t, "an empty file is told of", func() bool { return r.says("token-file " + conf.TokenFile + " is empty") })
	if err := os.WriteFile(conf.TokenFile, []byte("second\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	eventually(t, "a stream with the second token", c.second.Load)
	eventually(t, "connected", func() bool { return connected(r) })
	if n := r.Starts(); n != 1 {
		t.Errorf("Envoy was started %d times", n)
	}
}

// connected reports whether Envoy says so.
func connected(r *running) bool {
	return get("http://"+r.Admin()+"/stats?filter=control_plane.connected_state") == "control_plane.connected_state: 1\n"
}

// TestACutOffSidecarRegistersAgain: the control plane may have forgotten it; the
// Envoy stays.
func TestACutOffSidecarRegistersAgain(t *testing.T) {
	t.Parallel()
	c := newControl(t)
	conf := config("http://" + c.addr)
	r := run(t, conf, true)
	eventually(t, "ready", func() bool { return r.ready() == http.StatusOK })
	before := c.asked.Load()
	c.stop()
	eventually(t, "it is told that registering fails", func() bool { return r.says("registering again fails") })
	c.start(c.addr)
	eventually(t, "asked again", func() bool { return c.asked.Load() > before })
	eventually(t, "connected", func() bool { return connected(r) })
	if n := r.Starts(); n != 1 {
		t.Errorf("Envoy was started %d times", n)
	}
}

// TestAnEnvoyThatCannotConnectGetsAnotherBootstrap: where the agent reaches the
// control plane, and what it is given has changed.
func TestAnEnvoyThatCannotConnectGetsAnotherBootstrap(t *testing.T) {
	t.Parallel()
	c := newControl(t)
	moved := newControl(t)
	var now atomic.Pointer[control]
	now.Store(c)
	front, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { now.Load().bootstrap(w, r) })}
	go func() { _ = s.Serve(front) }() // ends by Close
	t.Cleanup(func() { _ = s.Close() })
	r := run(t, config("http://"+front.Addr().String()), true)
	eventually(t, "ready", func() bool { return r.ready() == http.StatusOK })
	now.Store(moved)
	c.stop()
	eventually(t, "connected elsewhere", func() bool { return r.Starts() == 2 && connected(r) })
	eventually(t, "ready", func() bool { return r.ready() == http.StatusOK })
}

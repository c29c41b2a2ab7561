package control_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
)

const (
	clusterType  = "type.googleapis.com/envoy.config.cluster.v3.Cluster"
	endpointType = "type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment"
)

// callers is a service of the world, and a sidecar of it that calls backend.
const callers = `
type: MeshService
mesh: default
name: backend
spec: {selector: {dataplaneTags: {app: backend}}, ports: [{port: 80, targetPort: 8080, appProtocol: http}]}
---
type: Dataplane
mesh: default
name: frontend-1
networking:
  address: 127.0.0.1
  outbound: [{port: 10001, backendRef: {kind: MeshService, name: backend, port: 80}}]
`

const backendEphemeral = `type: Dataplane
mesh: default
name: backend-1
networking:
  address: 127.0.0.9
  inbound: [{port: 8080, tags: {kuma.io/service: backend, kuma.io/protocol: http, app: backend}}]
`

// endpoints follows how many endpoints the clusters of a dataplane have, as
// its Envoy would.
func (p *plane) endpoints(name, token string) *atomic.Int32 {
	p.t.Helper()
	stream, end := p.stream(name, token)
	p.t.Cleanup(end)
	var n atomic.Int32
	n.Store(-1)
	go func() {
		for {
			r, err := stream.Recv()
			if err != nil {
				return
			}
			_ = stream.Send(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: r.GetTypeUrl(), ResponseNonce: r.GetNonce()})
			for _, x := range r.GetResources() {
				if r.GetTypeUrl() == clusterType {
					_ = stream.Send(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: endpointType, ResourceNamesSubscribe: []string{x.GetName()}})
					continue
				}
				var of endpointv3.ClusterLoadAssignment
				if x.GetResource().UnmarshalTo(&of) != nil {
					continue
				}
				count := 0
				for _, l := range of.GetEndpoints() {
					count += len(l.GetLbEndpoints())
				}
				n.Store(int32(count))
			}
		}
	}()
	return &n
}

// A network that is cut for long looks like sidecars that are gone. Their
// Envoys live, and ask for no bootstrap when they come back.
func TestASidecarThatWasCutOffComesBackWithItsDataplane(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ called, document string }{
		"by its name":            {"backend-1", backendEphemeral},
		"with a namespace":       {"backend-1.shop", strings.Replace(backendEphemeral, "name:", "namespace: shop\nname:", 1)},
		"with a dot in its name": {"backend-1.shop", strings.Replace(backendEphemeral, "backend-1", "backend-1.shop", 1)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conf := config(t)
			conf.DataplaneAuth, conf.DeregisterAfter = "token", 50*time.Millisecond
			p := start(t, conf)
			p.want(http.StatusOK, http.MethodPost, "/_apply", callers)
			token := func(name string) string {
				return p.want(http.StatusOK, http.MethodPost, "/tokens/dataplane", `{"name":"`+name+`","validFor":"1h","tags":{"kuma.io/service":["backend"]}}`)
			}
			seen := p.endpoints("frontend-1", token("frontend-1"))
			ask := map[string]any{"mesh": "default", "name": c.called, "dataplaneResource": c.document}
			if code, text := p.ask(http.DefaultClient, "http://"+p.XDS(), token(c.called), ask); code != http.StatusOK {
				t.Fatalf("%d %s", code, text)
			}
			cut := p.keepConnected(c.called, token(c.called))
			eventually(t, "its endpoint is served", func() bool { return seen.Load() == 1 })
			for range 2 {
				p.streams(2)
				cut()
				eventually(t, "it goes", func() bool { return get[list](p, "/dataplanes").Total == 1 && seen.Load() == 0 })
				cut = p.keepConnected(c.called, token(c.called))
				eventually(t, "it is back", func() bool { return get[list](p, "/dataplanes").Total == 2 && seen.Load() == 1 })
			}
			cut()
		})
	}
}

// keepConnected holds a stream open as an Envoy does: when it ends, it begins
// another.
func (p *plane) keepConnected(name, token string) (cut func()) {
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			stream, end := p.stream(name, token)
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				for _, err := stream.Recv(); err == nil; _, err = stream.Recv() {
				}
			}()
			select {
			case <-stop:
				end()
				<-ended
				return
			case <-ended:
				end()
			}
		}
	}()
	cut = sync.OnceFunc(func() {
		close(stop)
		<-done
	})
	p.t.Cleanup(cut)
	return cut
}

func TestWhatAUserWroteIsNotEphemeral(t *testing.T) {
	t.Parallel()
	c := config(t)
	c.DeregisterAfter = 50 * time.Millisecond
	p := start(t, c)
	document := func(name string) string { return strings.ReplaceAll(guest, "guest-1", name) }
	for _, name := range []string{"guest-1", "guest-2", "witness"} {
		body := map[string]any{"mesh": "default", "name": name, "dataplaneResource": document(name)}
		if code, text := p.ask(http.DefaultClient, "http://"+p.XDS(), "", body); code != http.StatusOK {
			t.Fatalf("%d %s", code, text)
		}
	}
	// Taken over as it is; and one that a client calls what a sidecar's is called.
	if text := p.want(http.StatusOK, http.MethodPost, "/_apply", document("guest-1")); !strings.Contains(text, `"unchanged"`) {
		t.Errorf("an equal document: %s", text)
	}
	p.want(http.StatusOK, http.MethodPost, "/_apply?file=bootstrap", document("mine"))
	witness := p.connect("witness")
	for _, name := range []string{"guest-1", "guest-2", "mine"} {
		p.connect(name)()
	}
	p.streams(1)
	eventually(t, "a guest goes", func() bool { return names(get[list](p, "/dataplanes")) == "guest-1 mine witness" })
	// Its name is given to another while it is away.
	p.want(http.StatusOK, http.MethodPost, "/_apply", strings.ReplaceAll(document("guest-2"), "127.0.0.9", "127.0.0.77"))
	p.connect("guest-2")()
	p.streams(1)
	witness()
	eventually(t, "the last guest goes, and nobody else", func() bool { return names(get[list](p, "/dataplanes")) == "guest-1 guest-2 mine" })
	if text := p.want(http.StatusOK, http.MethodGet, "/meshes/default/dataplanes/guest-2", ""); !strings.Contains(text, "127.0.0.77") {
		t.Errorf("the user's own was overwritten: %s", text)
	}
}

// streams waits until there are n streams.
func (p *plane) streams(n int) {
	p.t.Helper()
	want := fmt.Sprintf("weft_streams{protocol=%q} %d\n", "delta", n)
	eventually(p.t, want, func() bool { return strings.Contains(p.want(http.StatusOK, http.MethodGet, "/metrics", ""), want) })
}

// TestABootstrapThatRacesWithTheEndOfItsMeshLeavesNoOrphan: whichever of the two
// comes first, a Dataplane never stands in a mesh that is gone.
func TestABootstrapThatRacesWithTheEndOfItsMeshLeavesNoOrphan(t *testing.T) {
	t.Parallel()
	p := start(t, config(t))
	ask := map[string]any{"mesh": "short", "name": "guest-1", "dataplaneResource": strings.ReplaceAll(guest, "mesh: default", "mesh: short")}
	brought, deleted := 0, 0
	for range 40 {
		if code, text := p.call(http.MethodPut, "/meshes/short", `{"type":"Mesh","name":"short"}`); code >= 300 {
			t.Fatalf("%d %s", code, text)
		}
		answered := make(chan int, 1)
		go func() {
			code, _ := p.ask(http.DefaultClient, "http://"+p.XDS(), "", ask)
			answered <- code
		}()
		gone, text := p.call(http.MethodDelete, "/meshes/short", "")
		switch code := <-answered; {
		case code == http.StatusOK && gone == http.StatusConflict:
			brought++
			p.want(http.StatusOK, http.MethodDelete, "/meshes/short/dataplanes/guest-1", "")
		case code == http.StatusNotFound && gone == http.StatusOK:
			deleted++
		default:
			t.Fatalf("the bootstrap answered %d, the deletion %d %s", code, gone, text)
		}
		if got := get[list](p, "/dataplanes").Total; got != 0 {
			t.Fatalf("%d dataplanes are left", got)
		}
	}
	t.Logf("%d dataplanes were brought along, %d came too late", brought, deleted)
}

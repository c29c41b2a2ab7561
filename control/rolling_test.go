package control_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/weftmesh/weft/internal/kubetest"
)

// virtualMachines are hand-written Dataplanes.
func virtualMachines(t *testing.T, c *kubetest.Cluster, n int) (names []string) {
	t.Helper()
	for i := range n {
		name := fmt.Sprintf("vm-%03d", i)
		create(t, c, "/apis/kuma.io/v1alpha1/namespaces/shop/dataplanes", fmt.Sprintf(`
{apiVersion: kuma.io/v1alpha1, kind: Dataplane, mesh: default, metadata: {name: %s}, spec: {networking: {address: 198.51.101.%d, inbound: [{port: 8080, tags: {kuma.io/service: vm}}],
outbound: [{port: 10001, address: 127.0.0.1, backendRef: {kind: MeshService, name: web, port: 80}}]}}}`, name, i+1))
		names = append(names, name+".shop")
	}
	return names
}

// moving is a sidecar that has a stream to one replica, and to the other when that ends.
func moving(name string, from, to *plane, left *atomic.Int64) error {
	for _, p := range []*plane{from, to} {
		stream, end := p.stream(name, "")
		defer end()
		first := true
		for {
			r, err := stream.Recv()
			if p == to && err != nil {
				return fmt.Errorf("%s at the other replica: %w", name, err)
			}
			if err != nil && status.Code(err) != codes.Unavailable {
				return fmt.Errorf("%s: %w", name, err)
			}
			if err != nil {
				left.Add(-1)
				break
			}
			if p == to {
				return nil // it is served
			}
			if err := stream.Send(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: r.GetTypeUrl(), ResponseNonce: r.GetNonce()}); err != nil {
				continue // Recv says why
			}
			if first {
				first = false
				left.Add(1)
			}
		}
	}
	return nil
}

// TestAPIServerReplicaStopsLittleByLittle: a replica that is to stop is ready no more and
// leads no more at once, answers on, and its sidecars go one after the other to the other
// replica, which refuses none.
func TestAPIServerReplicaStopsLittleByLittle(t *testing.T) {
	t.Parallel()
	c := defined(t)
	workload(t, c)
	names := virtualMachines(t, c, 100)
	a := start(t, peered(t, c, "a")).trust(c)
	eventually(t, "the first replica leads", a.leads)
	b := start(t, peered(t, c, "b")).trust(c)
	endpoint(t, c, "a", a.XDS())
	endpoint(t, c, "b", b.XDS())
	var connected atomic.Int64
	var running sync.WaitGroup
	failed := make(chan error, len(names))
	for _, name := range names {
		running.Go(func() { failed <- moving(name, a, b, &connected) })
	}
	eventually(t, "all sidecars are served", func() bool { return int(connected.Load()) == len(names) })
	eventually(t, "the other replica knows of them", func() bool {
		text := b.want(http.StatusOK, http.MethodGet, "/meshes/default/dataplanes/vm-042.shop/_overview", "")
		return strings.Contains(text, `"controlPlaneInstanceId":"a"`)
	})
	started := time.Now()
	stopped := make(chan struct{})
	go func() { a.stop(); close(stopped) }()
	eventually(t, "it is ready no more", func() bool {
		code, _ := a.call(http.MethodGet, "/readyz", "")
		return code == http.StatusServiceUnavailable
	})
	a.want(http.StatusOK, http.MethodGet, "/meshes/default/dataplanes/vm-099.shop/_explain", "")
	eventually(t, "the other replica leads", b.leads)
	if connected.Load() == 0 {
		t.Logf("all streams had ended when the other led, after %v", time.Since(started))
	}
	running.Wait()
	if took := time.Since(started); took < 99*20*time.Second/100 {
		t.Errorf("the last stream ended after %v, and not after 20 s", took)
	}
	close(failed)
	for err := range failed {
		if err != nil {
			t.Error(err)
		}
	}
	<-stopped
}

package server_test

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"

	"google.golang.org/grpc"

	"github.com/weftmesh/weft/xds/server/syncstatus"
)

// The world of the benchmarks: services with a route each, and sidecars that
// call some of them.
const (
	benchServices = 100
	benchSidecars = 200
	benchOuts     = 20
)

func benchWorld() []string {
	docs := []string{exclusive}
	for i := range benchServices {
		name := fmt.Sprintf("svc-%d", i)
		next := fmt.Sprintf("svc-%d", (i+1)%benchServices)
		docs = append(docs, service(name, 8080), benchRoute(name, next), benchRetry(i, 2))
	}
	for i := range benchSidecars {
		var b strings.Builder
		app := fmt.Sprintf("svc-%d", i%benchServices)
		fmt.Fprintf(&b, "type: Dataplane\nmesh: default\nname: dp-%d\nnetworking:\n  address: 127.1.0.%d\n", i, i+1)
		fmt.Fprintf(&b, "  inbound: [{port: 8080, tags: {kuma.io/service: %s, app: %s, kuma.io/protocol: http}}]\n  outbound:\n", app, app)
		for k := range benchOuts {
			fmt.Fprintf(&b, "  - {address: 127.0.0.1, port: %d, backendRef: {kind: MeshService, name: svc-%d, port: 8080}}\n", 20000+k, benchCalls(i, k))
		}
		docs = append(docs, b.String())
	}
	return docs
}

// benchCalls is the k-th service that a sidecar calls.
func benchCalls(sidecar, k int) int { return (sidecar + k*7 + 1) % benchServices }

func benchRoute(name, next string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "type: MeshHTTPRoute\nmesh: default\nname: route-%s\nspec:\n  targetRef: {kind: Mesh}\n  to:\n  - targetRef: {kind: MeshService, name: %s}\n    rules:\n", name, name)
	for r := range 5 {
		fmt.Fprintf(&b, "    - matches: [{path: {type: PathPrefix, value: /api/v%d}}]\n      default:\n        backendRefs: [{kind: MeshService, name: %s, port: 8080, weight: 90}, {kind: MeshService, name: %s, port: 8080, weight: 10}]\n", r, name, next)
	}
	return b.String()
}

func benchRetry(i, n int) string {
	return fmt.Sprintf("type: MeshRetry\nmesh: default\nname: retry-%d\nspec:\n  targetRef: {kind: Mesh}\n  to:\n  - targetRef: {kind: MeshHTTPRoute, name: route-svc-%d}\n    default: {http: {numRetries: %d, retryOn: [\"5xx\"]}}\n", i, i, n)
}

// connectAll configures all sidecars over few connections.
func connectAll(p *plane) []*delta {
	conns := []*grpc.ClientConn{dial(p.t, p.addr), dial(p.t, p.addr)}
	out := make([]*delta, benchSidecars)
	var all sync.WaitGroup
	for i := range out {
		all.Go(func() {
			out[i] = p.over(conns[i%len(conns)], fmt.Sprintf("default.dp-%d", i), "")
			out[i].configure()
		})
	}
	all.Wait()
	return out
}

// BenchmarkConnect is 200 sidecars with 20 outbounds each, from nothing to
// configured; client and server share the processors.
func BenchmarkConnect(b *testing.B) {
	p := serve(b, nil, benchWorld()...)
	for b.Loop() {
		for _, c := range connectAll(p) {
			c.end()
		}
		b.StopTimer()
		for i := range benchSidecars {
			p.until(fmt.Sprintf("dp-%d", i), "is gone", func(s syncstatus.Status) bool { return !s.Connected })
		}
		b.StartTimer()
	}
}

// BenchmarkChange is one changed MeshRetry, until all 40 sidecars that it
// concerns have confirmed it, with 160 others connected.
func BenchmarkChange(b *testing.B) {
	p := serve(b, nil, benchWorld()...)
	clients := connectAll(p)
	n := 2
	for b.Loop() {
		n++
		i := n % benchServices
		var all sync.WaitGroup
		for s, c := range clients {
			for k := range benchOuts {
				if benchCalls(s, k) == i {
					all.Go(func() { c.ack(c.next("rds")) })
				}
			}
		}
		p.apply(benchRetry(i, n))
		all.Wait()
	}
}

// BenchmarkSidecarBytes reports the memory of one connected sidecar, its
// client's and gRPC's part included.
func BenchmarkSidecarBytes(b *testing.B) {
	p := serve(b, nil, benchWorld()...)
	p.delta("default.dp-0", "").configure() // what all share is rendered
	var before, after runtime.MemStats
	for b.Loop() {
		runtime.GC()
		runtime.ReadMemStats(&before)
		clients := connectAll(p)
		runtime.GC()
		runtime.GC()
		runtime.ReadMemStats(&after)
		b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/benchSidecars, "heap-B/sidecar")
		b.ReportMetric(float64(after.StackInuse-before.StackInuse)/benchSidecars, "stack-B/sidecar")
		for _, c := range clients {
			c.end()
		}
		for i := range benchSidecars {
			p.until(fmt.Sprintf("dp-%d", i), "is gone", func(s syncstatus.Status) bool { return !s.Connected || i == 0 })
		}
	}
}

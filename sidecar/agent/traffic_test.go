package agent_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"google.golang.org/grpc"

	"github.com/weftmesh/weft/internal/envoytest"
	"github.com/weftmesh/weft/sidecar/attach"
)

const calling = `type: Dataplane
mesh: default
name: web-1
networking: {address: 127.0.0.1, inbound: [{port: %d, servicePort: %d, tags: {kuma.io/service: web, kuma.io/protocol: http}}], outbound: [{port: %d, tags: {kuma.io/service: shop}}]}
---
type: Dataplane
mesh: default
name: shop-1
networking: {address: 127.0.0.1, inbound: [{port: %d, tags: {kuma.io/service: shop, kuma.io/protocol: http}}]}
`

// agents are the streams of agents to a control plane that says how often it wants to hear of requests.
type agents struct {
	attach.UnimplementedSidecarServer
	mu      sync.Mutex
	every   uint32
	streams []*stream
}

type stream struct {
	end     chan struct{}
	reports []*attach.Traffic
}

func (a *agents) Attach(s grpc.BidiStreamingServer[attach.Up, attach.Down]) error {
	one := &stream{end: make(chan struct{})}
	a.mu.Lock()
	a.streams = append(a.streams, one)
	every := a.every
	a.mu.Unlock()
	if err := s.Send(&attach.Down{Is: &attach.Down_Report{Report: &attach.Report{EverySeconds: every}}}); err != nil {
		return err
	}
	go func() {
		for {
			up, err := s.Recv()
			if err != nil {
				return
			}
			if told := up.GetTraffic(); told != nil {
				a.mu.Lock()
				one.reports = append(one.reports, told)
				a.mu.Unlock()
			}
		}
	}()
	select {
	case <-one.end:
	case <-s.Context().Done():
	}
	return nil
}

// told is what the nth stream heard.
func (a *agents) told(n int) []*attach.Traffic {
	a.mu.Lock()
	defer a.mu.Unlock()
	if n >= len(a.streams) {
		return nil
	}
	return append([]*attach.Traffic(nil), a.streams[n].reports...)
}

// refused counts what is told of connections that were refused, by all reports.
func refused(all []*attach.Traffic) (n uint32) {
	for _, told := range all {
		for _, table := range told.GetTables() {
			for _, s := range append(table.GetSlots(), table.GetOthers()) {
				for _, c := range s.GetCauses() {
					if c.GetFlags() == "UF" && strings.Contains(c.GetDetails(), "Connection_refused") && c.GetStatus() == 503 {
						n += c.GetCount()
					}
				}
			}
		}
	}
	return n
}

// TestTrafficIsReported: an agent and its Envoy, configured as every sidecar is, tell the control plane of
// requests as often as it wants, also when there was none, and each stream of its own time alone.
func TestTrafficIsReported(t *testing.T) {
	t.Parallel()
	c := &control{t: t, agents: &agents{every: 2}}
	out, in := envoytest.Port(t), envoytest.Port(t)
	c.docs = fmt.Sprintf(calling, in, envoytest.Port(t), out, envoytest.Port(t)) // nobody is there
	c.start(envoytest.Address(t))
	t.Cleanup(func() { c.stop() })
	r := start(t, config("http://"+c.addr))
	heard := c.agents.(*agents)
	call := func(port uint32, n int) {
		t.Helper()
		for range n {
			eventually(t, "an answer", func() bool {
				resp, err := http.Get(fmt.Sprintf("http://127.0.0.1:%d/", port))
				if err != nil {
					return false
				}
				_ = resp.Body.Close()
				return resp.StatusCode == http.StatusServiceUnavailable
			})
		}
	}
	eventually(t, "a report of no request", func() bool { return len(heard.told(0)) > 0 })
	if first := heard.told(0)[0]; len(first.GetTables()) > 0 || first.GetMilliseconds() == 0 || first.GetMilliseconds() > 60_000 || first.GetErrorsPpm() != 1_000_000 {
		t.Errorf("before any request there is told %v", first)
	}
	eventually(t, "a listener", func() bool { return r.ready() == http.StatusOK })
	call(out, 12)
	eventually(t, "12 requests are told", func() bool { return refused(heard.told(0)) == 12 })
	close(heard.streams[0].end)
	eventually(t, "another stream", func() bool { return len(heard.told(1)) > 0 })
	call(in, 5)
	eventually(t, "5 requests are told", func() bool { return refused(heard.told(1)) == 5 })
	if n := refused(heard.told(0)); n != 12 {
		t.Errorf("the first stream was told of %d", n)
	}
}

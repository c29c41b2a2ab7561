package telemetryload

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weftmesh/weft/internal/envoytest"
)

// Requests of one round, so many a second, and how many rounds each way has.
const (
	perSecond = 1000
	perRound  = 3000
	rounds    = 9
	// atOnce are the requests after each round that Envoy answers without a pause.
	atOnce = 16_000
)

// ways are meshes in which requests are seen in several ways: not at all; as without any word; with a line of JSON of
// each; and while somebody watches, also with headers.
var ways = []string{"off", "default", "json", "tap", "headers"}

const jsonLog = `type: MeshAccessLog
mesh: json
name: all
spec:
  to:
    - targetRef: {kind: Mesh}
      default:
        backends:
          - type: File
            file:
              path: /dev/stdout
              format:
                type: Json
                json: [{key: start, value: "%START_TIME%"}, {key: method, value: "%REQ(:METHOD)%"}, {key: path, value: "%PATH(NQ)%"}, {key: protocol, value: "%PROTOCOL%"},
                  {key: code, value: "%RESPONSE_CODE%"}, {key: flags, value: "%RESPONSE_FLAGS%"}, {key: received, value: "%BYTES_RECEIVED%"}, {key: sent, value: "%BYTES_SENT%"},
                  {key: duration, value: "%DURATION%"}, {key: agent, value: "%REQ(USER-AGENT)%"}, {key: id, value: "%REQ(X-REQUEST-ID)%"}, {key: authority, value: "%REQ(:AUTHORITY)%"},
                  {key: host, value: "%UPSTREAM_HOST%"}, {key: service, value: "%KUMA_DESTINATION_SERVICE%"}]
---
`

// sidecar is one that calls a workload in its own way.
type sidecar struct {
	agent, envoy int // processes
	url          string
	took         [][]time.Duration // of each round, the shortest first
	cpu          []float64         // of Envoy without a pause, microseconds a request, by round
	agentCPU     []float64         // of the agent, of one core, by round
}

// BenchmarkTelemetry compares sidecars of meshes in which requests are seen with one of a mesh in which they are not:
// Envoy's CPU for a request, the time that requests take, the agent's CPU and memory. Rounds of all take turns, so
// that whatever else the machine does strikes all; differences are those of the middle rounds.
func BenchmarkTelemetry(b *testing.B) {
	p := build(b)
	api, xds := p.controlPlane(b)
	app := workload(b)
	all := map[string]*sidecar{}
	for _, way := range ways {
		all[way] = newSidecar(b, p, api, xds, way, app)
	}
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}, Timeout: 10 * time.Second}
	for _, way := range ways {
		all[way].round(b, client) // connections are made
		all[way].busy(b)
	}
	watch(b, api, "tap", "")
	watch(b, api, "headers", `"x-request-id", "content-type"`)
	for _, s := range all {
		s.took, s.cpu, s.agentCPU = nil, nil, nil
	}
	for n := range rounds {
		turn := slices.Clone(ways)
		if n%2 == 1 {
			slices.Reverse(turn)
		}
		for _, way := range turn {
			all[way].round(b, client)
			all[way].busy(b)
		}
	}
	report(b, all)
	b.ReportMetric(storm(b, all["default"]), "core/agent_in_a_storm")
	b.ReportMetric(0, "ns/op")
}

func report(b *testing.B, all map[string]*sidecar) {
	b.Helper()
	off := all["off"]
	for _, way := range ways {
		s := all[way]
		b.ReportMetric(middle(s.cpu), "µs/envoy_"+way)
		b.ReportMetric(middle(s.at(0.99)), "ms/p99_"+way)
		b.ReportMetric(middle(s.agentCPU), "core/agent_"+way)
		b.ReportMetric(resident(s.agent)/(1<<20), "MiB/agent_"+way)
		if way == "off" {
			continue
		}
		var more []float64
		for i := range s.cpu {
			more = append(more, s.cpu[i]-off.cpu[i])
		}
		b.ReportMetric(middle(more), "µs/envoy_more_"+way)
		b.ReportMetric(middle(s.at(0.99))/middle(off.at(0.99)), "ratio/p99_"+way)
	}
}

// newSidecar is that of a mesh, which calls app.
func newSidecar(b testing.TB, p programs, api, xds, mesh string, app uint32, flags ...string) *sidecar {
	b.Helper()
	out, ready := envoytest.Port(b), envoytest.Address(b)
	docs := fmt.Sprintf("type: Mesh\nname: %s\ntelemetry: {disabled: %v}\n---\n", mesh, mesh == "off")
	if mesh == "json" {
		docs += jsonLog
	}
	docs += fmt.Sprintf(`type: Dataplane
mesh: %[1]s
name: web
networking: {address: 127.0.0.1, inbound: [{port: %[2]d, servicePort: 1, tags: {kuma.io/service: web, kuma.io/protocol: http}}], outbound: [{port: %[3]d, tags: {kuma.io/service: app}}]}
---
type: Dataplane
mesh: %[1]s
name: app
networking: {address: 127.0.0.1, inbound: [{port: %[4]d, tags: {kuma.io/service: app, kuma.io/protocol: http}}]}
`, mesh, envoytest.Port(b), out, app)
	post(b, "http://"+api+"/_apply", docs)
	flags = append([]string{"sidecar", "--xds", "http://" + xds, "--mesh", mesh, "--name", "web", "--envoy", envoytest.Path(b), "--concurrency", "1", "--readiness", ready, "--log-level", "error"}, flags...)
	agent := start(b, p.agent, flags...)
	s := &sidecar{agent: agent.Process.Pid, url: fmt.Sprintf("http://127.0.0.1:%d/v1/items?q=1", out)}
	until(b, "the sidecar of mesh "+mesh+" is ready", func() bool {
		return status("http://"+ready+"/readyz") == http.StatusOK && status(s.url) == http.StatusOK
	})
	s.envoy = childOf(b, s.agent)
	return s
}

// workload answers by HTTP/2 without TLS, as sidecars speak to each other where a mesh has no identities.
func workload(b testing.TB) uint32 {
	b.Helper()
	return serve(b, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/fails" {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		if r.URL.Path == "/empty" {
			w.WriteHeader(http.StatusNoContent)
			return
		}
		_, _ = io.WriteString(w, "ok")
	}))
}

// serve is a workload that speaks HTTP/2 without TLS.
func serve(b testing.TB, h http.Handler) uint32 {
	b.Helper()
	app := httptest.NewUnstartedServer(h)
	app.Config.Protocols = new(http.Protocols)
	app.Config.Protocols.SetUnencryptedHTTP2(true)
	app.Start()
	b.Cleanup(app.Close)
	return uint32(app.Listener.Addr().(*net.TCPAddr).Port)
}

func status(url string) int {
	resp, err := http.Get(url)
	if err != nil {
		return 0
	}
	_ = resp.Body.Close()
	return resp.StatusCode
}

// watch taps the sidecar of a mesh until the end.
func watch(b *testing.B, api, mesh, headers string) {
	b.Helper()
	resp, err := http.Post("http://"+api+"/meshes/"+mesh+"/_taps", "application/json", strings.NewReader(`{"dataplanes":["web"],"for":"10m","headers":[`+headers+`]}`))
	if err != nil {
		b.Fatal(err)
	}
	go func() { _, _ = io.Copy(io.Discard, resp.Body) }()
	b.Cleanup(func() { _ = resp.Body.Close() })
	if resp.StatusCode != http.StatusOK {
		b.Fatal(resp.Status)
	}
	time.Sleep(2 * time.Second) // Envoy hears of the headers
}

// round sends the requests of a round at a constant rate: a request takes the time from when it was due.
func (s *sidecar) round(b *testing.B, client *http.Client) {
	b.Helper()
	took := make([]time.Duration, perRound)
	var running sync.WaitGroup
	agent, began := cpu(s.agent), time.Now()
	for n := range perRound {
		due := began.Add(time.Duration(n) * time.Second / perSecond)
		time.Sleep(time.Until(due))
		running.Go(func() {
			resp, err := client.Get(s.url)
			if err != nil {
				b.Error(err)
				return
			}
			_, _ = io.Copy(io.Discard, resp.Body)
			_ = resp.Body.Close()
			if resp.StatusCode != http.StatusOK {
				b.Error(resp.Status)
			}
			took[n] = time.Since(due)
		})
	}
	running.Wait()
	slices.Sort(took)
	s.took = append(s.took, took)
	s.agentCPU = append(s.agentCPU, (cpu(s.agent)-agent).Seconds()/time.Since(began).Seconds())
}

// busy has Envoy answer requests without a pause: what a request costs is told best where nothing sleeps between two.
func (s *sidecar) busy(b *testing.B) {
	b.Helper()
	address, target, _ := strings.Cut(strings.TrimPrefix(s.url, "http://"), "/")
	before, answered := cpu(s.envoy), 0
	err := envoytest.Flood(address, envoytest.Wire{Version: "1.1", Method: http.MethodGet, Target: "/" + target, Authority: "app"}, atOnce, func(r *http.Response) {
		if r != nil && r.StatusCode == http.StatusOK {
			answered++
		}
	})
	if err != nil || answered != atOnce {
		b.Errorf("%d of %d requests were answered: %v", answered, atOnce, err)
	}
	s.cpu = append(s.cpu, float64((cpu(s.envoy)-before).Microseconds())/atOnce)
}

// at is how many milliseconds a share of the requests of each round took at most.
func (s *sidecar) at(share float64) (out []float64) {
	for _, took := range s.took {
		out = append(out, float64(took[int(float64(len(took)-1)*share)].Microseconds())/1000)
	}
	return out
}

func middle(all []float64) float64 {
	sorted := slices.Sorted(slices.Values(all))
	return sorted[len(sorted)/2]
}

// storm is how much of a core the agent needs while as many requests as possible fail, after it has had three seconds.
func storm(b *testing.B, s *sidecar) float64 {
	b.Helper()
	end := time.Now().Add(8 * time.Second)
	var group sync.WaitGroup
	address := strings.TrimPrefix(s.url[:strings.Index(s.url, "/v1")], "http://")
	var sent [8]int
	for i := range sent {
		group.Go(func() {
			for time.Now().Before(end) {
				if err := envoytest.Flood(address, envoytest.Wire{Version: "1.1", Method: http.MethodGet, Target: "/fails", Authority: "app"}, 400, func(*http.Response) { sent[i]++ }); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	time.Sleep(3 * time.Second)
	before, began := cpu(s.agent), time.Now()
	time.Sleep(4 * time.Second)
	out := (cpu(s.agent) - before).Seconds() / time.Since(began).Seconds()
	group.Wait()
	total := 0
	for _, n := range sent {
		total += n
	}
	b.ReportMetric(float64(total)/8, "rq/s_in_the_storm")
	return out
}

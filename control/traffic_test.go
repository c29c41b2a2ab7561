package control_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"

	"github.com/weftmesh/weft/internal/envoytest"
)

// calls makes one caller of a port of this host by a protocol. A call answers who the workload
// says called it; by websocket and bytes it knows of nobody.
func calls(t testing.TB, protocol string, port uint32) func(context.Context) (who string, err error) {
	at := fmt.Sprintf("127.0.0.1:%d", port)
	switch protocol {
	case "http", "http2":
		var protocols http.Protocols
		protocols.SetHTTP1(protocol == "http")
		protocols.SetUnencryptedHTTP2(protocol == "http2")
		c := &http.Client{Transport: &http.Transport{Protocols: &protocols}}
		t.Cleanup(c.CloseIdleConnections)
		return func(ctx context.Context) (string, error) { return askedOf(ctx, c, at+"/") }
	case "slow": // so that calls at once need connections of their own
		c := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
		return func(ctx context.Context) (string, error) { return askedOf(ctx, c, at+"/?after=100ms") }
	case "grpc":
		c, err := grpc.NewClient("passthrough:///"+at, grpc.WithTransportCredentials(insecure.NewCredentials()))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		return func(ctx context.Context) (string, error) {
			var md metadata.MD
			_, err := healthv1.NewHealthClient(c).Check(ctx, &healthv1.HealthCheckRequest{}, grpc.Header(&md))
			return strings.Join(md.Get(callerHeader), ","), err
		}
	case "websocket":
		return func(ctx context.Context) (string, error) {
			return "", exchange(ctx, at, "GET / HTTP/1.1\r\nHost: api\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
		}
	default:
		return func(ctx context.Context) (string, error) { return "", exchange(ctx, at, "") }
	}
}

func askedOf(ctx context.Context, c *http.Client, at string) (string, error) {
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+at, nil)
	if err != nil {
		return "", err
	}
	resp, err := c.Do(q)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s %s", resp.Status, text)
	}
	return resp.Header.Get(callerHeader), err
}

// exchange opens a connection, upgrades it where it is to, and has a few lines echoed.
func exchange(ctx context.Context, at, upgrade string) error {
	c, err := new(net.Dialer).DialContext(ctx, "tcp", at)
	if err != nil {
		return err
	}
	defer c.Close()
	if deadline, ok := ctx.Deadline(); ok {
		if err := c.SetDeadline(deadline); err != nil {
			return err
		}
	}
	in := bufio.NewReader(c)
	if upgrade != "" {
		if _, err := io.WriteString(c, upgrade); err != nil {
			return err
		}
		resp, err := http.ReadResponse(in, nil)
		if err != nil {
			return err
		}
		if resp.StatusCode != http.StatusSwitchingProtocols {
			why, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<10)) // Envoy's words; what is missing of them says nothing
			return fmt.Errorf("%s: %s", resp.Status, why)
		}
	}
	for i := range 5 {
		said := fmt.Sprintf("line %d\n", i)
		if _, err := io.WriteString(c, said); err != nil {
			return err
		}
		if heard, err := in.ReadString('\n'); heard != said {
			return fmt.Errorf("line %d comes back as %q: %w", i, heard, err)
		}
	}
	return nil
}

// stream is calls of one kind at a steady rate, by several callers.
type stream struct {
	sent, failed atomic.Int64
	first        atomic.Pointer[string] // what the first that failed came to
}

// traffic is what goes on while something else happens.
type traffic struct {
	t       *testing.T
	kinds   map[string]*stream
	stop    context.CancelFunc
	running sync.WaitGroup
}

// everyProtocol makes callers, by the outbounds of the one who calls.
func everyProtocol(t *testing.T, outbounds map[string]uint32) map[string]func() func(context.Context) (string, error) {
	kinds := map[string]func() func(context.Context) (string, error){
		"websocket": func() func(context.Context) (string, error) { return calls(t, "websocket", outbounds["http"]) },
	}
	for _, protocol := range spoken {
		kinds[protocol] = func() func(context.Context) (string, error) { return calls(t, protocol, outbounds[protocol]) }
	}
	return kinds
}

// startTraffic calls so many times a second by each kind, from several connections.
func startTraffic(t *testing.T, rate int, kinds map[string]func() func(context.Context) (string, error)) *traffic {
	ctx, stop := context.WithCancel(t.Context())
	x := &traffic{t: t, kinds: map[string]*stream{}, stop: stop}
	for name, caller := range kinds {
		s := &stream{}
		x.kinds[name] = s
		due := make(chan struct{})
		x.running.Go(func() {
			for tick := time.NewTicker(time.Second / time.Duration(rate)); ; {
				select {
				case <-ctx.Done():
					tick.Stop()
					close(due)
					return
				case <-tick.C:
				}
				select {
				case due <- struct{}{}:
				case <-ctx.Done():
				}
			}
		})
		for range 4 {
			call := caller()
			x.running.Go(func() {
				for range due {
					s.once(call)
				}
			})
		}
	}
	t.Cleanup(x.end)
	return x
}

// once makes one call, which nothing but its failure ends.
func (s *stream) once(call func(context.Context) (string, error)) {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	if _, err := call(ctx); err != nil {
		words := err.Error()
		s.first.CompareAndSwap(nil, &words)
		s.failed.Add(1)
	}
	s.sent.Add(1)
}

// goOn waits until so many more calls of each kind were made, of which none may fail.
func (x *traffic) goOn(what string, more int64) {
	x.t.Helper()
	until := map[string]int64{}
	for kind, s := range x.kinds {
		until[kind] = s.sent.Load() + more
	}
	for kind, s := range x.kinds {
		eventually(x.t, fmt.Sprintf("%s: %d more calls by %s", what, more, kind), func() bool { return s.sent.Load() >= until[kind] || s.failed.Load() > 0 })
	}
	for kind, s := range x.kinds {
		if n := s.failed.Load(); n > 0 {
			x.t.Fatalf("%s: %d of %d calls by %s failed, the first with %s", what, n, s.sent.Load(), kind, *s.first.Load())
		}
	}
}

func (x *traffic) end() {
	x.stop()
	x.running.Wait()
}

// meshOf are documents of a workload of every protocol behind a sidecar, api-1, and of sidecars
// that call it; outbounds are where those listen, by name and protocol.
func meshOf(t *testing.T, callers ...string) (documents string, inbounds map[string]uint32, outbounds map[string]map[string]uint32) {
	t.Helper()
	ports := speaker(t)
	inbounds, outbounds = map[string]uint32{}, map[string]map[string]uint32{}
	var text strings.Builder
	text.WriteString("type: Dataplane\nmesh: default\nname: api-1\nnetworking:\n  address: 127.0.0.1\n  inbound:\n")
	for _, p := range spoken {
		inbounds[p] = envoytest.Port(t)
		fmt.Fprintf(&text, "  - {port: %d, servicePort: %d, tags: {kuma.io/service: api-%s, kuma.io/protocol: %s}}\n", inbounds[p], ports[p], p, p)
	}
	text.WriteString("---\n")
	for _, name := range callers {
		outbounds[name] = map[string]uint32{}
		fmt.Fprintf(&text, "type: Dataplane\nmesh: default\nname: %s-1\nnetworking:\n  address: 127.0.0.1\n  inbound: [{port: %d, tags: {kuma.io/service: %s}}]\n  outbound:\n", name, envoytest.Port(t), name)
		for _, p := range spoken {
			outbounds[name][p] = envoytest.Port(t)
			fmt.Fprintf(&text, "  - {port: %d, tags: {kuma.io/service: api-%s}}\n", outbounds[name][p], p)
		}
		text.WriteString("---\n")
	}
	return text.String(), inbounds, outbounds
}

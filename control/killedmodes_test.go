package control_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weftmesh/weft/internal/envoytest"
	"github.com/weftmesh/weft/sidecar/agent"
)

// TestKilledOnTheWayToStrict (I14, case 34): a control plane that is killed at any step from plain
// text to mutual TLS alone and back, while two real sidecars call each other on a connection a
// call, has no call fail, and makes no authority anew. `make test-killed` kills it 200 times.
func TestKilledOnTheWayToStrict(t *testing.T) {
	t.Parallel()
	killedOnTheWayToStrict(t, 8)
}

func killedOnTheWayToStrict(t *testing.T, kills int) {
	v := newVictim(t)
	var documents strings.Builder
	documents.WriteString(allowed)
	ports, inbound := map[string]uint32{}, map[string]uint32{}
	for name, of := range map[string][2]string{"web-1": {"web", "payments"}, "pay-1": {"payments", "web"}} {
		ports[name], inbound[name] = envoytest.Port(t), envoytest.Port(t)
		fmt.Fprintf(&documents, "type: Dataplane\nmesh: default\nname: %s\nnetworking:\n  address: 127.0.0.1\n  inbound: [{port: %d, servicePort: %d, tags: {kuma.io/service: %s, kuma.io/protocol: tcp}}]\n  outbound: [{port: %d, tags: {kuma.io/service: %s}}]\n---\n",
			name, inbound[name], speaker(t)["tcp"], of[0], ports[name], of[1])
	}
	v.want(http.MethodPost, "/_apply", documents.String())
	for name := range ports {
		token := v.want(http.MethodPost, "/tokens/dataplane", `{"mesh":"default","name":"`+name+`","validFor":"24h"}`)
		var log journal
		sidecarOf(t, v.of.XDS, v.of.Dir, name, token, log.logger(), func(c *agent.Config) { c.DrainTime, c.ListenerDrain = 5*time.Second, 5*time.Second })
		t.Cleanup(func() {
			if said := log.String(); t.Failed() {
				t.Logf("%s said at last:\n%s", name, said[max(0, len(said)-8_000):])
			}
		})
	}
	for name, port := range ports {
		eventually(t, name+" calls", func() bool { return echoed(t.Context(), port) == nil })
	}
	made, failed, end := echoes(t, ports)
	strict := fmt.Sprintf(mutual, "ca-1", strings.Replace(builtin, "PERMISSIVE", "STRICT", 1))
	permissive, off := fmt.Sprintf(mutual, "ca-1", builtin), "type: Mesh\nname: default\n"
	random, roots := rand.New(rand.NewPCG(34, 14)), map[string]bool{}
	for way := []string{permissive, strict, permissive, off, strict, off}; v.kills < kills; way = append(way[1:], way[0]) {
		v.want(http.MethodPost, "/_apply", way[0])
		if random.IntN(2) == 0 {
			time.Sleep([]time.Duration{0, 10 * time.Millisecond, 50 * time.Millisecond, 300 * time.Millisecond}[random.IntN(4)]) // in the middle of it
		} else {
			v.settles(way[0] != off)
		}
		for _, r := range v.authority().Roots {
			roots[r.Fingerprint] = true
		}
		before := made.Load()
		v.kill(0)
		eventually(t, "they call each other while it is away", func() bool { return made.Load() > before+10 })
		v.start()
		if way[0] == strict {
			v.settles(true)
			for name, port := range inbound {
				eventually(t, name+" takes no plain text", func() bool { return echoed(t.Context(), port) != nil })
			}
		}
	}
	v.settles(false)
	before := made.Load()
	eventually(t, "they call each other at last", func() bool { return made.Load() > before+50 })
	end()
	delete(roots, "") // of one that was yet to be made
	if *failed != nil || len(roots) > 1 {
		t.Errorf("roots %v; failed: %v", roots, *failed)
	}
	t.Logf("killed %d times; %d calls", v.kills, made.Load())
}

// settles waits until both sidecars follow, and, where they are to have certificates, have them.
func (v *victim) settles(certified bool) {
	v.t.Helper()
	seen := ""
	defer func() {
		if v.t.Failed() {
			v.t.Log(seen)
		}
	}()
	eventually(v.t, "both sidecars follow", func() bool {
		a := v.authority()
		leaves := 0
		for _, r := range a.Roots {
			leaves += r.Certificates
		}
		_, sidecars := v.asked(http.MethodGet, "/meshes/default/_sidecars", "")
		seen = fmt.Sprintf("%+v\n%s", a, sidecars)
		return strings.Contains(sidecars, `"states":{"in sync":2}`) && (!certified || leaves == 2)
	})
}

// echoed makes a connection and asks for what it sends.
func echoed(ctx context.Context, port uint32) error {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		return err
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(20 * time.Second)) // of an open connection
	if _, err := conn.Write([]byte("hello")); err != nil {
		return err
	}
	got := make([]byte, 5)
	if _, err := io.ReadFull(conn, got); err != nil || string(got) != "hello" {
		return fmt.Errorf("%q %w", got, errors.Join(err))
	}
	return nil
}

// echoes calls all the time; failed is what went wrong, once it has ended.
func echoes(t *testing.T, ports map[string]uint32) (made *atomic.Int64, failed *error, end func()) {
	made, failed = new(atomic.Int64), new(error)
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	var mu sync.Mutex
	for name, port := range ports {
		running.Go(func() {
			for ctx.Err() == nil {
				if err := echoed(t.Context(), port); err != nil {
					mu.Lock()
					*failed = errors.Join(*failed, fmt.Errorf("%s at %s: %w", name, time.Now().Format("15:04:05.000"), err))
					mu.Unlock()
				}
				made.Add(1)
				pause(ctx, 10*time.Millisecond)
			}
		})
	}
	return made, failed, func() { cancel(); running.Wait() }
}

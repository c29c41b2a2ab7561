package differential

import (
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weftmesh/weft/sim"
	"github.com/weftmesh/weft/sim/wire"
)

// plainWorld is a client of web, v1 and v2, of one dataplane each, and more.
func plainWorld(more ...m) Source {
	docs := []m{{"type": "Dataplane", "mesh": "default", "name": "client", "networking": m{"address": "127.0.0.1", "outbound": []any{
		m{"port": 10001, "backendRef": m{"kind": "MeshService", "name": "web", "port": 8080}},
	}}}}
	for i, name := range []string{"web", "v1", "v2"} {
		docs = append(docs, m{"type": "MeshService", "mesh": "default", "name": name, "spec": m{
			"selector": m{"dataplaneTags": m{"kuma.io/service": name}},
			"ports":    []any{m{"port": 8080, "targetPort": 18080, "appProtocol": "http"}},
		}}, m{"type": "Dataplane", "mesh": "default", "name": name + "-1", "networking": m{
			"address": "127.0.1." + strconv.Itoa(10*(i+1)), "inbound": []any{inbound(name, "1", "http", 18080)},
		}})
	}
	return Source{Documents: append(docs, more...)}
}

// TestSharesAgreeWithEnvoy counts where requests go, and their copies. A share that is
// right lies outside of six standard deviations once in a billion runs.
func TestSharesAgreeWithEnvoy(t *testing.T) {
	t.Parallel()
	ref := func(name string, weight int) m {
		return m{"kind": "MeshService", "name": name, "port": 8080, "weight": weight}
	}
	f := newFleet(t, newRoom(t, workloadNames...), []Source{plainWorld(m{"type": "MeshHTTPRoute", "mesh": "default", "name": "split", "spec": m{
		"targetRef": m{"kind": "Mesh"}, "to": []any{m{"targetRef": m{"kind": "MeshService", "name": "web"}, "rules": []any{m{
			"matches": []any{m{"path": m{"type": "PathPrefix", "value": "/"}}}, "default": m{
				"backendRefs": []any{ref("v1", 70), ref("v2", 0), ref("web", 20), ref("nosuch", 10)},
				"filters":     []any{m{"type": "RequestMirror", "requestMirror": m{"percentage": 30, "backendRef": m{"kind": "MeshService", "name": "v2", "port": 8080}}}},
			},
		}}}},
	}})})
	get := Pair{Request: wire.Request{Method: http.MethodGet, URL: "http://web:8080/"}}
	v, err := sim.Run(f.worlds[0], client, get.Request)
	if err != nil {
		t.Fatal(err)
	}
	const n = 3000
	got, ids := f.spread(t, get, n)
	near := func(what string, count int, share float64) {
		if off := math.Abs(float64(count) - share*n); off > 6*math.Sqrt(share*(1-share)*n) {
			t.Errorf("%s gets %d of %d, the simulator says %v", what, count, n, share)
		}
	}
	b := v.Branches[0]
	for _, x := range b.Backends {
		near(x.Name, got[x.Name], x.Share)
	}
	if len(got) != len(b.Backends) {
		t.Errorf("Envoy sends to %v, the simulator to %+v", got, b.Backends)
	}
	copies := 0 // one is sent when its request is, so all but the last have arrived
	for _, id := range ids {
		_, list := f.room.workloads.Calls(id)
		copies += len(list)
	}
	near("the mirror", copies, b.Mirrors[0].Share)
}

// spread sends q into the only world n times: how often each service got it, nosuch
// where none did, and under which ids it was forwarded.
func (f *fleet) spread(t *testing.T, q Pair, n int) (got map[string]int, ids []string) {
	t.Helper()
	var mu sync.Mutex
	got = map[string]int{}
	var askers sync.WaitGroup
	for i := range 8 {
		askers.Go(func() {
			for k := range n / 8 {
				o, err := f.ask(f.worlds[0], q, fmt.Sprintf("share-%d-%d", i, k))
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				if len(o.Attempts) == 0 {
					got["nosuch"]++
				} else {
					got[strings.TrimSuffix(o.Attempts[0].Workload, "-1")]++
					ids = append(ids, o.id)
				}
				mu.Unlock()
			}
		})
	}
	askers.Wait()
	return got, ids
}

// TestBucketFillsAsSimulated empties a bucket and waits for what comes back: no more
// than the simulator's bucket has given by then, and not the whole bucket at once.
func TestBucketFillsAsSimulated(t *testing.T) {
	t.Parallel()
	f := newFleet(t, newRoom(t, workloadNames...), []Source{plainWorld(m{"type": "MeshRateLimit", "mesh": "default", "name": "few", "spec": m{
		"targetRef": m{"kind": "Mesh"}, "to": []any{m{"targetRef": m{"kind": "MeshService", "name": "web"}, "default": m{"local": m{"http": m{
			"requestRate": m{"num": 4, "interval": "4s"}, "onRateLimit": m{"status": 503, "headers": m{"add": []any{m{"name": "x-limit", "value": "full"}}}},
		}}}}},
	}})})
	l, ok := limitOf(f.worlds[0].table().Routes[0].Policies)
	if !ok {
		t.Fatal("no limit")
	}
	began, admitted := time.Now(), 0
	for {
		o, err := f.ask(f.worlds[0], Pair{Request: wire.Request{Method: http.MethodGet, URL: "http://web:8080/"}}, "fill-"+strconv.FormatUint(asked.Add(1), 10))
		if err != nil {
			t.Fatal(err)
		}
		at := time.Since(began)
		if len(o.Attempts) == 0 {
			if o.Status != int(l.Bucket.Status) || o.Headers.Get("x-limit") != "full" {
				t.Fatalf("a request over the limit gets %d %v", o.Status, o.Headers)
			}
			if admitted > 4 {
				return // one token came back
			}
			continue
		}
		admitted++
		times := make([]time.Duration, admitted)
		for i := 4; i < admitted; i++ {
			times[i] = at
		}
		if given := l.Bucket.Admit(times); !given[admitted-1] {
			t.Fatalf("Envoy admits request %d after %v, the simulator does not", admitted, at)
		}
	}
}

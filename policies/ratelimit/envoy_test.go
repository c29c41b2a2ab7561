package ratelimit_test

import (
	"net"
	"slices"
	"testing"
	"time"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/internal/envoytest"
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/policies/internal/policytest"
	"github.com/weftmesh/weft/policies/ratelimit"
	"github.com/weftmesh/weft/route"
	"github.com/weftmesh/weft/xds/envoy"
)

var kinds = []*policies.Kind{ratelimit.Kind}

func http(num uint32, interval time.Duration, on *ratelimit.OnRateLimit) *ratelimit.Conf {
	return &ratelimit.Conf{Local: &ratelimit.Local{HTTP: &ratelimit.HTTP{RequestRate: rate(num, interval), OnRateLimit: on}}}
}

func rate(num uint32, interval time.Duration) *ratelimit.Rate {
	return &ratelimit.Rate{Num: &num, Interval: new(api.Duration(interval))}
}

func write(confs ...policies.Conf) policytest.Written {
	return policytest.Write(envoy.Place{Protocol: api.HTTP}, confs...)
}

func TestEnvoyLimitsAsTheBucketSays(t *testing.T) {
	t.Parallel()
	headers := &ratelimit.Headers{
		Set: []route.Header{{Name: "x-set", Value: "100% %REQ(:path)%"}, {Name: "x-set-empty"}},
		Add: []route.Header{{Name: "x-add", Value: "a, b"}, {Name: "x-add-empty"}},
	}
	off := http(1, time.Hour, nil)
	off.Local.HTTP.Disabled = new(true)
	redirect := write(http(2, time.Hour, nil))
	redirect.Route.Action = &routev3.Route_Redirect{Redirect: &routev3.RedirectAction{}}
	burst := http(2, time.Hour, nil)
	burst.Local.HTTP.RequestRate.Burst = new(uint32(1))
	confs := []*ratelimit.Conf{
		burst,
		http(2, time.Hour, nil),
		http(3, time.Hour, &ratelimit.OnRateLimit{Status: new(uint32(503)), Headers: headers}),
		http(1, time.Hour, &ratelimit.OnRateLimit{Status: new(uint32(302))}),
		off,
		{Local: &ratelimit.Local{HTTP: &ratelimit.HTTP{OnRateLimit: &ratelimit.OnRateLimit{Status: new(uint32(503))}}}},
	}
	var written []policytest.Written
	for _, c := range confs {
		written = append(written, write(c))
	}
	proxy := policytest.StartProxy(t, envoytest.StartBackend(t, "backend").Port, kinds, append(written, redirect)...)
	for i, c := range confs {
		bucket, limited := c.Bucket()
		for n := range 5 {
			resp := proxy.Send(t, i, "GET")
			want := uint32(200)
			if limited && n >= int(bucket.Tokens+bucket.Burst) {
				want = bucket.Status
				for _, h := range append(bucket.Set, bucket.Add...) {
					if got := resp.Header.Values(h.Name); !slices.Equal(got, []string{h.Value}) {
						t.Errorf("conf %d: %s is %q, want %q", i, h.Name, got, h.Value)
					}
				}
			}
			if resp.StatusCode != int(want) {
				t.Errorf("conf %d, request %d: %d, the bucket says %d", i, n, resp.StatusCode, want)
			}
		}
	}
	for n, want := range []int{301, 301, 429} {
		if got := proxy.Send(t, len(confs), "GET").StatusCode; got != want {
			t.Errorf("redirect %d: %d, want %d", n, got, want)
		}
	}
}

func TestEnvoyRefillsTheBucket(t *testing.T) {
	t.Parallel()
	proxy := policytest.StartProxy(t, envoytest.StartBackend(t, "backend").Port, kinds, write(http(2, 100*time.Millisecond, nil)))
	proxy.Until("the bucket is empty", func() bool { return proxy.Send(t, 0, "GET").StatusCode == 429 })
	proxy.Until("it is full again", func() bool { return proxy.Send(t, 0, "GET").StatusCode == 200 })
}

func TestEnvoyClosesConnectionsOverTheLimit(t *testing.T) {
	t.Parallel()
	c := &ratelimit.Conf{Local: &ratelimit.Local{TCP: &ratelimit.TCP{ConnectionRate: rate(2, time.Hour)}}}
	backend := envoytest.StartBackend(t, "backend")
	proxy := policytest.StartProxy(t, backend.Port, kinds, policytest.Write(envoy.Place{Protocol: api.TCP}, c))
	for n := range 4 {
		conn, err := net.Dial("unix", proxy.Socket+"00")
		if err != nil {
			t.Fatal(err)
		}
		_ = conn.SetDeadline(time.Now().Add(10 * time.Second)) // a closed connection fails below
		_, _ = conn.Write([]byte("GET / HTTP/1.1\r\nhost: a\r\n\r\n"))
		answer := make([]byte, 8)
		got, _ := conn.Read(answer)
		if want := n < 2; (got > 0) != want {
			t.Errorf("connection %d: an answer is %v, want %v", n, got > 0, want)
		}
		_ = conn.Close()
	}
}

// TestHeadersThatMergingBringsTogether: one policy's headers and another's may be more
// than Envoy takes; those that are set come first, and the rest is told.
func TestHeadersThatMergingBringsTogether(t *testing.T) {
	t.Parallel()
	headers := func(prefix string, n int) (out []route.Header) {
		for i := range n {
			out = append(out, route.Header{Name: prefix + string(rune('a'+i)), Value: "1"})
		}
		return out
	}
	for _, c := range []struct{ set, add, wantSet, wantAdd, told int }{{8, 8, 8, 2, 1}, {12, 1, 10, 0, 1}, {4, 6, 4, 6, 0}} {
		conf := http(1, time.Hour, &ratelimit.OnRateLimit{Headers: &ratelimit.Headers{Set: headers("x-set-", c.set), Add: headers("x-add-", c.add)}})
		if b, _ := conf.Bucket(); len(b.Set) != c.wantSet || len(b.Add) != c.wantAdd {
			t.Errorf("%d set and %d added: the answer has %d and %d", c.set, c.add, len(b.Set), len(b.Add))
		}
		if err := write(conf).Route.ValidateAll(); err != nil {
			t.Error(err)
		}
		if told := conf.Adjustments(); len(told) != c.told {
			t.Errorf("%d set and %d added: %v", c.set, c.add, told)
		}
	}
}

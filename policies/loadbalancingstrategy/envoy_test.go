package loadbalancingstrategy_test

import (
	"fmt"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/internal/envoytest"
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/policies/internal/policytest"
	"github.com/weftmesh/weft/policies/loadbalancingstrategy"
	"github.com/weftmesh/weft/xds/envoy"
)

// balanced is a conf, and how many endpoints answer requests that are alike in a header, and otherwise.
type balanced struct {
	name  string
	conf  string
	same  []string // headers of requests that come to one endpoint; nil where none do
	other bool     // that without them requests come to all
}

var balances = []balanced{
	{"round robin", "loadBalancer: {type: RoundRobin}", nil, true},
	{"random", "loadBalancer: {type: Random}", nil, true},
	{"least request", `loadBalancer: {type: LeastRequest, leastRequest: {choiceCount: 3, activeRequestBias: "0.5"}}`, nil, true},
	{"ring by header", "loadBalancer: {type: RingHash}, hashPolicies: [{type: Header, header: {name: x-user}}]", []string{"x-user", "%d"}, true},
	{"ring by header, murmur", "loadBalancer: {type: RingHash, ringHash: {hashFunction: MurmurHash2, minRingSize: 64, maxRingSize: 128}}, hashPolicies: [{type: Header, header: {name: x-user}}]", []string{"x-user", "%d"}, true},
	{"maglev by cookie", "loadBalancer: {type: Maglev, maglev: {tableSize: 11}}, hashPolicies: [{type: Cookie, cookie: {name: sid}}]", []string{"cookie", "sid=%d"}, true},
	{"ring by address", "loadBalancer: {type: RingHash}, hashPolicies: [{type: SourceIP}]", []string{"x-any", "0"}, true}, // a unix socket has none
	{"an older place", "loadBalancer: {type: RingHash, ringHash: {hashPolicies: [{type: Header, header: {name: x-user}}]}}", []string{"x-user", "%d"}, true},
	{"a hash of round robin", "loadBalancer: {type: RoundRobin}, hashPolicies: [{type: Header, header: {name: x-user}}]", nil, true},
	{"the first that is there", "loadBalancer: {type: RingHash}, hashPolicies: [{type: Header, terminal: true, header: {name: x-user}}, {type: Header, header: {name: x-echo-id}}]", []string{"x-user", "%d"}, true},
}

// TestEnvoyBalances: what is alike to a hash comes to one endpoint, all else to all of them (spec/kinds.md 3, F16).
func TestEnvoyBalances(t *testing.T) {
	t.Parallel()
	var ports []uint32
	for i := range 3 {
		ports = append(ports, envoytest.StartBackend(t, fmt.Sprint("b", i)).Port)
	}
	var written []policytest.Written
	for _, c := range balances {
		w := policytest.Write(envoy.Place{Protocol: api.HTTP}, conf(t, c.conf))
		w.Ports = ports
		written = append(written, w)
	}
	proxy := policytest.StartProxy(t, 1, []*policies.Kind{loadbalancingstrategy.Kind}, written...)
	met := func(i, n int, headers func(int) []string) map[string]int {
		out := map[string]int{}
		for k := range n {
			resp := proxy.Send(t, i, "GET", append(headers(k), envoytest.IDHeader, fmt.Sprintf("%d-%d-%d", i, n, k))...)
			out[resp.Header.Get(envoytest.NameHeader)]++
		}
		return out
	}
	for i, c := range balances {
		if c.name != "ring by address" {
			for key := range 3 {
				if c.same == nil {
					break
				}
				got := met(i, 12, func(int) []string { return []string{c.same[0], strings.ReplaceAll(c.same[1], "%d", fmt.Sprint(key))} })
				if len(got) != 1 {
					t.Errorf("%s: requests with one key come to %v", c.name, got)
				}
			}
		}
		if c.same != nil && c.name != "ring by address" {
			if got := met(i, 60, func(k int) []string { return []string{c.same[0], strings.ReplaceAll(c.same[1], "%d", fmt.Sprint(k))} }); len(got) != 3 {
				t.Errorf("%s: requests with many keys come to %v", c.name, got)
			}
		}
		if got := met(i, 60, func(int) []string { return nil }); c.other != (len(got) == 3) {
			t.Errorf("%s: requests without a key come to %v", c.name, got)
		}
		if c.same == nil {
			if got := met(i, 60, func(int) []string { return []string{"x-user", "1"} }); len(got) != 3 {
				t.Errorf("%s: requests that are alike come to %v", c.name, got)
			}
		}
	}
}

// TestEnvoySetsTheCookie by which a hash is taken, where a request has none; for a session or for a time.
func TestEnvoySetsTheCookie(t *testing.T) {
	t.Parallel()
	var written []policytest.Written
	ports := []uint32{envoytest.StartBackend(t, "a").Port, envoytest.StartBackend(t, "b").Port}
	confs := []struct{ cookie, set string }{{"{name: sid}", ""}, {"{name: sid, ttl: 0s, path: /}", "Path=/"}, {"{name: sid, ttl: 1h, path: /}", "Max-Age=3600"}}
	for _, c := range confs {
		w := policytest.Write(envoy.Place{Protocol: api.HTTP}, conf(t, "loadBalancer: {type: RingHash}, hashPolicies: [{type: Cookie, cookie: "+c.cookie+"}]"))
		w.Ports = ports
		written = append(written, w)
	}
	proxy := policytest.StartProxy(t, 1, []*policies.Kind{loadbalancingstrategy.Kind}, written...)
	for i, c := range confs {
		first := proxy.Send(t, i, "GET")
		cookie := first.Header.Get("set-cookie")
		if (cookie != "") != (c.set != "") || !strings.Contains(cookie, c.set) {
			t.Errorf("cookie %s: the answer sets %q", c.cookie, cookie)
			continue
		}
		if c.set == "" {
			continue
		}
		value, _, _ := strings.Cut(cookie, ";")
		for range 8 {
			again := proxy.Send(t, i, "GET", "cookie", value)
			if again.Header.Get(envoytest.NameHeader) != first.Header.Get(envoytest.NameHeader) || again.Header.Get("set-cookie") != "" {
				t.Errorf("cookie %s: %v after %v", c.cookie, again.Header, first.Header)
			}
		}
	}
}

// TestConnectionsAreHashed: connections from one address come to one endpoint.
func TestConnectionsAreHashed(t *testing.T) {
	t.Parallel()
	w := policytest.Write(envoy.Place{Protocol: api.TCP}, conf(t, "loadBalancer: {type: Maglev, maglev: {tableSize: 11}}, hashPolicies: [{type: Connection, connection: {sourceIP: true}}]"))
	if len(w.TCP.HashPolicy) != 1 || w.TCP.HashPolicy[0].GetSourceIp() == nil {
		t.Fatalf("the listener hashes %v", w.TCP.HashPolicy)
	}
	w.Ports = []uint32{envoytest.StartGreeter(t, "a"), envoytest.StartGreeter(t, "b"), envoytest.StartGreeter(t, "c")}
	proxy := policytest.StartProxy(t, 1, []*policies.Kind{loadbalancingstrategy.Kind}, w)
	conn, err := net.Dial("unix", proxy.Socket+"00")
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	first := make([]byte, 1)
	if _, err := io.ReadFull(conn, first); err != nil {
		t.Fatal(err)
	}
}

// conf is the conf of a document.
func conf(t *testing.T, text string) policies.Conf {
	t.Helper()
	return policytest.Resolve(t, loadbalancingstrategy.Kind, fmt.Appendf(nil, "type: MeshLoadBalancingStrategy\nmesh: default\nname: p\nspec: {to: [{targetRef: {kind: Mesh}, default: {%s}}]}\n", text)).Conf
}

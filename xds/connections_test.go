package xds_test

import (
	"fmt"
	"io"
	"net"
	"testing"
	"time"

	tcpproxyv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/tcp_proxy/v3"
	"github.com/google/go-cmp/cmp"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/internal/envoytest"
	"github.com/weftmesh/weft/policies/retry"
	"github.com/weftmesh/weft/policies/timeout"
	"github.com/weftmesh/weft/resolve/effective"
)

// listening is an address that accepts connections; with a greeting it says that
// and closes, else it says nothing.
func listening(t *testing.T, greeting string) effective.Endpoint {
	return effective.Endpoint{Address: "127.0.0.1", Port: envoytest.StartGreeter(t, greeting)}
}

// refusing is an address where nobody listens.
func refusing(t *testing.T) effective.Endpoint {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.2:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return effective.Endpoint{Address: "127.0.0.2", Port: uint32(l.Addr().(*net.TCPAddr).Port)}
}

// halves is a listener that divides connections to an http service between two
// backends, under these policies; answers are what n of them hear.
func halves(t *testing.T, n int, a, b effective.Endpoint, ps effective.Policies) (e *envoytest.Files, answers []string) {
	t.Helper()
	split := outbound(t, nil, &effective.TCPTable{Destination: web(), BackendsBy: by("tcp"), Origins: []*api.Origin{by("tcp")}, Backends: []effective.Backend{to("a", 1), to("b", 1)}})
	split.Policies = ps
	r := sidecar(nil, []effective.ClusterUse{use("a", web(), a), use("b", web(), b)})
	r.Outbounds = []*effective.Outbound{split}
	e = envoytest.Drive(t, renderer().Render(r))
	for range n {
		c, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", split.Port))
		if err != nil {
			t.Fatal(err)
		}
		_ = c.SetDeadline(time.Now().Add(20 * time.Second))
		text, err := io.ReadAll(c)
		if err != nil {
			t.Fatal(err)
		}
		answers = append(answers, string(text))
		_ = c.Close()
	}
	return e, answers
}

// TestAttemptsOfConnectionsInEnvoy: an attempt after one that failed is drawn anew
// among all backends.
func TestAttemptsOfConnectionsInEnvoy(t *testing.T) {
	t.Parallel()
	many := uint32(100)
	ps := effective.Policies{fold(t, retry.Kind, &retry.Conf{TCP: &retry.TCP{MaxConnectAttempt: &many}})}
	e, answers := halves(t, 40, listening(t, "hello"), refusing(t), ps)
	for i, text := range answers {
		if text != "hello" {
			t.Errorf("connection %d hears %q", i, text)
		}
	}
	if e.Stats("cluster.b.upstream_cx_connect_fail")["cluster.b.upstream_cx_connect_fail"] == 0 {
		t.Error("no attempt failed")
	}
}

// TestIdleConnectionsInEnvoy: an idle timeout closes connections to each of several backends.
func TestIdleConnectionsInEnvoy(t *testing.T) {
	t.Parallel()
	idle := api.Duration(100 * time.Millisecond)
	ps := effective.Policies{fold(t, timeout.Kind, &timeout.Conf{IdleTimeout: &idle})}
	e, _ := halves(t, 20, listening(t, ""), listening(t, ""), ps) // which waits for all of them to end
	for _, cluster := range []string{"a", "b"} {
		if name := "cluster." + cluster + ".upstream_cx_total"; e.Stats(name)[name] == 0 {
			t.Errorf("none of 20 connections went to %s", cluster)
		}
	}
}

// TestAConnectionRouteIsNamedInItsListener: the listener names the rule whose
// backends hold and no loser; with requests told apart nothing of it is left.
func TestAConnectionRouteIsNamedInItsListener(t *testing.T) {
	t.Parallel()
	tcp := &effective.TCPTable{Destination: web(), BackendsBy: by("tcp"), Origins: []*api.Origin{by("weaker"), by("tcp")}, Backends: []effective.Backend{to("b", 1), to("a", 2)}}
	r := sidecar(nil, nil)
	r.Outbounds = []*effective.Outbound{outbound(t, nil, tcp)}
	s := renderer().Render(r)
	l := envoytest.Listener(t, s.Listeners[0])
	var named []string
	for _, o := range l.Metadata.FilterMetadata["weft"].Fields["origins"].GetListValue().Values {
		named = append(named, o.GetStructValue().Fields["name"].GetStringValue())
	}
	if d := cmp.Diff([]string{"tcp"}, named); d != "" {
		t.Errorf("origins (-want +got):\n%s", d)
	}
	if len(s.Routes) > 0 || len(s.Listeners[0].Routes) > 0 {
		t.Errorf("routes %v for connections", names(s.Routes))
	}
	proxy := new(tcpproxyv3.TcpProxy)
	if err := l.FilterChains[0].Filters[0].GetTypedConfig().UnmarshalTo(proxy); err != nil || proxy.GetWeightedClusters().Clusters[1].Weight != 2 {
		t.Errorf("%v, %v", proxy, err)
	}
}

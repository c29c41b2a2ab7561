package server_test

import (
	"crypto/tls"
	"fmt"
	"strings"
	"testing"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/internal/certs"
	"github.com/weftmesh/weft/internal/envoytest"
	"github.com/weftmesh/weft/sim"
	"github.com/weftmesh/weft/sim/wire"
	"github.com/weftmesh/weft/xds"
	"github.com/weftmesh/weft/xds/resource"
)

// secured are a Gateway with listeners for HTTPS, one of which has no certificate yet,
// the edge dataplane that serves it, another dataplane, and a route on all listeners.
func secured(port, backend uint32) string {
	return fmt.Sprintf(`{type: Dataplane, mesh: default, name: edge, labels: {k8s.kuma.io/namespace: shop, gateway.networking.k8s.io/gateway-name: public}, networking: {address: 127.0.0.1, gateway: {type: BUILTIN}}}
---
{type: Dataplane, mesh: default, name: other, networking: {address: 127.0.0.1, inbound: [{port: 9, tags: {kuma.io/service: other}}]}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: Gateway, metadata: {name: public, namespace: shop}, spec: {gatewayClassName: weft, listeners: [
  {name: a, port: %[1]d, protocol: HTTPS, hostname: a.example.org, tls: {certificateRefs: [{name: a}]}},
  {name: below, port: %[1]d, protocol: HTTPS, hostname: "*.example.org", tls: {certificateRefs: [{name: below}]}},
  {name: later, port: %[1]d, protocol: HTTPS, hostname: later.example.org, tls: {certificateRefs: [{name: later}]}}]}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: all, namespace: shop}, spec: {parentRefs: [{name: public}], rules: [{backendRefs: [{name: v1, port: 80}]}]}}
---
{apiVersion: v1, kind: Service, metadata: {name: v1, namespace: shop}, spec: {ports: [{port: 80, appProtocol: http}]}}
---
{apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, metadata: {name: v1-1, namespace: shop, labels: {kubernetes.io/service-name: v1}}, addressType: IPv4, ports: [{port: %[2]d}], endpoints: [{addresses: [127.0.0.1]}]}
`, port, backend)
}

// TestEnvoyShowsCertificates: an edge Envoy shows each client the certificate of the name
// that it asks for, answers 421 to who then asks for a host of another listener, takes a
// new certificate without a change of the listener, and serves what has one while another
// listener waits for its own (spec/gateway-api.md 1.8).
func TestEnvoyShowsCertificates(t *testing.T) {
	t.Parallel()
	forms(t, func(t *testing.T, form string) {
		at, v1 := envoytest.Port(t), envoytest.StartBackend(t, "v1")
		a, below, later := certs.New(t, "a.example.org"), certs.New(t, "*.example.org"), certs.New(t, "later.example.org")
		p := serve(t, nil, secured(at, v1.Port), a.Secret("shop", "a"), below.Secret("shop", "below"))
		e := p.envoy("edge", form)
		p.synced("edge")
		for _, q := range []struct {
			sni, host string
			pair      *certs.Pair
			want      int
		}{
			{"a.example.org", "a.example.org", a, 200}, {"A.example.org", "a.example.org", a, 200}, {"b.example.org", "b.example.org", below, 200},
			{"a.example.org", "b.example.org", a, 421}, {"b.example.org", "a.example.org", below, 421}, {"a.example.org", "x.test", a, 404},
			{"b.example.org", "later.example.org", below, 421},
		} {
			got, err := envoytest.AskTLS(at, q.sni, q.host, "/", 0)
			if err != nil || got.Status != q.want || !got.Leaf.Equal(q.pair.Leaf) || got.Protocol != "h2" {
				t.Errorf("%s, then %s: %+v, %v", q.sni, q.host, got, err)
			}
			v, err := sim.Run(p.model, dataplaneRef("edge"), wire.Request{URL: fmt.Sprintf("https://%s:%d/", q.sni, at), Headers: wire.Headers{"host": q.host}})
			if err != nil || answered(v) != q.want {
				t.Errorf("%s, then %s: the simulator says %+v, %v", q.sni, q.host, v.Branches, err)
			}
		}
		if v, err := sim.Run(p.model, dataplaneRef("edge"), wire.Request{URL: fmt.Sprintf("https://x.test:%d/", at)}); err != nil || v.Branches[0].Outcome != sim.Close {
			t.Errorf("a name that no listener has: the simulator says %+v, %v", v.Branches, err)
		}
		if got, err := envoytest.AskTLS(at, "x.test", "x.test", "/", 0); err == nil {
			t.Errorf("a name that no listener has: %+v", got)
		}
		if got, err := envoytest.AskTLS(at, "a.example.org", "a.example.org", "/", tls.VersionTLS11); err == nil {
			t.Errorf("TLS 1.1: %+v", got)
		}
		before := p.synced("edge").Types["lds"].Sent
		renewed := certs.New(t, "a.example.org")
		l := startSecure(at, "a.example.org")
		p.apply(renewed.Secret("shop", "a"))
		e.Until("the new certificate is shown", func() bool {
			got, err := envoytest.AskTLS(at, "a.example.org", "a.example.org", "/", 0)
			return err == nil && got.Status == 200 && got.Leaf.Equal(renewed.Leaf)
		})
		if sent := p.synced("edge").Types["lds"].Sent; sent != before {
			t.Errorf("a new certificate is %d listeners sent", sent-before)
		}
		p.apply(later.Secret("shop", "later"))
		e.Until("the third listener serves", func() bool {
			got, err := envoytest.AskTLS(at, "later.example.org", "later.example.org", "/", 0)
			return err == nil && got.Status == 200 && got.Leaf.Equal(later.Leaf)
		})
		p.remove(api.Ref{Kind: api.KindSecret, Mesh: "default", Namespace: "shop", Name: "below"})
		e.Until("the second listener is closed", func() bool {
			_, err := envoytest.AskTLS(at, "b.example.org", "b.example.org", "/", 0)
			return err != nil
		})
		p.synced("edge")
		e.Until("there were enough requests", func() bool { return l.sent.Load() >= 20 })
		l.end(t, 20)
	})
}

// answered is the status with which a request is answered; 200 where it is forwarded.
func answered(v sim.Verdict) int {
	if v.Branches[0].Outcome == sim.Forward {
		return 200
	}
	return int(v.Branches[0].Status)
}

// startSecure asks for a host of the edge, over a new connection each time.
func startSecure(at uint32, host string) *load {
	l := &load{stop: make(chan struct{})}
	for range 2 {
		l.clients.Go(func() {
			for {
				select {
				case <-l.stop:
					return
				default:
				}
				got, err := envoytest.AskTLS(at, host, host, "/", 0)
				l.sent.Add(1)
				if err != nil || got.Status != 200 {
					l.failed.Add(1)
					words := fmt.Sprint(got, err)
					l.first.CompareAndSwap(nil, &words)
				}
			}
		})
	}
	return l
}

// TestSecretsAreForThoseWhoShowThem: who asks for a certificate that its listeners do not
// name gets nothing, whatever the name.
func TestSecretsAreForThoseWhoShowThem(t *testing.T) {
	t.Parallel()
	pair := certs.New(t, "a.example.org")
	p := serve(t, nil, secured(443, 80), pair.Secret("shop", "a"), pair.Secret("shop", "unused"))
	c := p.delta("default.edge", "")
	c.ask("sds", nil, "tls:shop/a", "tls:shop/unused")
	got := c.next("sds")
	if names := resources(got); len(names) != 1 || names[0] != "tls:shop/a" {
		t.Errorf("the edge dataplane gets %v", names)
	}
	c.ack(got)
	stranger := p.delta("default.other", "")
	stranger.ask("sds", nil, "tls:shop/a")
	stranger.quiet("it shows no certificate")
	for _, name := range []string{"edge", "other"} {
		r, _ := p.model.Dataplane(dataplaneRef(name))
		s := xds.NewRenderer(world.Kinds()).Render(r)
		for _, list := range [][]*resource.Resource{s.Listeners, s.Routes, s.Clusters, s.Endpoints} {
			for _, x := range list {
				if found := certs.Canary(string(x.Content().Value), append(pair.Canaries(), string(pair.Key))); found != "" || strings.Contains(string(x.Content().Value), "PRIVATE") {
					t.Errorf("%s of %s holds the key", x.Name, name)
				}
			}
		}
	}
}

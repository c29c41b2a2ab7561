package server_test

import (
	"fmt"
	"net"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	bootstrapv3 "github.com/envoyproxy/go-control-plane/envoy/config/bootstrap/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	caresv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/network/dns_resolver/cares/v3"
	"golang.org/x/net/dns/dnsmessage"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/internal/envoytest"
	"github.com/weftmesh/weft/xds/bootstrap/render"
	"github.com/weftmesh/weft/xds/envoy"
	"github.com/weftmesh/weft/xds/server"
	"github.com/weftmesh/weft/xds/server/syncstatus"
)

// outside is an external service by a name, which front calls beside web.
func outside(t *testing.T) string {
	return fmt.Sprintf(`type: MeshExternalService
mesh: default
name: bank
spec:
  match: {type: HostnameGenerator, port: 443, protocol: tcp}
  endpoints: [{address: bank.example.com, port: 443}]
---
type: Dataplane
mesh: default
name: front
networking:
  address: 127.0.0.1
  outbound:
  - {address: 127.0.0.1, port: %d, backendRef: {kind: MeshService, name: web, port: 8080}}
  - {address: 127.0.0.1, port: %d, backendRef: {kind: MeshExternalService, name: bank, port: 443}}
`, envoytest.Port(t), envoytest.Port(t))
}

// stirs counts what Status may say anew of front.
type changedSidecars struct {
	syncstatus.Observer
	of chan api.Ref
}

func (s changedSidecars) SidecarChanged(ref api.Ref) {
	select {
	case s.of <- ref:
	default:
	}
}

// TestAClientThatDoesNotConfirm: its status says which type it has had for long, since when, and which
// of the clusters are reached by names; whoever follows the status is told when that begins and ends.
func TestAClientThatDoesNotConfirm(t *testing.T) {
	t.Parallel()
	told := make(chan api.Ref, 1)
	p := serve(t, func(o *server.Options) {
		o.Slow = 300 * time.Millisecond
		o.Observer = changedSidecars{syncstatus.NoObserver{}, told}
	}, exclusive, service("web", 8080), member("web", 8080), outside(t))
	c := p.delta("default.front", "")
	before := time.Now()
	c.ask("cds", nil)
	r := c.next("cds")
	for s, _ := p.Status(dataplaneRef("front")); len(s.Unconfirmed) == 0; s, _ = p.Status(dataplaneRef("front")) {
		select {
		case <-told:
		case <-time.After(patience):
			t.Fatal("nobody was told")
		}
	}
	s, _ := p.Brief(dataplaneRef("front"))
	if u := s.Unconfirmed; len(u) != 1 || u[0].Type != "cds" || !u[0].Requested || u[0].Since.Before(before) || !slices.Equal(u[0].Resolving, []string{"extsvc_bank:443"}) {
		t.Fatalf("%+v", u)
	}
	for len(told) > 0 {
		<-told
	}
	c.ack(r)
	for s, _ := p.Status(dataplaneRef("front")); len(s.Unconfirmed) > 0; s, _ = p.Status(dataplaneRef("front")) {
		select {
		case <-told:
		case <-time.After(patience):
			t.Fatal("nobody was told of the end")
		}
	}
}

// nameserver answers nobody until it is told to; then that there is no such name.
type nameserver struct {
	net.PacketConn
	mu      sync.Mutex
	answers bool
	waiting []question
}

type question struct {
	from net.Addr
	text []byte
}

func silentNameserver(t *testing.T) *nameserver {
	t.Helper()
	l, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	n := &nameserver{PacketConn: l}
	go n.listen()
	return n
}

func (n *nameserver) listen() {
	for {
		buf := make([]byte, 4096)
		size, from, err := n.ReadFrom(buf)
		if err != nil {
			return
		}
		n.mu.Lock()
		n.waiting = append(n.waiting, question{from, buf[:size]})
		n.answer()
		n.mu.Unlock()
	}
}

// answer needs mu.
func (n *nameserver) answer() {
	if !n.answers {
		return
	}
	for _, q := range n.waiting {
		var m dnsmessage.Message
		if m.Unpack(q.text) != nil {
			continue
		}
		m.Header.Response, m.Header.RCode, m.Additionals = true, dnsmessage.RCodeNameError, nil
		if out, err := m.Pack(); err == nil {
			_, _ = n.WriteTo(out, q.from)
		}
	}
	n.waiting = nil
}

// speak answers all that was asked and will be.
func (n *nameserver) speak() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.answers = true
	n.answer()
}

// asking has an Envoy ask a nameserver, and wait long for it.
func (n *nameserver) asking(t *testing.T, bootstrap []byte) []byte {
	t.Helper()
	b := &bootstrapv3.Bootstrap{}
	if err := protojson.Unmarshal(bootstrap, b); err != nil {
		t.Fatal(err)
	}
	at := n.LocalAddr().(*net.UDPAddr)
	b.TypedDnsResolverConfig.TypedConfig = envoy.Pack(&caresv3.CaresDnsResolverConfig{
		Resolvers: []*corev3.Address{{Address: &corev3.Address_SocketAddress{SocketAddress: &corev3.SocketAddress{
			Protocol: corev3.SocketAddress_UDP, Address: at.IP.String(), PortSpecifier: &corev3.SocketAddress_PortValue{PortValue: uint32(at.Port)},
		}}}},
		QueryTimeoutSeconds: wrapperspb.UInt64(60), QueryTries: wrapperspb.UInt32(1),
	})
	return envoytest.JSON(t, b)
}

// TestAnEnvoyWaitsForDNS: an Envoy that starts beside a silent nameserver asks for no listeners, one that
// runs does not confirm the cluster, and the status of both says which cluster they wait for, until the name is
// answered.
func TestAnEnvoyWaitsForDNS(t *testing.T) {
	t.Parallel()
	forms(t, func(t *testing.T, form string) {
		for _, runs := range []bool{false, true} {
			p := serve(t, func(o *server.Options) { o.Slow = 300 * time.Millisecond }, exclusive, service("web", 8080), member("web", 8080))
			admin, dns := envoytest.Socket(t), silentNameserver(t)
			b, err := render.Bootstrap(render.Config{Mesh: "default", Name: "front", XDSHost: "127.0.0.1", XDSPort: uint32(p.addr.Port), StateOfTheWorld: form == syncstatus.StateOfTheWorld, AdminSocket: admin})
			if err != nil {
				t.Fatal(err)
			}
			want := syncstatus.Unconfirmed{Type: "lds", Resolving: []string{"extsvc_bank:443"}}
			if runs {
				want.Type, want.Requested = "cds", true
				p.apply(caller("front", map[uint32]string{envoytest.Port(t): "web"}))
			} else {
				p.apply(outside(t))
			}
			e := envoytest.Start(t, admin, dns.asking(t, b))
			if runs {
				p.synced("front")
				p.apply(outside(t))
			}
			s := p.until("front", "is slow", func(s syncstatus.Status) bool { return len(s.Unconfirmed) > 0 })
			got := s.Unconfirmed[0]
			if got.Since = (time.Time{}); len(s.Unconfirmed) != 1 || !reflect.DeepEqual(got, want) {
				t.Errorf("runs %v: %+v, want %+v", runs, s.Unconfirmed, want)
			}
			// What the message advises shows it.
			e.Until("the cluster is warming", func() bool {
				_, body, err := e.Get("/config_dump?resource=dynamic_warming_clusters")
				return err == nil && strings.Contains(string(body), "bank.example.com")
			})
			dns.speak()
			if s := p.synced("front"); len(s.Unconfirmed) > 0 {
				t.Errorf("runs %v: in sync with %+v", runs, s.Unconfirmed)
			}
		}
	})
}

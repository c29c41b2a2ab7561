package resolver_test

import (
	"net"
	"net/netip"
	"strings"
	"testing"

	"github.com/miekg/dns"

	"github.com/weftmesh/weft/sidecar/resolver"
)

// start runs a resolver with these nameservers.
func start(t *testing.T, names resolver.NameTable, servers ...string) *resolver.Resolver {
	t.Helper()
	return serve(t, resolver.Upstream{Servers: servers}, func(r *resolver.Resolver) { r.SetNames(names) })
}

func serve(t *testing.T, upstream resolver.Upstream, before ...func(*resolver.Resolver)) *resolver.Resolver {
	t.Helper()
	r, err := resolver.Listen([]string{"127.0.0.1:0"}, upstream)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range before {
		f(r)
	}
	done := make(chan error, 1)
	go func() { done <- r.Serve() }()
	t.Cleanup(func() { r.Close(); <-done })
	return r
}

func ask(t *testing.T, at, network, name string, kind uint16) *dns.Msg {
	t.Helper()
	a, _, err := (&dns.Client{Net: network}).Exchange(new(dns.Msg).SetQuestion(name, kind), at)
	if err != nil {
		t.Fatalf("%s %s: %v", network, name, err)
	}
	return a
}

// upstream is a nameserver that knows one name.
func upstream(t *testing.T) *resolver.Resolver {
	return start(t, resolver.NameTable{"outside.example": {Addresses: []netip.Addr{netip.MustParseAddr("192.0.2.7")}}})
}

// TestRow48: names of the mesh in any case, in both families, by UDP and TCP.
func TestRow48(t *testing.T) {
	t.Parallel()
	r := start(t, resolver.NameTable{
		"x.extsvc.mesh.local": {Addresses: []netip.Addr{netip.MustParseAddr("242.0.0.7"), netip.MustParseAddr("fd77:6566:74::f200:7")}},
		"four.mesh":           {Addresses: []netip.Addr{netip.MustParseAddr("241.0.0.1")}},
	}, upstream(t).Addresses()[0])
	for _, network := range []string{"udp", "tcp"} {
		for _, x := range []struct {
			name string
			kind uint16
			want string
		}{
			{"X.EXTSVC.mesh.local.", dns.TypeA, "242.0.0.7"},
			{"X.EXTSVC.mesh.local.", dns.TypeAAAA, "fd77:6566:74::f200:7"},
			{"four.mesh.", dns.TypeA, "241.0.0.1"},
			{"outside.example.", dns.TypeA, "192.0.2.7"},
		} {
			a := ask(t, r.Addresses()[0], network, x.name, x.kind)
			if len(a.Answer) != 1 || !strings.HasSuffix(a.Answer[0].String(), "\t"+x.want) || a.Answer[0].Header().Ttl != 30 || a.Answer[0].Header().Name != x.name {
				t.Errorf("%s %s: %v", network, x.name, a)
			}
		}
		for _, kind := range []uint16{dns.TypeAAAA, dns.TypeMX} {
			if a := ask(t, r.Addresses()[0], network, "four.mesh.", kind); a.Rcode != dns.RcodeSuccess || len(a.Answer) != 0 {
				t.Errorf("a family that it lacks: %v", a)
			}
		}
	}
}

// TestOneNameserverIsEnough: the others may be away; where all are, the answer says so.
func TestOneNameserverIsEnough(t *testing.T) {
	t.Parallel()
	good := start(t, nil, "127.0.0.1:1", upstream(t).Addresses()[0])
	if a := ask(t, good.Addresses()[0], "udp", "outside.example.", dns.TypeA); len(a.Answer) != 1 {
		t.Errorf("%v", a)
	}
	// This one answers that it cannot.
	unable := start(t, nil, start(t, nil).Addresses()[0], upstream(t).Addresses()[0])
	if a := ask(t, unable.Addresses()[0], "udp", "outside.example.", dns.TypeA); len(a.Answer) != 1 {
		t.Errorf("after one that cannot: %v", a)
	}
	none := start(t, nil, "127.0.0.1:1")
	for _, network := range []string{"udp", "tcp"} {
		if a := ask(t, none.Addresses()[0], network, "outside.example.", dns.TypeA); a.Rcode != dns.RcodeServerFailure {
			t.Errorf("%v", a)
		}
	}
}

// TestNamesAreReplacedAsAWhole: what the new list does not have is asked of the
// nameservers again.
func TestNamesAreReplacedAsAWhole(t *testing.T) {
	t.Parallel()
	r := start(t, resolver.NameTable{"outside.example": {Addresses: []netip.Addr{netip.MustParseAddr("241.0.0.1")}}}, upstream(t).Addresses()[0])
	for _, want := range []string{"241.0.0.1", "192.0.2.7"} {
		if a := ask(t, r.Addresses()[0], "udp", "outside.example.", dns.TypeA); len(a.Answer) != 1 || !strings.HasSuffix(a.Answer[0].String(), "\t"+want) {
			t.Errorf("want %s: %v", want, a)
		}
		r.SetNames(nil)
	}
}

// TestLast: a host of routes is what the nameservers say, where they know it; else what the
// mesh says, also of names below.
func TestLast(t *testing.T) {
	t.Parallel()
	c, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	world := &dns.Server{PacketConn: c, Handler: dns.HandlerFunc(func(w dns.ResponseWriter, q *dns.Msg) {
		a := new(dns.Msg).SetReply(q)
		if q.Question[0].Name != "known.example." {
			a.Rcode = dns.RcodeNameError
		} else if q.Question[0].Qtype == dns.TypeA {
			a.Answer = []dns.RR{&dns.A{Hdr: dns.RR_Header{Name: "known.example.", Rrtype: dns.TypeA, Class: dns.ClassINET, Ttl: 5}, A: net.IPv4(192, 0, 2, 9)}}
		}
		_ = w.WriteMsg(a)
	})}
	go func() { _ = world.ActivateAndServe() }()
	t.Cleanup(func() { _ = c.Close() })
	last := resolver.Addresses{Addresses: []netip.Addr{netip.MustParseAddr("241.255.255.255"), netip.MustParseAddr("fd77:6566:74::f1ff:ffff")}, Last: true}
	r := start(t, resolver.NameTable{"known.example": last, "unknown.example": last, "*.below.example": last, "x.mesh": {Addresses: []netip.Addr{netip.MustParseAddr("241.0.0.1")}}}, c.LocalAddr().String())
	for _, x := range []struct {
		name string
		kind uint16
		want string
	}{
		{"known.example.", dns.TypeA, "192.0.2.9"},
		{"known.example.", dns.TypeAAAA, ""},
		{"Unknown.example.", dns.TypeA, "241.255.255.255"},
		{"unknown.example.", dns.TypeAAAA, "fd77:6566:74::f1ff:ffff"},
		{"a.b.below.example.", dns.TypeA, "241.255.255.255"},
		{"below.example.", dns.TypeA, "NXDOMAIN"},
		{"none.example.", dns.TypeA, "NXDOMAIN"},
		{"x.mesh.", dns.TypeA, "241.0.0.1"},
	} {
		a, got := ask(t, r.Addresses()[0], "udp", x.name, x.kind), ""
		if len(a.Answer) == 1 {
			got = a.Answer[0].String()[strings.LastIndexByte(a.Answer[0].String(), '\t')+1:]
		} else if a.Rcode != dns.RcodeSuccess {
			got = dns.RcodeToString[a.Rcode]
		}
		if got != x.want {
			t.Errorf("%s: %q, want %q", x.name, got, x.want)
		}
	}
}

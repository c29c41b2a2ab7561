package resolver_test

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/miekg/dns"

	"github.com/weftmesh/weft/sidecar/resolver"
)

// start runs a resolver with these nameservers.
func start(t *testing.T, names resolver.Names, servers ...string) *resolver.Resolver {
	t.Helper()
	r, err := resolver.Listen([]string{"127.0.0.1:0"}, servers)
	if err != nil {
		t.Fatal(err)
	}
	r.SetNames(names)
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
	return start(t, resolver.Names{"outside.example": {netip.MustParseAddr("192.0.2.7")}})
}

// TestRow48: names of the mesh in any case, in both families, by UDP and TCP.
func TestRow48(t *testing.T) {
	t.Parallel()
	r := start(t, resolver.Names{
		"x.extsvc.mesh.local": {netip.MustParseAddr("242.0.0.7"), netip.MustParseAddr("fd77:6566:74::f200:7")},
		"four.mesh":           {netip.MustParseAddr("241.0.0.1")},
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
	r := start(t, resolver.Names{"outside.example": {netip.MustParseAddr("241.0.0.1")}}, upstream(t).Addresses()[0])
	for _, want := range []string{"241.0.0.1", "192.0.2.7"} {
		if a := ask(t, r.Addresses()[0], "udp", "outside.example.", dns.TypeA); len(a.Answer) != 1 || !strings.HasSuffix(a.Answer[0].String(), "\t"+want) {
			t.Errorf("want %s: %v", want, a)
		}
		r.SetNames(nil)
	}
}

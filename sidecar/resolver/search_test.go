package resolver_test

import (
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/miekg/dns"

	"github.com/weftmesh/weft/sidecar/resolver"
)

// world is a nameserver that knows some names, and fails for those below broken.example.
func world(t *testing.T, known map[string]string) *net.UDPAddr {
	t.Helper()
	c, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &dns.Server{PacketConn: c, Handler: dns.HandlerFunc(func(w dns.ResponseWriter, q *dns.Msg) {
		a, name := new(dns.Msg).SetReply(q), strings.ToLower(q.Question[0].Name)
		ip, ok := known[strings.TrimSuffix(name, ".")]
		switch {
		case strings.HasSuffix(name, "broken.example."):
			a.Rcode = dns.RcodeServerFailure
		case !ok:
			a.Rcode = dns.RcodeNameError
		case q.Question[0].Qtype == dns.TypeA && ip != "":
			a.Answer = []dns.RR{&dns.A{Hdr: dns.RR_Header{Name: q.Question[0].Name, Rrtype: dns.TypeA, Class: dns.ClassINET, Ttl: 5}, A: net.ParseIP(ip)}}
		}
		_ = w.WriteMsg(a) // whoever asked may have gone
	})}
	ended := make(chan error, 1)
	go func() { ended <- s.ActivateAndServe() }()
	t.Cleanup(func() { _ = c.Close(); <-ended })
	return c.LocalAddr().(*net.UDPAddr)
}

// TestSearchDomains: a client with the resolv.conf of a pod, which tries each name with every
// search domain first, comes to the name that it means, whatever names the mesh has below the
// same domains.
func TestSearchDomains(t *testing.T) {
	t.Parallel()
	at := world(t, map[string]string{
		"web.other.svc.cluster.local": "10.96.0.7", "db.shop.svc.cluster.local": "10.96.0.8", "both.shop.svc.cluster.local": "10.96.0.9",
		"api.github.example": "192.0.2.1", "known.corp.example": "192.0.2.2", "printer.late.example": "192.0.2.3", "dev": "",
	})
	file := filepath.Join(t.TempDir(), "resolv.conf")
	conf := "nameserver 127.0.0.1\nsearch shop.svc.cluster.local svc.cluster.local cluster.local Corp.example. late.example\noptions ndots:5\n"
	if err := os.WriteFile(file, []byte(conf), 0o600); err != nil {
		t.Fatal(err)
	}
	client, err := dns.ClientConfigFromFile(file)
	if err != nil {
		t.Fatal(err)
	}
	upstream, err := resolver.ReadUpstream(file)
	if err != nil {
		t.Fatal(err)
	}
	upstream.Servers = []string{at.String()}
	r := serve(t, upstream)
	hosts := resolver.Addresses{Addresses: []netip.Addr{netip.MustParseAddr("241.255.255.255")}, Last: true}
	written := resolver.Addresses{Addresses: []netip.Addr{netip.MustParseAddr("241.0.0.1")}}
	r.SetNames(resolver.NameTable{
		"*.corp.example": hosts, "*.cluster.local": hosts, "*.svc.cluster.local": written, "*.example": written, "none.shop.svc.cluster.local": written,
		"web.mesh": written, "web.other": hosts, "db": written, "both.shop": written, "alone": hosts, "alone.twice": written,
	})
	for _, x := range []struct{ name, asked, got string }{
		// Names of the cluster's DNS and of the world.
		{"web.other", "web.other.svc.cluster.local", "10.96.0.7"},
		{"db", "db.shop.svc.cluster.local", "10.96.0.8"},
		{"api.github.example", "api.github.example", "192.0.2.1"},
		{"printer", "printer.late.example", "192.0.2.3"},
		{"known", "known.corp.example", "192.0.2.2"},
		// Those of the mesh.
		{"web.mesh", "web.mesh", "241.0.0.1"},
		{"shop.corp.example", "shop.corp.example", "241.255.255.255"},
		{"shop", "shop.corp.example", "241.255.255.255"},
		{"dev", "dev.corp.example", "241.255.255.255"}, // a domain of the world's without an address
		{"new.example", "new.example", "241.0.0.1"},
		{"alone.twice", "alone.twice", "241.0.0.1"},
		// What a client asks that tries the name as it is first.
		{"web.other.", "web.other", "NXDOMAIN"},
		{"db.", "db", "NXDOMAIN"},
		{"both.shop.", "both.shop", "NXDOMAIN"},
		{"alone.", "alone", "241.255.255.255"},
		// The domain of the cluster is its DNS's, which knows all of it.
		{"none.shop.svc.cluster.local.", "none.shop.svc.cluster.local", "NXDOMAIN"},
		{"a.b.c.d.cluster.local.", "a.b.c.d.cluster.local", "NXDOMAIN"},
		{"x.broken.example.", "x.broken.example", "SERVFAIL"},
	} {
		asked, got := "", ""
		for _, name := range client.NameList(x.name) {
			a := ask(t, r.Addresses()[0], "udp", name, dns.TypeA)
			if asked = strings.ToLower(strings.TrimSuffix(name, ".")); len(a.Answer) > 0 {
				got = a.Answer[0].(*dns.A).A.String()
				break
			}
			got = dns.RcodeToString[a.Rcode]
			if a.Rcode == dns.RcodeServerFailure {
				break
			}
		}
		if asked != x.asked || got != x.got {
			t.Errorf("%s comes to %s %s, want %s %s", x.name, asked, got, x.asked, x.got)
		}
	}
}

// TestNoSearchDomainIsACluster: a host whose search list only looks a little like that of a pod
// has names of the mesh below it.
func TestNoSearchDomainIsACluster(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "resolv.conf")
	if err := os.WriteFile(file, []byte("nameserver 127.0.0.1\nsearch svc.corp.example corp.example\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	upstream, err := resolver.ReadUpstream(file)
	if err != nil {
		t.Fatal(err)
	}
	upstream.Servers = []string{world(t, nil).String()}
	r := serve(t, upstream)
	r.SetNames(resolver.NameTable{"shop.corp.example": {Addresses: []netip.Addr{netip.MustParseAddr("241.0.0.1")}}})
	if a := ask(t, r.Addresses()[0], "udp", "shop.corp.example.", dns.TypeA); len(a.Answer) != 1 {
		t.Errorf("%v", a)
	}
}

// TestACircleEnds: a nameserver that leads back here, as a redirection of port 53 may make it,
// answers at once that there is no answer.
func TestACircleEnds(t *testing.T) {
	t.Parallel()
	r := serve(t, resolver.Upstream{}, func(r *resolver.Resolver) { r.Ask(r.Addresses()[0]) })
	for _, network := range []string{"udp", "tcp"} {
		if a := ask(t, r.Addresses()[0], network, "outside.example.", dns.TypeA); a.Rcode != dns.RcodeServerFailure {
			t.Errorf("%s: %v", network, a)
		}
	}
}

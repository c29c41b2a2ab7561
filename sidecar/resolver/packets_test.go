package resolver_test

import (
	"net"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/miekg/dns"

	"github.com/weftmesh/weft/sidecar/resolver"
)

// FuzzReply: whatever can be read as a question has an answer that can be written, to that
// question.
func FuzzReply(f *testing.F) {
	r, err := resolver.Listen(nil, resolver.Upstream{Search: []string{"a.svc.cluster.local", "svc.cluster.local", "cluster.local"}})
	if err != nil {
		f.Fatal(err)
	}
	names := resolver.NameTable{"x.mesh": {Addresses: []netip.Addr{netip.MustParseAddr("241.0.0.1"), netip.MustParseAddr("fd77:6566:74::f100:1")}}, "*.example": {}}
	r.SetNames(names)
	for _, name := range []string{"x.mesh.", "X.Mesh.", "a.b.example.", ".", "a\\.b.example.", "\\000.mesh."} {
		for _, kind := range []uint16{dns.TypeA, dns.TypeAAAA, dns.TypeANY, dns.TypeHTTPS} {
			text, err := new(dns.Msg).SetQuestion(name, kind).SetEdns0(0, true).Pack()
			if err != nil {
				f.Fatal(err)
			}
			f.Add(text)
		}
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		q := new(dns.Msg)
		if q.Unpack(text) != nil {
			return
		}
		a := r.Reply(q)
		if a.Id != q.Id || !a.Response || len(q.Question) > 0 && !slices.Equal(a.Question, q.Question[:1]) {
			t.Fatalf("%v is answered by %v", q, a)
		}
		out, err := a.Pack()
		if err != nil {
			t.Fatalf("%v cannot be written: %v", a, err)
		}
		if err := new(dns.Msg).Unpack(out); err != nil {
			t.Fatalf("%v cannot be read: %v", a, err)
		}
	})
}

// TestMalformed: what is no question is answered as such or not at all, and those after it are
// answered.
func TestMalformed(t *testing.T) {
	t.Parallel()
	r := start(t, resolver.NameTable{"x.mesh": {Addresses: []netip.Addr{netip.MustParseAddr("241.0.0.1")}}}, "127.0.0.1:1")
	conn, err := net.Dial("udp", r.Addresses()[0])
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	header := []byte{0, 7, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0}
	for _, text := range [][]byte{
		nil, {1}, header, append(slices.Clone(header), 0xc0, 0x0c, 0, 1, 0, 1), // a name that points at itself
		append(slices.Clone(header), 63, 'a'), {0, 7, 1, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff},
		{0, 7, 0x81, 0, 0, 1, 0, 0, 0, 0, 0, 0}, // an answer
	} {
		if _, err := conn.Write(text); err != nil {
			t.Fatal(err)
		}
	}
	if a := ask(t, r.Addresses()[0], "udp", "x.mesh.", dns.TypeA); len(a.Answer) != 1 {
		t.Errorf("%v", a)
	}
	tcp, err := net.Dial("tcp", r.Addresses()[0])
	if err != nil {
		t.Fatal(err)
	}
	defer tcp.Close()
	if _, err := tcp.Write(append([]byte{0, 12}, header...)); err != nil {
		t.Fatal(err)
	}
	if a := ask(t, r.Addresses()[0], "tcp", "x.mesh.", dns.TypeA); len(a.Answer) != 1 {
		t.Errorf("%v", a)
	}
}

// TestSizes: answers fit what a client says that it takes, and say so where they are cut; by TCP
// they are whole. Who speaks EDNS is answered in it.
func TestSizes(t *testing.T) {
	t.Parallel()
	many := resolver.Addresses{}
	for i := range 100 {
		many.Addresses = append(many.Addresses, netip.AddrFrom4([4]byte{241, 0, 0, byte(i)}))
	}
	up := start(t, resolver.NameTable{"many.example": many})
	for name, r := range map[string]*resolver.Resolver{"own": start(t, resolver.NameTable{"many.example": many}), "forwarded": start(t, nil, up.Addresses()[0])} {
		for _, x := range []struct {
			network string
			size    uint16
			whole   bool
		}{{"udp", 0, false}, {"udp", 100, false}, {"udp", 1232, false}, {"udp", 65535, true}, {"tcp", 0, true}, {"tcp", 512, true}} {
			q := new(dns.Msg).SetQuestion("many.example.", dns.TypeA)
			if x.size > 0 {
				q.SetEdns0(x.size, false)
			}
			a, _, err := (&dns.Client{Net: x.network, Timeout: 10 * time.Second}).Exchange(q, r.Addresses()[0])
			if err != nil {
				t.Fatalf("%s by %s in %d: %v", name, x.network, x.size, err)
			}
			if a.Truncated == x.whole || (len(a.Answer) == 100) != x.whole || (a.IsEdns0() != nil) != (x.size > 0) {
				t.Errorf("%s by %s in %d: %d answers, truncated %v, EDNS %v", name, x.network, x.size, len(a.Answer), a.Truncated, a.IsEdns0())
			}
		}
	}
}

// TestPipelined: questions that a client sends by one connection without waiting are all
// answered.
func TestPipelined(t *testing.T) {
	t.Parallel()
	r := start(t, resolver.NameTable{"x.mesh": {Addresses: []netip.Addr{netip.MustParseAddr("241.0.0.1")}}})
	conn, err := dns.Dial("tcp", r.Addresses()[0])
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	const n = 100
	for id := range uint16(n) {
		q := new(dns.Msg).SetQuestion("x.mesh.", dns.TypeA)
		q.Id = id
		if err := conn.WriteMsg(q); err != nil {
			t.Fatal(err)
		}
	}
	for id := range uint16(n) {
		if a, err := conn.ReadMsg(); err != nil || a.Id != id || len(a.Answer) != 1 {
			t.Fatalf("question %d: %v %v", id, a, err)
		}
	}
}

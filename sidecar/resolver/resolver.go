// Package resolver answers DNS beside a workload: names that only the mesh knows itself,
// all others by the nameservers of the host (spec/kubernetes.md 3.11).
//
// It promises that questions about other names reach the nameservers unchanged, by UDP
// and TCP, and that a flood of questions costs bounded memory: what is too much is
// refused. It keeps no answers; search domains are the client's.
package resolver

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"sync/atomic"
	"time"

	"github.com/miekg/dns"
)

const (
	ttl      = 30              // seconds that a name of the mesh may be kept
	patience = 2 * time.Second // for each nameserver
	// mostForwarded bounds the questions that wait for nameservers at one time.
	mostForwarded = 512
)

// Names are the names of the mesh, in lower case without a final dot; *.NAME stands for all
// names below NAME.
type Names map[string]Answer

// Answer is what is known of a name: addresses of both families.
type Answer struct {
	Addresses []netip.Addr
	// Last says that the nameservers are asked first, and the addresses hold where they say
	// that there is no such name.
	Last bool
}

// find is what is known of a name, by itself or by the nearest *.NAME.
func (n Names) find(name string) (Answer, bool) {
	if a, ok := n[name]; ok {
		return a, true
	}
	for {
		_, above, more := strings.Cut(name, ".")
		if !more {
			return Answer{}, false
		}
		if a, ok := n["*."+above]; ok {
			return a, true
		}
		name = above
	}
}

// Resolver answers at one or several addresses.
type Resolver struct {
	servers  []string // HOST:PORT, in the order in which they are asked
	names    atomic.Pointer[Names]
	forwards chan struct{} // a token for each question that waits for nameservers
	// listeners are one for UDP and one for TCP at each address.
	listeners []*dns.Server
}

// Nameservers are those of a resolv.conf.
func Nameservers(file string) ([]string, error) {
	c, err := dns.ClientConfigFromFile(file)
	if err != nil {
		return nil, fmt.Errorf("read the nameservers: %w", err)
	}
	var out []string
	for _, s := range c.Servers {
		out = append(out, net.JoinHostPort(s, c.Port))
	}
	return out, nil
}

// Listen takes addresses for UDP and TCP; port 0 is any.
func Listen(addresses []string, servers []string) (*Resolver, error) {
	r := &Resolver{servers: servers, forwards: make(chan struct{}, mostForwarded)}
	r.SetNames(nil)
	for _, address := range addresses {
		if err := r.listen(address); err != nil {
			r.Close()
			return nil, fmt.Errorf("--dns %s: %w; choose another address", address, err)
		}
	}
	return r, nil
}

func (r *Resolver) listen(address string) error {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	u, err := net.ListenPacket("udp", l.Addr().String())
	if err != nil {
		_ = l.Close() // err says why
		return err
	}
	h := dns.HandlerFunc(r.answer)
	r.listeners = append(r.listeners, &dns.Server{PacketConn: u, Handler: h},
		&dns.Server{Listener: l, Handler: h, MaxTCPQueries: 128, IdleTimeout: func() time.Duration { return 8 * time.Second }})
	return nil
}

// Addresses are where it answers.
func (r *Resolver) Addresses() []string {
	var all []string
	for _, s := range r.listeners {
		if s.Listener != nil {
			all = append(all, s.Listener.Addr().String())
		}
	}
	return all
}

// SetNames replaces the names of the mesh.
func (r *Resolver) SetNames(n Names) { r.names.Store(&n) }

// Serve answers until Close.
func (r *Resolver) Serve() error {
	ended := make(chan error, len(r.listeners))
	for _, s := range r.listeners {
		go func() { ended <- s.ActivateAndServe() }()
	}
	err := <-ended
	r.Close()
	for range len(r.listeners) - 1 {
		err = errors.Join(err, <-ended)
	}
	return err
}

// Close ends Serve.
func (r *Resolver) Close() {
	for _, s := range r.listeners {
		if s.Listener != nil {
			_ = s.Listener.Close() // Serve tells
		} else {
			_ = s.PacketConn.Close()
		}
	}
	for _, s := range r.listeners {
		_ = s.Shutdown()
	}
}

func (r *Resolver) answer(w dns.ResponseWriter, q *dns.Msg) {
	_, overTCP := w.RemoteAddr().(*net.TCPAddr)
	own, last := r.own(q)
	a := own
	if own == nil || last {
		if a = r.forward(q, overTCP); last && a.Rcode == dns.RcodeNameError {
			a = own
		}
	}
	if !overTCP {
		size := dns.MinMsgSize
		if e := q.IsEdns0(); e != nil {
			size = max(size, int(e.UDPSize()))
		}
		a.Truncate(size)
	}
	_ = w.WriteMsg(a) // a client that has gone is no failure of ours
}

// own is the answer about a name of the mesh, and whether the nameservers go before it; nil
// for all others.
func (r *Resolver) own(q *dns.Msg) (a *dns.Msg, last bool) {
	if len(q.Question) != 1 || q.Question[0].Qclass != dns.ClassINET {
		return nil, false
	}
	asked := q.Question[0]
	known, ok := r.names.Load().find(strings.ToLower(strings.TrimSuffix(asked.Name, ".")))
	if !ok {
		return nil, false
	}
	a = new(dns.Msg).SetReply(q)
	a.RecursionAvailable = true
	for _, ip := range known.Addresses {
		head := dns.RR_Header{Name: asked.Name, Rrtype: asked.Qtype, Class: dns.ClassINET, Ttl: ttl}
		switch {
		case asked.Qtype == dns.TypeA && ip.Is4():
			a.Answer = append(a.Answer, &dns.A{Hdr: head, A: ip.AsSlice()})
		case asked.Qtype == dns.TypeAAAA && ip.Is6():
			a.Answer = append(a.Answer, &dns.AAAA{Hdr: head, AAAA: ip.AsSlice()})
		}
	}
	return a, known.Last
}

// forward asks one nameserver after the other until one answers. One that cannot, or may not,
// is no answer while another may.
func (r *Resolver) forward(q *dns.Msg, overTCP bool) *dns.Msg {
	select {
	case r.forwards <- struct{}{}:
		defer func() { <-r.forwards }()
	default:
		return new(dns.Msg).SetRcode(q, dns.RcodeRefused)
	}
	last := new(dns.Msg).SetRcode(q, dns.RcodeServerFailure)
	for _, server := range r.servers {
		switch a := exchange(q, server, overTCP); {
		case a == nil:
		case a.Rcode == dns.RcodeServerFailure, a.Rcode == dns.RcodeRefused, a.Rcode == dns.RcodeNotImplemented:
			last = a
		default:
			return a
		}
	}
	return last
}

// exchange is the answer of one nameserver, by TCP if it does not fit; nil for none.
func exchange(q *dns.Msg, server string, overTCP bool) *dns.Msg {
	udp, tcp := &dns.Client{Net: "udp", Timeout: patience}, &dns.Client{Net: "tcp", Timeout: patience}
	if !overTCP {
		a, _, err := udp.Exchange(q, server)
		if err == nil && !a.Truncated {
			return a
		}
		if err != nil && (a == nil || !a.Truncated) {
			return nil
		}
	}
	a, _, err := tcp.Exchange(q, server)
	if err != nil {
		return nil
	}
	return a
}

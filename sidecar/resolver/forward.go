package resolver

import (
	"net"
	"strings"
	"sync"

	"github.com/miekg/dns"
)

func (r *Resolver) answer(w dns.ResponseWriter, q *dns.Msg) {
	_, overTCP := w.RemoteAddr().(*net.TCPAddr)
	var a *dns.Msg
	if r.own.has(w.RemoteAddr(), q.Id) { // the nameserver that it asked is itself
		a = new(dns.Msg).SetRcode(q, dns.RcodeServerFailure)
	} else {
		a = r.reply(q, overTCP)
	}
	if !overTCP {
		size := dns.MinMsgSize
		if e := q.IsEdns0(); e != nil {
			size = max(size, min(int(e.UDPSize()), largestDatagram))
		}
		a.Truncate(size)
	}
	if w.WriteMsg(a) != nil { // it cannot be written down, or the client has gone
		_ = w.WriteMsg(new(dns.Msg).SetRcode(q, dns.RcodeServerFailure))
	}
}

// reply is by the mesh, by the nameservers, or by the mesh where those know no such name.
func (r *Resolver) reply(q *dns.Msg, overTCP bool) *dns.Msg {
	known, wide, ok := r.known(q)
	if !ok {
		return r.forward(q, overTCP)
	}
	name := canonical(q.Question[0].Name)
	others := r.upstream.others(name, wide)
	if !known.Last && !wide && len(others) == 0 {
		return known.reply(q)
	}
	if known.Last || wide {
		if a := r.forward(q, overTCP); a.Rcode != dns.RcodeNameError {
			return a
		}
	}
	switch hides, sure := r.hides(name, others, overTCP); {
	case !sure:
		return new(dns.Msg).SetRcode(q, dns.RcodeServerFailure)
	case hides:
		return new(dns.Msg).SetRcode(q, dns.RcodeNameError)
	}
	return known.reply(q)
}

// hides reports whether one of the other names that a client may mean by name is there. It is
// not sure where the nameservers cannot tell.
func (r *Resolver) hides(name string, others []string, overTCP bool) (hides, sure bool) {
	for _, other := range others {
		_, wide, ours := r.names.Load().find(other)
		if wide { // what comes after a name would else give way to all that may follow it
			ours = strings.HasPrefix(name, other+".")
		}
		if ours && !below(other, r.upstream.cluster) {
			return true, true
		}
		for _, kind := range []uint16{dns.TypeA, dns.TypeAAAA} {
			a := r.forward(new(dns.Msg).SetQuestion(dns.Fqdn(other), kind), overTCP)
			if a.Rcode == dns.RcodeSuccess && len(a.Answer) > 0 {
				return true, true
			}
			if a.Rcode == dns.RcodeNameError {
				break // of the other family it says the same
			}
			if a.Rcode != dns.RcodeSuccess {
				return false, false
			}
		}
	}
	return false, true
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
	if e := q.IsEdns0(); e != nil && e.UDPSize() > largestDatagram {
		q = q.Copy()
		q.IsEdns0().SetUDPSize(largestDatagram)
	}
	last := new(dns.Msg).SetRcode(q, dns.RcodeServerFailure)
	for _, server := range r.upstream.Servers {
		switch a := r.exchange(q, server, overTCP); {
		case a == nil:
		case a.Rcode == dns.RcodeServerFailure, a.Rcode == dns.RcodeRefused, a.Rcode == dns.RcodeNotImplemented:
			last = a
		default:
			return a
		}
	}
	return last
}

// exchange is the answer of one nameserver, by TCP if it does not fit, cut where it has no
// TCP; nil for none.
func (r *Resolver) exchange(q *dns.Msg, server string, overTCP bool) *dns.Msg {
	var cut *dns.Msg
	if !overTCP {
		a, err := r.exchangeBy("udp", q, server)
		if a == nil || err != nil && !a.Truncated {
			return nil
		}
		if !a.Truncated {
			return a
		}
		if err == nil {
			cut = a
		}
	}
	if a, err := r.exchangeBy("tcp", q, server); err == nil {
		return a
	}
	return cut
}

// exchangeBy asks by one protocol.
func (r *Resolver) exchangeBy(network string, q *dns.Msg, server string) (*dns.Msg, error) {
	c := &dns.Client{Net: network, Timeout: patience}
	conn, err := c.Dial(server)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	defer r.own.add(conn.LocalAddr(), q.Id)()
	a, _, err := c.ExchangeWithConn(q, conn)
	return a, err
}

// sockets are those from which nameservers are being asked, with the id of the question: one
// that comes from there has gone in a circle.
type sockets struct{ at sync.Map }

type socket struct {
	network, address string
	id               uint16
}

// add takes one down until it is removed.
func (s *sockets) add(a net.Addr, id uint16) (remove func()) {
	at := socket{a.Network(), a.String(), id}
	s.at.Store(at, true)
	return func() { s.at.Delete(at) }
}

func (s *sockets) has(a net.Addr, id uint16) bool {
	_, ok := s.at.Load(socket{a.Network(), a.String(), id})
	return ok
}

package resolver

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/miekg/dns"
)

// NameTable is the names of the mesh, in lower case without a final dot; *.NAME stands for all
// names below NAME.
type NameTable map[string]Addresses

// Addresses is what is known of a name: addresses of both families.
type Addresses struct {
	Addresses []netip.Addr
	// Last says that the nameservers are asked first, and the addresses hold where they say
	// that there is no such name. Those of *.NAME are always last.
	Last bool
}

// canonical is a name as a NameTable has it.
func canonical(name string) string { return strings.ToLower(strings.TrimSuffix(name, ".")) }

// find is what is known of a name, by itself or, wide, by the nearest *.NAME.
func (n NameTable) find(name string) (a Addresses, wide, ok bool) {
	if a, ok := n[name]; ok {
		return a, false, true
	}
	for {
		_, above, more := strings.Cut(name, ".")
		if !more {
			return Addresses{}, false, false
		}
		if a, ok := n["*."+above]; ok {
			return a, true, true
		}
		name = above
	}
}

// below reports whether a name is a domain or below it.
func below(name, domain string) bool {
	rest, ok := strings.CutSuffix(name, domain)
	return ok && domain != "" && (rest == "" || strings.HasSuffix(rest, "."))
}

// known is what is known of the name that is asked for. The domain of a cluster is its
// DNS's alone, which knows all of it.
func (r *Resolver) known(q *dns.Msg) (a Addresses, wide, ok bool) {
	if len(q.Question) != 1 || q.Question[0].Qclass != dns.ClassINET || q.Opcode != dns.OpcodeQuery {
		return Addresses{}, false, false
	}
	name := canonical(q.Question[0].Name)
	if below(name, r.upstream.cluster) {
		return Addresses{}, false, false
	}
	return r.names.Load().find(name)
}

// reply is the answer about a name of the mesh. Of a family that it lacks it is empty.
func (a Addresses) reply(q *dns.Msg) *dns.Msg {
	out, asked := new(dns.Msg).SetReply(q), q.Question[0]
	out.RecursionAvailable = true
	if e := q.IsEdns0(); e != nil {
		out.SetEdns0(largestDatagram, e.Do())
	}
	for _, ip := range a.Addresses {
		head := dns.RR_Header{Name: asked.Name, Rrtype: asked.Qtype, Class: dns.ClassINET, Ttl: ttl}
		switch {
		case asked.Qtype == dns.TypeA && ip.Is4():
			out.Answer = append(out.Answer, &dns.A{Hdr: head, A: ip.AsSlice()})
		case asked.Qtype == dns.TypeAAAA && ip.Is6():
			out.Answer = append(out.Answer, &dns.AAAA{Hdr: head, AAAA: ip.AsSlice()})
		}
	}
	return out
}

// others are the names that a client may mean by one, and that an answer would hide from it.
// By the search list of its resolv.conf it asks for api.example.org.NAME before it asks for
// api.example.org, and takes the first that there is; so an answer by *.NAME, wide, gives way to
// the name without a search domain, and with later ones. A name as short as SERVICE.NAMESPACE
// gives way to that Service of the cluster: a client may ask for it without a domain first.
func (u *Upstream) others(name string, wide bool) []string {
	var out []string
	for i, domain := range u.Search {
		short, ok := strings.CutSuffix(name, "."+domain)
		if !wide || !ok {
			continue
		}
		out = append(out, short)
		for _, later := range u.Search[i+1:] {
			out = append(out, short+"."+later)
		}
	}
	if of := u.service(name); of != "" {
		out = append(out, of)
	}
	slices.Sort(out)
	return slices.DeleteFunc(slices.Compact(out), func(other string) bool { return other == name })
}

// service is the Service of the cluster that a short name may mean; empty for none. Names of the
// mesh by their own domain are not short.
func (u *Upstream) service(name string) string {
	first, rest, _ := strings.Cut(name, ".")
	switch {
	case u.cluster == "" || rest == "mesh":
	case rest == "":
		return first + "." + u.Search[slices.Index(u.Search, "svc."+u.cluster)-1]
	case !strings.Contains(rest, "."):
		return name + ".svc." + u.cluster
	case strings.Count(rest, ".") == 1 && strings.HasSuffix(rest, ".svc"):
		return name + "." + u.cluster
	}
	return ""
}

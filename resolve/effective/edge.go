package effective

import (
	"cmp"
	"slices"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/route"
)

// Edge is where an edge dataplane listens for clients from outside the mesh. The
// outbounds at its address, which have the same port and Edge set, are the hosts that
// it serves; of others there are none.
type Edge struct {
	Address     string
	Port        uint32
	TrustedHops uint32 // proxies before it whose x-forwarded-for holds
	// TLS are the listeners at the port where clients speak TLS; none where they do not.
	TLS []route.Listener
	// Connections says that whole connections go on from there, as the one of Outbounds
	// says that has the port; without one they are closed.
	Connections bool
}

// EdgeUse is an Edge, and what stands beside it.
type EdgeUse struct {
	*Edge
	Cache *Derived
}

// FilterChain is the names that clients ask for in TLS to whom one certificate is shown, and
// the hosts that are served to them then; or whose connections go on as a whole.
type FilterChain struct {
	Name    string // of a host, *. and one for all below it; empty for what no other chain has
	Secrets []api.Ref
	// Minimum and Maximum are those of route.ServerTLS.
	Minimum, Maximum string
	// Own says that the certificate is that of one host: who has seen it and asks for
	// another host is misdirected.
	Own   bool
	Hosts []*Outbound
	// Connections says that whole connections go on, as To says, or are closed where it is
	// nil. Without Secrets they go on as they are, with their TLS.
	Connections bool
	To          *Outbound
	// Others are the names of the other chains, api.AnyHost for the one without: who asks
	// for a host that is theirs is misdirected, whether a route has it or not.
	Others []string
}

// Hosts are the outbounds of r to the hosts that e serves.
func (r *Resolved) Hosts(e *Edge) []*Outbound {
	var out []*Outbound
	for _, o := range r.Outbounds {
		if o.Edge && o.Port == e.Port {
			out = append(out, o)
		}
	}
	return out
}

// Chains are those at the port of e, by name; none where clients speak no TLS, or nobody
// is let in.
func (r *Resolved) Chains(e *Edge) []*FilterChain {
	if len(e.TLS) == 0 {
		return nil
	}
	var all []*FilterChain
	shut := map[*FilterChain]bool{}
	for i := range e.TLS {
		l := &e.TLS[i]
		c := &FilterChain{Name: l.Hostname, Secrets: l.TLS.Secrets, Minimum: l.TLS.Minimum, Maximum: l.TLS.Maximum, Connections: l.Connections}
		if l.Closed {
			shut[c] = true
		} else if len(c.Secrets) == 0 && !c.Connections {
			continue // a place for hosts with certificates of their own
		}
		all = append(all, c)
	}
	hosts := r.Hosts(e)
	all = sendOn(all, hosts)
	hosts = slices.DeleteFunc(hosts, func(o *Outbound) bool { return o.TCP != nil })
	for _, o := range hosts {
		own := o.Destination.TLS
		if own == nil || len(own.Secrets) == 0 {
			continue
		}
		name := chainName(o.Destination.Name)
		all = slices.DeleteFunc(all, func(c *FilterChain) bool { return c.Name == name })
		all = append(all, &FilterChain{Name: name, Secrets: own.Secrets, Minimum: own.Minimum, Maximum: own.Maximum, Own: true})
	}
	slices.SortFunc(all, func(a, b *FilterChain) int { return cmp.Compare(a.Name, b.Name) })
	for _, o := range hosts {
		if c := chainOf(all, o.Destination.Name); c != nil && !c.Connections {
			c.Hosts = append(c.Hosts, o)
		}
	}
	for _, c := range all {
		if c.Own || c.Connections {
			continue
		}
		for _, o := range all {
			if o != c {
				c.Others = append(c.Others, cmp.Or(o.Name, api.AnyHost))
			}
		}
	}
	return slices.DeleteFunc(all, func(c *FilterChain) bool { return shut[c] })
}

// sendOn adds to those of listeners the chains from which whole connections go to hosts: that
// of the listener which has the name, or one beside it with the same certificates.
func sendOn(listeners []*FilterChain, hosts []*Outbound) []*FilterChain {
	all := slices.Clone(listeners)
	for _, o := range hosts {
		if o.TCP == nil {
			continue
		}
		name := chainName(o.Destination.Name)
		at := chainOf(listeners, o.Destination.Name)
		switch {
		case at == nil || !at.Connections: // its listener is closed, or not there
		case at.Name == name:
			at.To = o
		default:
			c := *at
			c.Name, c.To = name, o
			all = append(all, &c)
		}
	}
	return all
}

// chainName is the name by which clients ask for a host in TLS.
func chainName(host string) string {
	if host == api.AnyHost {
		return ""
	}
	return host
}

// chainOf is the one of chains to which clients come who ask for a host: that with the
// nearest name, as Envoy chooses; nil for none.
func chainOf(all []*FilterChain, host string) *FilterChain {
	var found *FilterChain
	for _, c := range all {
		if c.Covers(host) && (found == nil || Nearer(c.Name, found.Name)) {
			found = c
		}
	}
	return found
}

// ChainFor is the one of chains to which a client comes who asks for a name in TLS; nil
// where it is not let in.
func ChainFor(all []*FilterChain, name string) *FilterChain {
	return chainOf(all, strings.ToLower(name))
}

// Nearer reports whether a is the nearer of two names that both cover a host.
func Nearer(a, b string) bool {
	if wildA, wildB := strings.HasPrefix(a, "*"), strings.HasPrefix(b, "*"); a != "" && b != "" && wildA != wildB {
		return wildB
	}
	return len(a) > len(b)
}

// Covers reports whether clients that ask for a name come to the chain, if to no other
// one with a nearer name.
func (c *FilterChain) Covers(host string) bool { return c.Name == "" || api.HostCovers(c.Name, host) }

package lookup

import (
	"cmp"
	"fmt"
	"net/http"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/sim/wire"
)

// atTLS finds what a client comes to who speaks TLS at the port of e: who asks there for a
// name that nobody has is not let in, and who then asks for a host of another certificate
// is told so.
func (f *Found) atTLS(r *effective.Resolved, e *effective.Edge, q *wire.Request) error {
	c := effective.ChainFor(r.Chains(e), f.serverName)
	f.Outbound = nil
	switch {
	case c == nil:
		f.sendOn(nil)
		return nil
	case c.Connections:
		f.Chain = cmp.Or(c.Name, api.AnyHost)
		f.sendOn(c.To)
		return nil
	case f.Address.Scheme == wire.TCPScheme:
		return fmt.Errorf("url: the listener for %s looks for requests, which decide where they go; ask for one, as https://%s", cmp.Or(c.Name, api.AnyHost), f.Address.Authority)
	}
	host := wire.HostOf(f.Call.Authority)
	o := closest(c.Hosts, host)
	if misdirected(c, host, o) {
		f.end(nil, http.StatusMisdirectedRequest, wire.AnyDraw[0])
		return nil
	}
	if o == nil {
		f.end(nil, http.StatusNotFound, wire.AnyDraw[0])
		return nil
	}
	f.Outbound = o
	return f.requests(o, q)
}

// sendOn finds that a whole connection goes to o; without one it is closed.
func (f *Found) sendOn(o *effective.Outbound) {
	if f.Outbound = o; o != nil {
		f.Connections = o.TCP
	} else {
		f.Closed = true
	}
	f.end(nil, 0, wire.AnyDraw[0])
}

// misdirected reports whether a request for a host has come to the wrong chain, which has o
// for it, if anything.
func misdirected(c *effective.FilterChain, host string, o *effective.Outbound) bool {
	if c.Own {
		return o == nil
	}
	var mine string // the nearest name by which the host is the chain's
	switch {
	case o != nil:
		mine = o.Destination.Name
	case c.Covers(host):
		mine = c.Name
	}
	for _, name := range c.Others {
		if api.HostCovers(name, host) && mine != host && (name == host || len(name) > len(mine)) {
			return true
		}
	}
	return false
}

// closest is the outbound to a host; nil where none fits. A name goes before what stands
// for all names below another one, and the longer of those first.
func closest(list []*effective.Outbound, host string) *effective.Outbound {
	var found *effective.Outbound
	for _, x := range list {
		switch {
		case !api.HostCovers(x.Destination.Name, host):
		case x.Destination.Name == host:
			return x
		case found == nil || len(x.Destination.Name) > len(found.Destination.Name):
			found = x
		}
	}
	return found
}

// asked finds where connections to o go for the name that their clients ask for; nil where
// they are closed. What is for other names is missed.
func (f *Found) asked(o *effective.Outbound) *effective.TCPTable {
	if o.TCP == nil || len(o.TCP.ServerNames) == 0 {
		return o.TCP
	}
	to := o.TCP.For(f.serverName)
	said := "the client asks for no name in TLS"
	if f.serverName != "" {
		said = "the client asks for " + f.serverName + " in TLS"
	}
	for i := range o.TCP.ServerNames {
		s := &o.TCP.ServerNames[i]
		if s == to {
			break // they stand as they are tried
		}
		f.Missed = append(f.Missed, Miss{Origins: s.Origins, Reason: fmt.Sprintf("%s, and this is for %s", said, s.Name)})
	}
	if to == nil {
		return nil
	}
	f.Chain = to.Name
	return to.TCPTable
}

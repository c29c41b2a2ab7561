package sim

import (
	"fmt"
	"slices"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/redact"
	"github.com/weftmesh/weft/resolve/effective"
)

// bareScheme is that of a URL by which a connection is asked for, whatever it carries.
const bareScheme = "tcp"

// bare reports whether q asks for a connection and says nothing of what it carries.
func (q *Request) bare() bool {
	scheme, _, _ := strings.Cut(q.URL, "://")
	return strings.EqualFold(scheme, bareScheme)
}

// serverName is the name that the client of q asks for in TLS at a; empty where it names
// none, or speaks no TLS.
func (q *Request) serverName(a *address) (string, error) {
	switch {
	case q.SNI == "" && a.scheme == secureScheme && !a.isIP(): // clients name no addresses
		return a.host, nil
	case q.SNI == "":
		return "", nil
	case a.scheme != secureScheme && a.scheme != bareScheme:
		return "", fmt.Errorf("sni: a client that asks by %s:// speaks no TLS; write https:// or tcp://", a.scheme)
	}
	name := strings.ToLower(q.SNI)
	if api.ValidateHostname("sni", name) != nil {
		return "", fmt.Errorf("sni: %s is no name that a client asks for in TLS; write that of a host, as db.example.com", redact.Clip(q.SNI))
	}
	return name, nil
}

// asked finds where connections to o go for the name that their clients ask for; nil where
// they are closed. What is for other names is missed.
func (f *found) asked(o *effective.Outbound) *effective.TCPTable {
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
		f.missed = append(f.missed, Miss{Origins: s.Origins, Reason: fmt.Sprintf("%s, and this is for %s", said, s.Name)})
	}
	if to == nil {
		return nil
	}
	f.chain = to.Name
	return to.TCPTable
}

// connect sends a connection to where whole connections go, and with it the
// request f, if it carries one.
func (t trace) connect(l *lookup, f *Forwarded) Branch {
	o := l.outbound
	b := Branch{Probability: 1, Outcome: Close, Policies: PolicyViews(o.Policies, o.Protocol())}
	if l.connections == nil {
		return b
	}
	b.Reason = weightless(l.connections.Backends)
	b.Policies = ConnectionPolicies(t.from, o, l.connections.Backends)
	b.Backends = closing(t.backends(l.connections.Backends))
	tellOnward(b.Backends, Onward(t.from, o.Policies, l.connections.Backends, o.Protocol()))
	for n := range b.Backends {
		for k := range b.Backends[n].Inbounds {
			in := &b.Backends[n].Inbounds[k]
			if in.carried(f); in.denied() {
				in.keepOut(false)
			}
		}
	}
	if len(l.connections.Origins) > 0 {
		b.Route = &Route{Origins: l.connections.Origins, ServerName: l.chain}
	}
	if slices.ContainsFunc(b.Backends, func(x Backend) bool { return x.Outcome != Close }) {
		b.Outcome, b.Forwarded = Forward, f
	}
	return b
}

// carried judges a connection, or the request that it carries where the called side reads it.
func (in *Inbound) carried(f *Forwarded) {
	if f == nil || !in.reads() {
		in.judge(nil)
		return
	}
	in.judge(f)
}

// Connections are the exact parts of the connections that backends get.
func Connections(r *effective.Resolved, t *effective.TCPTable) []Backend {
	return closing(Shares(r, t.Backends))
}

// closing says what becomes of the shares of a table of connections that nobody
// can take: there is no status to answer with.
func closing(list []Backend) []Backend {
	for i := range list {
		if x := &list[i]; x.Reason != "" {
			x.Status, x.Outcome = 0, Close
		}
	}
	return list
}

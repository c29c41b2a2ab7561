package route

import "github.com/weftmesh/weft/api"

// Listener is where edge dataplanes serve the hosts that Hostname covers: a port, which
// several listeners may share.
type Listener struct {
	Port     uint32
	Hostname string // a name, or *. and one for all below it; empty covers all
	// TLS is what clients see who speak TLS; nil where they do not.
	TLS *ServerTLS
	// Connections says that whole connections go on there, in which nobody looks for
	// requests. With TLS they go by the name for which clients ask, and go on as they are
	// where it has no Secrets; without it Hostname is empty.
	Connections bool
	// Closed says that nobody is let in: connections for the hosts are refused, and go
	// to no other listener.
	Closed bool
}

// Covers reports whether the listener serves a host, of all hosts below it where its
// name begins with *.
func (l *Listener) Covers(host string) bool {
	return l.Hostname == "" || api.HostCovers(l.Hostname, host)
}

// ServerTLS is what a server shows to its clients.
type ServerTLS struct {
	// Secrets hold the certificates, of which each client sees one that fits the name it
	// asks for; none where the hosts bring their own.
	Secrets []api.Ref
	// Minimum and Maximum are the oldest and the newest version of TLS: 1.2, 1.3, or
	// empty for all that weft speaks, which are these two.
	Minimum, Maximum string
}

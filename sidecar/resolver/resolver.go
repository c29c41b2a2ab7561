// Package resolver answers DNS beside a workload: names that only the mesh knows itself,
// all others by the nameservers of the host (spec/kubernetes.md 3.11).
//
// It promises that questions about other names reach the nameservers unchanged, by UDP
// and TCP, that no name of the mesh hides one that they know by the search domains of a
// client, and that a flood of questions costs bounded memory: what is too much is refused.
// It keeps no answers; search domains are the client's to try.
package resolver

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/miekg/dns"
	"golang.org/x/net/netutil"
)

const (
	ttl      = 30              // seconds that a name of the mesh may be kept
	patience = 2 * time.Second // for each nameserver
	// mostForwarded bounds the questions that wait for nameservers at one time.
	mostForwarded = 512
	// mostConnections bounds those of clients by TCP at one time, at each address.
	mostConnections = 256
	// largestDatagram is what answers by UDP may have at most, whatever a client says, in
	// bytes: what is larger comes by TCP.
	largestDatagram = 4096
)

// Upstream is who else answers, as a resolv.conf says it.
type Upstream struct {
	Servers []string // HOST:PORT, in the order in which they are asked
	// Search are the domains that clients append to a name, in order and in lower case,
	// without a final dot.
	Search []string
	// cluster is the domain of the Kubernetes cluster that clients are in, all of which its
	// own DNS answers; empty elsewhere.
	cluster string
}

// ReadUpstream reads a resolv.conf.
func ReadUpstream(file string) (Upstream, error) {
	c, err := dns.ClientConfigFromFile(file)
	if err != nil {
		return Upstream{}, fmt.Errorf("read the nameservers: %w", err)
	}
	var u Upstream
	for _, s := range c.Servers {
		u.Servers = append(u.Servers, net.JoinHostPort(s, c.Port))
	}
	for _, s := range c.Search {
		if s = canonical(s); s != "" && !slices.Contains(u.Search, s) {
			u.Search = append(u.Search, s)
		}
	}
	u.cluster = clusterIn(u.Search)
	return u, nil
}

// clusterIn is the domain of the cluster by a search list: a kubelet writes
// NAMESPACE.svc.DOMAIN, svc.DOMAIN and DOMAIN. It is empty elsewhere.
func clusterIn(search []string) string {
	for i, s := range search {
		domain, ok := strings.CutPrefix(s, "svc.")
		if ok && i > 0 && i+1 < len(search) && strings.HasSuffix(search[i-1], "."+s) && search[i+1] == domain {
			return domain
		}
	}
	return ""
}

// Resolver answers at one or several addresses.
type Resolver struct {
	upstream Upstream
	names    atomic.Pointer[NameTable]
	forwards chan struct{} // a token for each question that waits for nameservers
	own      sockets
	// listeners are one for UDP and one for TCP at each address.
	listeners []*dns.Server
}

// Listen takes addresses for UDP and TCP; port 0 is any.
func Listen(addresses []string, upstream Upstream) (*Resolver, error) {
	r := &Resolver{upstream: upstream, forwards: make(chan struct{}, mostForwarded)}
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
		&dns.Server{Listener: netutil.LimitListener(l, mostConnections), Handler: h, MaxTCPQueries: 128, IdleTimeout: func() time.Duration { return 8 * time.Second }})
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
func (r *Resolver) SetNames(n NameTable) { r.names.Store(&n) }

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

package resolver

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
)

// resolvConf names the nameservers of this host or pod.
const resolvConf = "/etc/resolv.conf"

// Beside is the resolver of weft sidecar --dns, which only this host reaches, with the nameservers of this host;
// nil for no address. Its error is for who gave the flag.
func Beside(address string) (*Resolver, error) {
	if address == "" {
		return nil, nil
	}
	at, err := loopbackFor(address)
	if err != nil {
		return nil, err
	}
	upstream, err := ReadUpstream(resolvConf)
	if err != nil {
		return nil, err
	}
	upstream.Servers = slices.DeleteFunc(upstream.Servers, func(s string) bool { return slices.Contains(at, s) }) // it would ask itself
	if len(upstream.Servers) == 0 {
		return nil, fmt.Errorf("--dns %s: %s names no other nameserver, so that no name but those of the mesh would be resolved; use another port, or name one there", address, resolvConf)
	}
	return Listen(at, upstream)
}

// loopbackFor are the addresses that --dns means: localhost is that of each family that this
// host has.
func loopbackFor(address string) ([]string, error) {
	if host, port, err := net.SplitHostPort(address); err == nil && host == "localhost" {
		all := []string{net.JoinHostPort("127.0.0.1", port)}
		if l, err := net.Listen("tcp", "[::1]:0"); err == nil {
			_ = l.Close() // it only asked whether there is IPv6
			all = append(all, net.JoinHostPort("::1", port))
		}
		return all, nil
	}
	at, err := netip.ParseAddrPort(address)
	if err != nil || !at.Addr().IsLoopback() {
		return nil, fmt.Errorf("--dns %s is no loopback address; write localhost:15053, 127.0.0.1:15053 or [::1]:15053", address)
	}
	return []string{at.String()}, nil
}

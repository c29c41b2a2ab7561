package skipper

import (
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/go-multierror"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/redact"
	"github.com/weftmesh/weft/route"
)

// addressAt is an address at its place in the document.
type addressAt struct {
	route.Address
	tls bool
	at  api.Path
}

// readAddress reads scheme, host and port alone.
func readAddress(at api.Path, text string) (addressAt, error) {
	if text == "" {
		return addressAt{}, refused(at, invalidSpec, "address missing; write one such as https://api.example.org")
	}
	wrong := refused(at, invalidSpec, "%q is no address of a backend; write scheme, host and port alone, as https://api.example.org:8443", redact.Clip(text))
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.Scheme+"://"+u.Host != text {
		return addressAt{}, wrong
	}
	out := addressAt{route.Address{Host: u.Hostname(), Port: 80}, u.Scheme == "https", at}
	if out.tls {
		out.Port = 443
	}
	if ip, err := netip.ParseAddr(out.Host); err == nil {
		if out.Host = ip.Unmap().String(); ip.Zone() != "" {
			return addressAt{}, wrong
		}
	} else if last := out.Host[strings.LastIndexByte(out.Host, '.')+1:]; api.ValidateHostname(at, out.Host) != nil || strings.Trim(last, "0123456789") == "" || strings.HasPrefix(last, "0x") {
		// what ends in a number is an address to some resolvers
		return addressAt{}, wrong
	}
	if port := u.Port(); port != "" || strings.HasSuffix(u.Host, ":") {
		n, err := strconv.ParseUint(port, 10, 16)
		if err != nil || n == 0 {
			return addressAt{}, wrong
		}
		out.Port = uint32(n)
	}
	return out, nil
}

// readOutside reads the addresses of a backend of type network or lb.
func (b *backendAt) readOutside() ([]addressAt, error) {
	if b.kind() == network {
		a, err := readAddress(b.at.Field("address"), b.Address)
		return []addressAt{a}, err
	}
	var errs *multierror.Error
	if len(b.Endpoints) == 0 {
		return nil, refused(b.at.Field("endpoints"), invalidSpec, "missing LB endpoints; write at least one URL")
	}
	var out []addressAt
	for i, text := range b.Endpoints {
		at := b.at.Field("endpoints").Index(i)
		a, err := readAddress(at, text)
		switch {
		case err != nil:
			errs = multierror.Append(errs, err)
			continue
		case slices.ContainsFunc(out, func(x addressAt) bool { return x.Address == a.Address }):
			errs = multierror.Append(errs, refused(at, invalidSpec, "duplicate endpoint %s; write it once", redact.Clip(text)))
		case len(out) > 0 && out[0].tls != a.tls:
			errs = multierror.Append(errs, refused(at, unsupportedBackend, "weft calls the endpoints of a backend all by http or all by https; the RouteGroup is not applied: write a backend for each scheme, and give them weights"))
		}
		out = append(out, a)
	}
	return out, errs.ErrorOrNil()
}

// toAddresses is a ref to addresses that were read.
func toAddresses(list []addressAt) route.BackendRef {
	out := &route.Outside{}
	for _, a := range list {
		out.TLS, out.Addresses = a.tls, append(out.Addresses, a.Address)
	}
	return route.ToOutside(out)
}

// Addresses are the hosts that backends may be at. The zero value is all but loopback and
// link-local addresses and those at which clouds serve the credentials of a machine. A
// name leads where the proxy's resolver says, which nobody here can see.
type Addresses struct {
	given    bool
	names    []string // or *. and a name; * is any host
	prefixes []netip.Prefix
}

// noAddress is the word for a list of none.
const noAddress = "none"

// ParseAddresses reads hosts: names, *.names, IP addresses and prefixes, * for any, or
// none.
func ParseAddresses(list []string) (Addresses, error) {
	out := Addresses{given: len(list) > 0}
	for _, text := range list {
		ip, isIP := netip.ParseAddr(text)
		prefix, isPrefix := netip.ParsePrefix(text)
		switch {
		case text == noAddress && len(list) == 1:
		case text == noAddress:
			return out, fmt.Errorf("%s stands beside other hosts; write it alone, or leave it out", noAddress)
		case text == api.AnyHost || api.ValidateHostname("", strings.TrimPrefix(text, "*.")) == nil && isIP != nil:
			out.names = append(out.names, text)
		case isIP == nil:
			out.prefixes = append(out.prefixes, netip.PrefixFrom(ip.Unmap(), ip.Unmap().BitLen()))
		case isPrefix == nil && prefix.Addr().Is4In6():
			return out, fmt.Errorf("%q is a prefix of IPv4 written as IPv6; write it as IPv4, such as 10.0.0.0/8", redact.Clip(text))
		case isPrefix == nil:
			out.prefixes = append(out.prefixes, prefix)
		default:
			return out, fmt.Errorf("%q is no host; write a name, *. and a name, an IP address, a prefix such as 10.0.0.0/8, * or none", redact.Clip(text))
		}
	}
	return out, nil
}

// refuse says why host may not be named; empty where it may.
func (a Addresses) refuse(host string) string {
	ip, err := netip.ParseAddr(host)
	switch {
	case a.given && (slices.ContainsFunc(a.names, func(n string) bool { return n == api.AnyHost || api.HostCovers(n, host) }) ||
		slices.ContainsFunc(a.prefixes, func(p netip.Prefix) bool { return err == nil && p.Contains(ip) })):
		return ""
	case a.given:
		return host + " is none of the hosts that backends may be at here"
	case slices.Contains(loopbackNames, host) || strings.HasSuffix(host, ".localhost") || err == nil && (ip.IsLoopback() || ip.IsUnspecified()):
		return host + " is the proxy's own loopback address, which would expose Envoy's administration port"
	case err == nil && (ip.IsLinkLocalUnicast() || ip.IsMulticast() || ip.IsLinkLocalMulticast()):
		return host + " is a link-local or multicast address, which leads elsewhere on every machine"
	case err == nil && slices.Contains(metadata, ip):
		return host + " is where a cloud serves metadata, with credentials of the machine"
	}
	return ""
}

// loopbackNames are what files of hosts call loopback addresses.
var loopbackNames = []string{"localhost", "ip6-localhost", "ip6-loopback"}

// metadata are the addresses at which clouds serve metadata, where they are not link-local:
// of Alibaba Cloud, AWS and Azure.
var metadata = []netip.Addr{netip.MustParseAddr("100.100.100.200"), netip.MustParseAddr("fd00:ec2::254"), netip.MustParseAddr("168.63.129.16")}

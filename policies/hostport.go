package policies

import (
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/redact"
)

// HostPort reads host:port, or a host alone where there is a usual port, which is 0 for none. A host is an IP address or
// a DNS name. The error says what is wrong, and nothing of what to do.
func HostPort(text string, usual uint32) (host string, port uint32, err error) {
	switch {
	case text == "":
		return "", 0, errors.New("is empty")
	case strings.Contains(text, "://"):
		return "", 0, fmt.Errorf("%q has a scheme", redact.Clip(text))
	}
	host, number, hasPort := text, "", false
	if a, err := netip.ParseAddrPort(text); err == nil {
		host, number, hasPort = a.Addr().String(), strconv.Itoa(int(a.Port())), true
	} else if a, err := netip.ParseAddr(strings.Trim(text, "[]")); err == nil {
		host = a.String()
	} else if i := strings.LastIndexByte(text, ':'); i >= 0 {
		host, number, hasPort = text[:i], text[i+1:], true
	}
	switch {
	case !SoundHost(host) || !hasPort && usual == 0:
		return "", 0, fmt.Errorf("%q is no host with a port", redact.Clip(text))
	case !hasPort:
		return host, usual, nil
	}
	n, err := strconv.ParseUint(number, 10, 16)
	if err != nil || n == 0 {
		return "", 0, fmt.Errorf("%q has no port from 1 to 65535", redact.Clip(text))
	}
	return host, uint32(n), nil
}

// SoundHost reports whether something is an IP address or a DNS name.
func SoundHost(host string) bool {
	if _, err := netip.ParseAddr(host); err == nil {
		return true
	}
	return host != "" && api.ValidateHostname("", strings.ToLower(host)) == nil
}

// CheckCollector reports what is wrong with a block that names a collector, by its endpoint, nil for none, or by a
// ref.
func CheckCollector(f *Findings, at api.Path, endpoint *string, ref *CollectorRef) {
	switch {
	case endpoint == nil && ref == nil:
		f.Breaks(at, "names no collector; write backendRef")
	case endpoint != nil && ref != nil:
		f.Breaks(at.Field("endpoint"), "cannot stand beside backendRef, which replaces it; remove it")
	}
	if endpoint != nil {
		if _, _, err := HostPort(*endpoint, api.CollectorPort); err != nil {
			f.Breaks(at.Field("endpoint"), "%v; write host:port of the collector, as otel:4317, without a scheme", err)
		}
	}
	if ref != nil {
		ref.Check(f, at.Field("backendRef"))
	}
}

// Collector is where such a block sends to; not ok where that is not known.
func Collector(endpoint *string, ref *CollectorRef) (host string, port uint32, ok bool) {
	switch {
	case ref != nil && ref.To != nil:
		return ref.To.Address, ref.To.Port, true
	case ref != nil || endpoint == nil:
		return "", 0, false
	}
	host, port, err := HostPort(*endpoint, api.CollectorPort) // what was stored before it was checked has no host
	return host, port, err == nil
}

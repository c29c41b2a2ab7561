package intercept

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/go-multierror"
)

const (
	flagUIDs = "exclude-outbound-ports-for-uids"
	dns      = 53
)

// The protocols of a UIDPorts; none is both.
const (
	TCP = "tcp"
	UDP = "udp"
)

// PortRange is one port, or all from First to Last.
type PortRange struct{ First, Last uint16 }

// Ports are sorted, with a port between any two.
type Ports []PortRange

// Prefixes are addresses and prefixes of either family, without bits behind their length.
type Prefixes []netip.Prefix

// UIDRange is one user id, or all from First to Last.
type UIDRange struct{ First, Last uint32 }

// UIDPorts are ports that some users call directly: [[tcp|udp:]ports:]uids
// (spec/kubernetes.md 4.5), where no ports, or *, are all.
type UIDPorts struct {
	Protocol string
	Ports    Ports
	UIDs     UIDRange
}

// ParsePorts reads numbers and ranges by comma, such as 80,8000-8100. The error holds
// one for each entry that is wrong.
func ParsePorts(text string) (Ports, error) {
	var out Ports
	err := each(text, ",", func(entry string) error {
		first, last, ok := parseRange(entry, 16)
		if !ok || first == 0 {
			return fmt.Errorf("%q is no port; write numbers and ranges from 1 to 65535 by comma, such as 80,8000-8100", entry)
		}
		out = append(out, PortRange{uint16(first), uint16(last)})
		return nil
	})
	return out.normal(), err
}

// normal is p in order, with what overlaps or follows on as one, as nft lists it.
func (p Ports) normal() Ports {
	p = slices.Clone(p)
	slices.SortFunc(p, func(a, b PortRange) int { return cmp.Or(cmp.Compare(a.First, b.First), cmp.Compare(a.Last, b.Last)) })
	var out Ports
	for _, r := range p {
		if n := len(out); n > 0 && int(r.First) <= int(out[n-1].Last)+1 {
			out[n-1].Last = max(out[n-1].Last, r.Last)
			continue
		}
		out = append(out, r)
	}
	return out
}

func (p Ports) cover(port uint16) bool {
	return len(p) == 0 || slices.ContainsFunc(p, func(r PortRange) bool { return r.First <= port && port <= r.Last })
}

// ParsePrefixes reads addresses and prefixes by comma, such as 10.0.0.0/8,fd00::1.
func ParsePrefixes(text string) (Prefixes, error) {
	var out Prefixes
	err := each(text, ",", func(entry string) error {
		p, err := netip.ParsePrefix(entry)
		if ip, alone := netip.ParseAddr(entry); alone == nil && ip.Zone() == "" {
			p, err = netip.PrefixFrom(ip, ip.BitLen()), nil
		}
		if err != nil || p.Addr().Is4In6() {
			return fmt.Errorf("%q is no address; write addresses and prefixes by comma, such as 10.0.0.0/8,fd00::1", entry)
		}
		out = append(out, p.Masked())
		return nil
	})
	return out, err
}

// ParseAddrs reads addresses by comma, such as 10.0.0.10,fd00::a.
func ParseAddrs(text string) ([]netip.Addr, error) {
	var out []netip.Addr
	err := each(text, ",", func(entry string) error {
		ip, err := netip.ParseAddr(entry)
		if err != nil || ip.Zone() != "" || ip.Is4In6() {
			return fmt.Errorf("%q is no address; write addresses by comma, such as 10.0.0.10,fd00::a", entry)
		}
		out = append(out, ip)
		return nil
	})
	return out, err
}

// ParseUIDPorts reads [[tcp|udp:]ports:]uids by semicolon, such as tcp:22,80:1000-1999;0.
func ParseUIDPorts(text string) ([]UIDPorts, error) {
	var out []UIDPorts
	err := each(text, ";", func(entry string) error {
		parts := strings.Split(entry, ":")
		u := UIDPorts{}
		if len(parts) == 3 && (parts[0] == TCP || parts[0] == UDP) {
			u.Protocol, parts = parts[0], parts[1:]
		}
		if len(parts) > 2 {
			return fmt.Errorf("%q is no [[tcp|udp:]ports:]uids; write entries by semicolon, such as tcp:22,80:1000-1999", entry)
		}
		first, last, ok := parseRange(parts[len(parts)-1], 32)
		if !ok || last == 1<<32-1 { // the kernel's word for nobody
			return fmt.Errorf("%q does not end with a user; write one id or one range of them, not a list or *", entry)
		}
		u.UIDs = UIDRange{uint32(first), uint32(last)}
		if len(parts) == 2 && parts[0] != "*" {
			ports, err := ParsePorts(parts[0])
			if err != nil || len(ports) == 0 {
				return fmt.Errorf("%q: %q are no ports; write * or numbers and ranges by comma", entry, parts[0])
			}
			u.Ports = ports
		}
		out = append(out, u)
		return nil
	})
	return out, err
}

// each gives f the entries of a list. An empty list has none; an empty entry is one.
func each(text, sep string, f func(entry string) error) error {
	if strings.TrimSpace(text) == "" {
		return nil
	}
	var errs *multierror.Error
	for entry := range strings.SplitSeq(text, sep) {
		if err := f(strings.TrimSpace(entry)); err != nil {
			errs = multierror.Append(errs, err)
		}
	}
	return errs.ErrorOrNil()
}

// parseRange reads N or N-M with N <= M.
func parseRange(text string, bits int) (first, last uint64, ok bool) {
	from, to, two := strings.Cut(text, "-")
	if !two {
		to = from
	}
	first, err := strconv.ParseUint(from, 10, bits)
	last, err2 := strconv.ParseUint(to, 10, bits)
	return first, last, err == nil && err2 == nil && first <= last
}

func number[N ~uint16 | ~uint32](n N) string { return strconv.FormatUint(uint64(n), 10) }

func span[N ~uint16 | ~uint32](first, last N, dash string) string {
	if first == last {
		return number(first)
	}
	return number(first) + dash + number(last)
}

func (r PortRange) String() string { return span(r.First, r.Last, "-") }
func (p Ports) String() string     { return joined(p, ",") }
func (r UIDRange) String() string  { return span(r.First, r.Last, "-") }

// String is what ParseUIDPorts reads.
func (u UIDPorts) String() string {
	ports := u.Ports.String()
	if ports == "" {
		ports = "*"
	}
	if u.Protocol != "" {
		ports = u.Protocol + ":" + ports
	}
	return ports + ":" + u.UIDs.String()
}

// MarshalJSON is a list of texts such as "80" and "8000-8100".
func (p Ports) MarshalJSON() ([]byte, error) {
	out := []string{}
	for _, r := range p {
		out = append(out, r.String())
	}
	return json.Marshal(out)
}

// UnmarshalJSON reads a list of texts, each a prefix or a single address.
func (p *Prefixes) UnmarshalJSON(text []byte) error {
	return fromList(text, ParsePrefixes, p)
}

// fromList reads a JSON list of texts as its entries by comma.
func fromList[T any](text []byte, parse func(string) (T, error), to *T) error {
	var list []string
	if err := json.Unmarshal(text, &list); err != nil {
		return err
	}
	read, err := parse(strings.Join(list, ","))
	*to = read
	return err
}

// UnmarshalJSON reads what MarshalJSON writes.
func (p *Ports) UnmarshalJSON(text []byte) error {
	return fromList(text, ParsePorts, p)
}

// MarshalText is what String says.
func (u UIDPorts) MarshalText() ([]byte, error) { return []byte(u.String()), nil }

// UnmarshalText reads what MarshalText writes.
func (u *UIDPorts) UnmarshalText(text []byte) error {
	read, err := ParseUIDPorts(string(text))
	if err == nil && len(read) != 1 {
		err = fmt.Errorf("%q is not one entry", text)
	}
	if err == nil {
		*u = read[0]
	}
	return err
}

func sortFaults(errs []error) {
	slices.SortStableFunc(errs, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
}

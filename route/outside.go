package route

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/weftmesh/weft/api"
)

// Outside are addresses that a route itself sends to: no document is their name. All of
// them are spoken to in HTTP/1.1, by TLS or without.
type Outside struct {
	TLS       bool
	Addresses []Address // each once
}

// Address is where one of them is.
type Address struct {
	Host string // a name or an IP address
	Port uint32
}

// namedAddresses is how many addresses a name shows.
const namedAddresses = 3

// Name is the same for the same addresses, whoever writes them, and another for others.
func (o *Outside) Name() string {
	var list []string
	for _, a := range o.Addresses {
		list = append(list, a.Authority(o.TLS))
	}
	slices.Sort(list)
	name := o.scheme() + "://" + strings.Join(list[:min(len(list), namedAddresses)], ",")
	if more := len(list) - namedAddresses; more > 0 {
		h := sha256.Sum256([]byte(strings.Join(list, ",")))
		name += fmt.Sprintf("+%d-%s", more, hex.EncodeToString(h[:8]))
	}
	return name
}

func (o *Outside) scheme() string {
	if o.TLS {
		return "https"
	}
	return "http"
}

// URL is the address as documents write it.
func (o *Outside) URL(a Address) string { return o.scheme() + "://" + a.Authority(o.TLS) }

// Authority is what a client of the address calls it: with the port, if that is not the
// usual one of its scheme.
func (a Address) Authority(tls bool) string {
	if tls && a.Port == 443 || !tls && a.Port == 80 {
		if strings.Contains(a.Host, ":") {
			return "[" + a.Host + "]"
		}
		return a.Host
	}
	return net.JoinHostPort(a.Host, strconv.FormatUint(uint64(a.Port), 10))
}

// ToOutside is a ref to addresses.
func ToOutside(o *Outside) BackendRef {
	return BackendRef{Target: api.TargetRef{Kind: api.KindAddress, Name: o.Name()}, Outside: o}
}

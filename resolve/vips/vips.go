// Package vips gives services that have no address of their own virtual addresses
// (spec/kubernetes.md 3.8).
//
// An address follows from who the service is, by a hash, so that every replica and every
// offline command gives the same one without asking anybody. A pool is divided into blocks
// of 254 addresses, and whose hashes meet are told apart within their block: the coming or
// going of a service moves only those that met it. It refuses to know documents, and to
// keep anything: what is stored is told to it.
package vips

import (
	"cmp"
	"encoding/binary"
	"hash/fnv"
	"net/netip"
	"slices"

	"github.com/weftmesh/weft/api"
)

// Rounds is how often a service tries another block where all addresses of one are given
// away; after that it has none.
const Rounds = 2

// positions are the addresses of a block that are given away: neither the first nor the
// last, which some take for those of a network.
const positions = 254

// Classic is, in place of a kind, that of services which the tag kuma.io/service alone names.
const Classic = "kuma.io/service"

// pools are the first octets, by kind (spec/kuma.md 1.5).
var pools = map[string]byte{
	Classic:                      240,
	api.KindMeshService:          241,
	api.KindMeshExternalService:  242,
	api.KindMeshMultiZoneService: 243,
}

// twins is the network of the IPv6 addresses that belong to those of the pools.
var twins = netip.MustParsePrefix("fd77:6566:74::/96")

// Any is an address that nobody is given: calls to it are for a host of which somebody knows
// the name alone.
var Any = netip.AddrFrom4([4]byte{241, 255, 255, 255})

// Pooled reports whether an address is one of those that services are given.
func Pooled(a netip.Addr) bool {
	if !a.Is4() {
		return twins.Contains(a)
	}
	first := a.As4()[0]
	return first >= 240 && first <= 243
}

// Twin is the IPv6 address that belongs to one of a pool.
func Twin(a netip.Addr) netip.Addr {
	v6, v4 := twins.Addr().As16(), a.As4()
	copy(v6[12:], v4[:])
	return netip.AddrFrom16(v6)
}

// Block names the addresses that begin as an IPv4 address does.
type Block [3]byte

// BlockOf is the block of an IPv4 address.
func BlockOf(a netip.Addr) Block {
	b := a.As4()
	return Block(b[:3])
}

// String is the block as a key of a collection.
func (b Block) String() string { return string(b[:]) }

// AddressRequest is a service that needs an address.
type AddressRequest struct {
	Key  string // unique, and the order between those whose hashes meet
	Kind string
	KRI  string
}

// Wants is the block and the position in it at which a service looks for an address first,
// in a round; false of a kind that has no pool.
func (r AddressRequest) Wants(round int) (b Block, first int, ok bool) {
	pool, ok := pools[r.Kind]
	if !ok {
		return Block{}, 0, false
	}
	h := fnv.New64a()
	h.Write([]byte(r.KRI))
	h.Write([]byte{byte(round)})
	sum := binary.BigEndian.AppendUint64(nil, h.Sum64())
	return Block{pool, sum[0] ^ sum[2], sum[1] ^ sum[3]}, int(binary.BigEndian.Uint32(sum[4:])%positions) + 1, true
}

// Assignment are the addresses of one block, by the keys of requests.
type Assignment struct {
	At         map[string]netip.Addr
	Unassigned []AddressRequest // for whom there was no room, by key
}

// Assign gives the addresses of the requests' block away that are not taken: to each the one
// that its hash says, and where several want one the next that is free, after those who have
// it by their hash. The order of requests does not matter.
func Assign(block Block, requests []AddressRequest, round int, taken func(netip.Addr) bool) *Assignment {
	out := &Assignment{At: make(map[string]netip.Addr, len(requests))}
	requests = slices.Clone(requests)
	slices.SortFunc(requests, func(a, b AddressRequest) int { return cmp.Compare(a.Key, b.Key) })
	full := map[int]bool{}
	take := func(r AddressRequest, position int) bool {
		at := netip.AddrFrom4([4]byte{block[0], block[1], block[2], byte(position)})
		if full[position] || taken(at) {
			return false
		}
		full[position], out.At[r.Key] = true, at
		return true
	}
	var later []AddressRequest
	for _, r := range requests {
		if _, first, _ := r.Wants(round); !take(r, first) {
			later = append(later, r)
		}
	}
	for _, r := range later {
		_, first, _ := r.Wants(round)
		n := 1
		for n < positions && !take(r, (first-1+n)%positions+1) {
			n++
		}
		if n == positions {
			out.Unassigned = append(out.Unassigned, r)
		}
	}
	return out
}

package resolve

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/route"
)

// variant is what tells the clusters of one destination apart: those who answer, and
// how they share what comes.
type variant struct {
	tags    map[string]string // of a subset; nil is all
	balance route.Balance
}

// clusterName is the destination id, for a subset a hash of its tags with the
// service's own (spec/kuma.md 6): the first 8 bytes of SHA-256 over keys and values;
// and the balance, if it is another than that which every cluster has unasked.
func (v variant) clusterName(d *Destination) string {
	name := d.ID
	if len(v.tags) > 0 {
		all := maps.Clone(v.tags)
		all[api.TagService] = d.Name
		h := sha256.New()
		for _, k := range slices.Sorted(maps.Keys(all)) {
			h.Write([]byte(k + all[k]))
		}
		name += "-" + hex.EncodeToString(h.Sum(nil)[:8])
	}
	if v.balance != (route.Balance{}) {
		name += "~" + strings.ReplaceAll(v.balance.Algorithm.String(), " ", "-")
	}
	if v.balance.Bound > 0 {
		name += fmt.Sprintf("-%d", v.balance.Bound)
	}
	return name
}

// of adds the variant to a key, and cutVariant takes it off.
func (v variant) of(key string) string {
	if len(v.tags) > 0 {
		var list []string
		for k, value := range v.tags {
			list = append(list, k+"\x02"+value)
		}
		slices.Sort(list)
		key += "\x00\x01" + strings.Join(list, "\x03")
	}
	if v.balance != (route.Balance{}) {
		key += fmt.Sprintf("\x00\x04%d\x04%d", v.balance.Algorithm, v.balance.Bound)
	}
	return key
}

func cutVariant(key string) (string, variant) {
	var v variant
	key, balance, _ := strings.Cut(key, "\x00\x04")
	if algorithm, bound, ok := strings.Cut(balance, "\x04"); ok {
		v.balance = route.Balance{Algorithm: route.Algorithm(number(algorithm)), Bound: number(bound)}
	}
	key, text, ok := strings.Cut(key, "\x00\x01")
	if !ok {
		return key, v
	}
	v.tags = map[string]string{}
	for _, t := range strings.Split(text, "\x03") {
		k, value, _ := strings.Cut(t, "\x02")
		v.tags[k] = value
	}
	return key, v
}

// number is one that variant.of has written.
func number(text string) uint32 {
	n, _ := strconv.ParseUint(text, 10, 32)
	return uint32(n)
}

package callers

import (
	"bufio"
	"io"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/weftmesh/weft/sidecar/attach"
)

// Query is the question to Envoy's administration interface whose answer Count reads.
const Query = `stats?filter=%5E(http%7Ctcp)%5C.inbound_.*%5C.downstream_cx_(active%7Ctotal)$`

// counter is a statistic of an inbound, by chain: none is that of an inbound without mutual TLS, whose
// connections may live on beside it.
var counter = regexp.MustCompile(`^(?:http|tcp)\.inbound_(.+?)(\.mtls|\.plain|\.own)?\.downstream_cx_(active|total): ([0-9]+)$`)

// Count reads the connections of all inbounds, at most attach.MostInbounds.
func Count(stats io.Reader) ([]*attach.Inbound, error) {
	found := map[string]*attach.Inbound{}
	lines := bufio.NewScanner(stats)
	for lines.Scan() {
		part := counter.FindStringSubmatch(strings.TrimSpace(lines.Text()))
		if part == nil {
			continue
		}
		n, err := strconv.ParseUint(part[4], 10, 64)
		if err != nil {
			continue // more than Envoy counts
		}
		i := found[part[1]]
		if i == nil {
			if len(found) == attach.MostInbounds {
				continue
			}
			i = &attach.Inbound{Address: part[1]}
			found[part[1]] = i
		}
		switch plain, total := part[2] != ".mtls", part[3] == "total"; {
		case plain && total:
			i.PlainTotal += n
		case plain:
			i.Plain += n
		case total:
			i.TlsTotal += n
		default:
			i.Tls += n
		}
	}
	var out []*attach.Inbound
	for _, address := range slices.Sorted(maps.Keys(found)) {
		out = append(out, found[address])
	}
	return out, lines.Err()
}

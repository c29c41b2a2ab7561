package differential

import (
	"fmt"
	"net/http"
	"net/netip"
	"strings"

	"github.com/weftmesh/weft/internal/envoytest"
	"github.com/weftmesh/weft/sim"
	"github.com/weftmesh/weft/sim/wire"
)

// connection holds what becomes of a connection, and of the request in it, that nobody
// reads: it comes as it is to one of the backends, or where it was going, or is closed.
func (f *storyFleet) connection(p Pair, at netip.AddrPort, v *sim.Verdict) string {
	b, id := &v.Branches[0], fmt.Sprintf("%08d", asked.Add(1))
	read := b.Forwarded
	if rest, ok := strings.CutPrefix(p.Request.URL, "tcp://"); ok { // something must be said
		p.Request.Method, p.Request.URL = http.MethodGet, "http://"+rest
		read = &wire.Forwarded{Method: http.MethodGet, Authority: rest, Path: "/"}
	}
	o, err := f.send(at, p, id)
	if err != nil {
		return "ask: " + err.Error()
	}
	if len(o.Attempts) == 1 {
		if c := o.Attempts[0]; read == nil || c.Method != read.Method || c.Authority != read.Authority || c.Path != read.Path {
			return fmt.Sprintf("sim %+v, the workload got %+v", read, c.Seen)
		}
	}
	q := asWire(p, id)
	q.Alone = true
	q.Lines = append(q.Lines, envoytest.Line{Name: envoytest.CountHeader, Value: "connections"})
	return fractions(connectionEnds(b), func(n int, got map[string]int) error {
		return envoytest.Flood(at.String(), q, n, func(r *http.Response) {
			if r == nil {
				got[closed]++
			} else {
				got[r.Header.Get(envoytest.NameHeader)]++
			}
		})
	})
}

// closed is the end of a connection that nobody takes.
const closed = "closed"

// connectionEnds are the fractions of connections by who gets them.
func connectionEnds(b *sim.Branch) map[string]float64 {
	if b.Outcome == sim.Passthrough {
		return map[string]float64{elsewhere: 1}
	}
	if b.Outcome != sim.Forward {
		return map[string]float64{closed: 1}
	}
	ends := map[string]float64{}
	for _, x := range b.Backends {
		switch {
		case x.Share == 0:
		case x.Outcome == sim.Close:
			ends[closed] += x.Share
		case len(x.Inbounds) == 0: // of no dataplane
			ends[x.Name] += x.Share
		default:
			ends[x.Inbounds[0].Names[0]] += x.Share
		}
	}
	return ends
}

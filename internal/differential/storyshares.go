package differential

import (
	"cmp"
	"fmt"
	"math"
	"net/http"
	"net/netip"

	"github.com/weftmesh/weft/internal/envoytest"
	"github.com/weftmesh/weft/sim"
)

// byChance reports whether chance decides what becomes of a request.
func byChance(v *sim.Verdict) bool {
	if len(v.Branches) > 1 {
		return true
	}
	b, some := &v.Branches[0], 0
	for _, x := range b.Backends {
		if x.Share > 0 {
			some++
		}
	}
	for _, x := range b.Mirrors {
		if x.Share > 0 && x.Share < 1 {
			return true
		}
	}
	return some > 1
}

// A fraction of so many requests may be off by so much. Half of them is off by
// more in three of a thousand honest samples, so who is off is asked so many times as often
// again: then it is once in a billion.
const (
	fractionOf = 10_000
	fractionBy = 0.015
	fractionUp = 4
)

// fractions sends often, and compares what came to which end with what is wanted.
func fractions(want map[string]float64, send func(n int, got map[string]int) error) string {
	got, n := map[string]int{}, 0
	for _, more := range []int{fractionOf, (fractionUp - 1) * fractionOf} {
		if len(want) == 1 {
			more = 1 // nothing is left to chance
		}
		if err := send(more, got); err != nil {
			return "ask often: " + err.Error()
		}
		if n += more; off(want, got, n) == "" {
			return ""
		}
	}
	return fmt.Sprintf("of %d Envoy sent %v, the simulator says %v: %s is off", n, got, want, off(want, got, n))
}

// shares sends a request often, and compares where it and its copies go with what the
// verdict says; once for all requests of a scene that go alike.
func (f *storyFleet) shares(s *scene, w *World, p Pair, at netip.AddrPort, v *sim.Verdict) string {
	want := expected(p, v)
	same := fmt.Sprint(w.Resolved.Ref.FullName(), want)
	if s.counted[same] {
		return ""
	}
	name, copied, sent := fmt.Sprintf("flood-%d", asked.Add(1)), want[copies], 0
	q := asWire(p, name)
	q.Lines = append(q.Lines, envoytest.Line{Name: envoytest.CountHeader, Value: name})
	said := fractions(want, func(n int, got map[string]int) error {
		err := envoytest.Flood(at.String(), q, n, func(r *http.Response) { got[s.end(w, p, r)]++ })
		sent += n
		envoytest.Settle(func() bool { return float64(f.room.workloads.Copies(name)) >= (copied-fractionBy)*float64(sent) })
		got[copies] = f.room.workloads.Copies(name)
		return err
	})
	s.counted[same] = said == ""
	return said
}

// copies stands among the ends of requests for those that mirrors get besides.
const copies = "copies"

// off says which fraction of n is too far from what is wanted.
func off(want map[string]float64, got map[string]int, n int) string {
	for end, share := range want {
		if math.Abs(float64(got[end])/float64(n)-share) > fractionBy {
			return end
		}
	}
	for end, n := range got {
		if n > 0 && want[end] == 0 {
			return end
		}
	}
	return ""
}

// expected are the fractions of requests by their ends.
func expected(p Pair, v *sim.Verdict) map[string]float64 {
	ends := map[string]float64{copies: 0}
	for i := range v.Branches {
		b := &v.Branches[i]
		name := ""
		if b.Route != nil {
			name = b.Route.Name
		}
		for _, x := range b.Mirrors {
			ends[copies] += b.Probability * x.Share
		}
		if b.Outcome != sim.Forward {
			ends[answerText(p, name, int(b.Status))] += b.Probability
			continue
		}
		for _, x := range b.Backends {
			switch {
			case x.Share == 0:
			case x.Status != 0:
				ends[answerText(p, name, int(x.Status))] += b.Probability * x.Share
			default:
				ends[name+" to "+backendText(x.Name, x.Namespace, x.Port, x.Tags)] += b.Probability * x.Share
			}
		}
	}
	return ends
}

func answerText(p Pair, route string, status int) string {
	if isGRPC(p) {
		return fmt.Sprintf("%s answers gRPC %s", route, cmp.Or(grpcStatuses[uint32(status)], "2"))
	}
	return fmt.Sprintf("%s answers %d", route, status)
}

// end is what became of one of many requests, as expected has it.
func (s *scene) end(w *World, p Pair, r *http.Response) string {
	route := r.Header.Get(envoytest.RouteHeader)
	if r.Header.Get(envoytest.NameHeader) != "" {
		return route + " to " + w.clusterText(s.cluster(w.Resolved.Ref.FullName(), r.Header.Get(envoytest.ClusterHeader)))
	}
	if g := r.Header.Get("grpc-status"); isGRPC(p) {
		return fmt.Sprintf("%s answers gRPC %s", route, g)
	}
	return answerText(p, route, r.StatusCode)
}

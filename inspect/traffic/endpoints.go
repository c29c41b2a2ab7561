package traffic

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/weftmesh/weft/api"
)

// CodeEndpointFails is that requests fail at one endpoint of a service, and hardly at its siblings.
const CodeEndpointFails = "EndpointFails"

// EndpointTrouble is what is wrong with an endpoint.
type EndpointTrouble struct {
	Dataplane       api.Ref // whose inbound it is; zero outside the mesh
	To, ToNamespace string  // of which service
	Code            string
	Severity        api.Severity
	Message         string
}

// What is an endpoint that fails: lines say so of attempts, which are counted one by one, whatever they stand for.
const (
	fewestAttempts = 10   // that failed there
	muchWorse      = 5    // times as many as at the endpoint in the middle of all
	byChance       = 1000 // one of so many services would have it by chance
)

// EndpointTroubles are those of hosts, which are all at which attempts failed lately; items, by route and with minutes,
// say how much their services were sent.
func EndpointTroubles(now time.Time, hosts []HostItem, items []Item) (out []EndpointTrouble) {
	for first := 0; first < len(hosts); {
		next := first + 1
		for next < len(hosts) && hosts[next].To == hosts[first].To && hosts[next].ToNamespace == hosts[first].ToNamespace {
			next++
		}
		s := siblings{hosts: hosts[first:next], sent: sentTo(now, &hosts[first], items)}
		out = append(out, s.troubles()...)
		first = next
	}
	return out
}

// sentTo is how many attempts the service of a host was sent lately.
func sentTo(now time.Time, h *HostItem, items []Item) (n uint64) {
	for i := range items {
		if k := &items[i].Key; k.To == h.To && k.ToNamespace == h.ToNamespace {
			for _, m := range items[i].Minutes {
				if !m.At.Before(now.Add(-lately)) {
					n += m.Requests + m.Retried
				}
			}
		}
	}
	return n
}

// siblings are the endpoints of one service at which attempts failed.
type siblings struct {
	hosts []HostItem
	sent  uint64
}

func (s *siblings) troubles() (out []EndpointTrouble) {
	var bad []*HostItem
	for i := range s.hosts {
		if s.fails(&s.hosts[i]) {
			bad = append(bad, &s.hosts[i])
		}
	}
	for _, h := range bad {
		out = append(out, EndpointTrouble{h.Dataplane, h.To, h.ToNamespace, CodeEndpointFails, api.Warning, s.text(h, bad)})
	}
	return out
}

// fails reports whether an endpoint is much worse than its siblings, and still so.
func (s *siblings) fails(h *HostItem) bool {
	of := max(h.Of, len(s.hosts))
	if h.Of < 2 || h.Lately.Lines < fewestAttempts || h.Now == (HostCounts{}) || h.Lately.Lines < muchWorse*s.middle(of) {
		return false
	}
	var all uint64
	for i := range s.hosts {
		all += uint64(s.hosts[i].Lately.Lines)
	}
	return !chance(uint64(h.Lately.Lines), all, of)
}

// middle is how many lines are of the endpoint that half of all are not better than.
func (s *siblings) middle(of int) uint32 {
	lines := make([]uint32, of) // none, of those at which nothing failed
	for i := range s.hosts {
		lines[i] = s.hosts[i].Lately.Lines
	}
	slices.Sort(lines)
	return lines[(of-1)/2]
}

// chance reports whether so many of all failures may be at one of some endpoints by chance, where all are alike: by
// Chernoff's bound for one of them, for all that there are.
func chance(lines, all uint64, of int) bool {
	part, even := float64(lines)/float64(all), 1/float64(of)
	if part <= even {
		return true
	}
	apart := part * math.Log(part/even)
	if part < 1 {
		apart += (1 - part) * math.Log((1-part)/(1-even))
	}
	return float64(all)*apart < math.Log(float64(of)*byChance)
}

// text says what is wrong, beside the siblings that are not as bad.
func (s *siblings) text(h *HostItem, bad []*HostItem) string {
	var rest, all HostCounts
	for i := range s.hosts {
		all.Add(&s.hosts[i].Lately)
		if !slices.Contains(bad, &s.hosts[i]) {
			rest.Add(&s.hosts[i].Lately)
		}
	}
	of := max(h.Of, len(s.hosts))
	others := of - len(bad)
	who := "endpoint " + h.Address
	if h.Dataplane != (api.Ref{}) {
		who += " (dataplane " + h.Dataplane.FullName() + ")"
	}
	said := fmt.Sprintf("%s of service %s has %s of the %s failures of its %d endpoints in the last five minutes", who, h.To, figure(&h.Lately), figure(&all), of)
	if each := float64(s.sent) / float64(of); h.Whole && each >= 1 {
		sent := math.Max(each, float64(h.Lately.All()))
		said = fmt.Sprintf("%s of service %s fails %s of what goes to it (%s of %.0f~ in the last five minutes)", who, h.To, percent(float64(h.Lately.All())/sent), figure(&h.Lately), sent)
		if others > 0 {
			said += fmt.Sprintf(", its %s %s", counted(others, "sibling"), percent(math.Min(1, float64(rest.All())/(each*float64(others)))))
		}
	}
	what, do := h.Lately.mostly()
	return said + "; most often: " + what + "; " + do + ", and `weft why --to " + h.To + "` for single requests"
}

// figure is a number, marked where it is estimated.
func figure(c *HostCounts) string {
	if c.Lines < c.All() {
		return fmt.Sprint(c.All(), "~")
	}
	return fmt.Sprint(c.All())
}

func counted(n int, what string) string {
	if n == 1 {
		return what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// mostly is how most attempts failed, and where to look.
func (c *HostCounts) mostly() (what, do string) {
	switch most := max(c.Refused, c.Closed, c.Timeouts, c.Errors); most {
	case c.Refused:
		return "no connection", "look whether its workload runs and listens there"
	case c.Closed:
		return "connection closed", "look in the log of its workload for restarts, and whether it closes connections early"
	case c.Timeouts:
		return "no answer in time", "look what its workload waits for"
	default:
		return "answered with 5xx", "look in the log of its workload"
	}
}

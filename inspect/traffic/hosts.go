package traffic

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/weftmesh/weft/api"
)

// MostHosts is of how many endpoints it is kept that requests failed there.
const MostHosts = 4096

// HostCounts are attempts that failed at an endpoint, by how: no connection came about; the connection or the stream
// was closed; no answer came in time; the answer was a 5xx.
type HostCounts struct {
	Refused  uint32 `json:"refused,omitempty"`
	Closed   uint32 `json:"closed,omitempty"`
	Timeouts uint32 `json:"timeouts,omitempty"`
	Errors   uint32 `json:"errors,omitempty"`
	Lines    uint32 `json:"lines,omitempty"` // that say so: fewer, where they are a sample
}

// Add adds o.
func (c *HostCounts) Add(o *HostCounts) {
	c.Refused, c.Closed, c.Timeouts = sum(c.Refused, o.Refused), sum(c.Closed, o.Closed), sum(c.Timeouts, o.Timeouts)
	c.Errors, c.Lines = sum(c.Errors, o.Errors), sum(c.Lines, o.Lines)
}

// All are the attempts that failed.
func (c *HostCounts) All() uint32 { return sum(sum(c.Refused, c.Closed), sum(c.Timeouts, c.Errors)) }

// FailedHost is an endpoint of a service at which attempts failed.
type FailedHost struct {
	To        Service
	Address   string  // IP:PORT
	Dataplane api.Ref // whose inbound it is; zero outside the mesh
	// Of is how many endpoints get as many requests each, with it; 0 where they do not get as many.
	Of int
	// Whole says that all that is sent to the service goes to those.
	Whole bool
	HostCounts
}

// failingHost is one as it is kept.
type failingHost struct {
	FailedHost
	counts ring[HostCounts]
}

// hostKey tells endpoints apart: one may answer for several services.
type hostKey struct {
	to      Service
	address string
}

// FailedAt adds where attempts of a sidecar failed in a time that ends now.
func (s *Sums) FailedAt(now time.Time, list []FailedHost) {
	at := stepOf(now)
	for i := range list {
		h := &list[i]
		key := hostKey{h.To, h.Address}
		known := s.hosts[key]
		if known == nil {
			if len(s.hosts) >= MostHosts {
				s.forgetHosts()
			}
			known = &failingHost{FailedHost: *h}
			s.hosts[key] = known
		}
		known.Dataplane, known.Of, known.Whole = h.Dataplane, h.Of, known.Whole && h.Whole // of any caller
		known.counts.into(at, func(sum *HostCounts) { sum.Add(&h.HostCounts) })
	}
}

// forgetHosts makes room: those go at which nothing failed for the longest time, one of sixteen.
func (s *Sums) forgetHosts() {
	type place struct {
		hostKey
		at int64
	}
	var all []place
	for key, h := range s.hosts {
		all = append(all, place{key, h.counts.at})
	}
	slices.SortFunc(all, func(a, b place) int {
		return cmp.Or(cmp.Compare(a.at, b.at), strings.Compare(a.to.ID, b.to.ID), strings.Compare(a.address, b.address))
	})
	for _, p := range all[:len(all)/16] {
		delete(s.hosts, p.hostKey)
	}
}

// HostItem is an endpoint at which attempts failed: of the last minutes by which troubles go, and of the last two.
type HostItem struct {
	To          string     `json:"to"` // NAME:PORT
	ToNamespace string     `json:"toNamespace,omitempty"`
	Address     string     `json:"address"`
	Dataplane   api.Ref    `json:"dataplane"`
	Of          int        `json:"of"`
	Whole       bool       `json:"whole,omitempty"`
	Lately      HostCounts `json:"lately"`
	Now         HostCounts `json:"now"`
}

func (i *HostItem) compare(o *HostItem) int {
	return cmp.Or(strings.Compare(i.ToNamespace, o.ToNamespace), strings.Compare(i.To, o.To), strings.Compare(i.Address, o.Address))
}

// failingHosts are the endpoints of a mesh at which attempts failed lately, of namespaces that q may see.
func (s *Sums) failingHosts(now time.Time, q *TrafficQuery) (out []HostItem) {
	for key, h := range s.hosts {
		if key.to.Mesh != q.Mesh || !q.sees(key.to.Namespace) {
			continue
		}
		item := HostItem{To: key.to.ID, ToNamespace: key.to.Namespace, Address: key.address, Dataplane: h.Dataplane, Of: h.Of, Whole: h.Whole}
		h.counts.eachMinute(stepOf(now), func(minute int64, of *HostCounts) {
			switch began := time.Unix(0, minute*int64(time.Minute)); {
			case !began.Before(now.Add(-2 * time.Minute)):
				item.Now.Add(of)
				fallthrough
			case !began.Before(now.Add(-lately)):
				item.Lately.Add(of)
			}
		})
		if item.Lately != (HostCounts{}) {
			out = append(out, item)
		}
	}
	slices.SortFunc(out, func(a, b HostItem) int { return a.compare(&b) })
	return out
}

// mergeHosts adds what replicas know of the same endpoints.
func mergeHosts(all []HostItem) (out []HostItem) {
	slices.SortStableFunc(all, func(a, b HostItem) int { return a.compare(&b) })
	for _, i := range all {
		last := len(out) - 1
		if last < 0 || out[last].compare(&i) != 0 {
			out = append(out, i)
			continue
		}
		o := &out[last]
		o.Lately.Add(&i.Lately)
		o.Now.Add(&i.Now)
		o.Of, o.Whole = max(o.Of, i.Of), o.Whole && i.Whole
	}
	return out
}

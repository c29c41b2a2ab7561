package traffic

import (
	"slices"
	"time"
)

// MinuteCounts are requests of one minute of the clock, the last one of which is not over. A minute of
// which no sidecar told is left out of a list of them, so that nobody takes it for one without requests.
type MinuteCounts struct {
	At       time.Time `json:"at"` // when it began
	Requests uint64    `json:"requests"`
	Failed   uint64    `json:"failed,omitempty"`
	Denied   uint64    `json:"denied,omitempty"`
	Retried  uint64    `json:"retried,omitempty"` // attempts beyond the first
	Limited  uint64    `json:"limited,omitempty"` // of those that were denied, by a rate limit
	// Gone are those of the requests that services sent of which no sidecar reports any more.
	Gone uint64 `json:"gone,omitempty"`
}

// add adds the requests of o.
func (m *MinuteCounts) add(o *MinuteCounts) {
	m.Requests, m.Failed, m.Denied, m.Gone = m.Requests+o.Requests, m.Failed+o.Failed, m.Denied+o.Denied, m.Gone+o.Gone
	m.Retried, m.Limited = m.Retried+o.Retried, m.Limited+o.Limited
}

// minute adds requests to those of the same minute.
func (i *Item) minute(o MinuteCounts) {
	at, known := slices.BinarySearchFunc(i.Minutes, o.At, func(m MinuteCounts, at time.Time) int { return m.At.Compare(at) })
	if !known {
		i.Minutes = slices.Insert(i.Minutes, at, MinuteCounts{At: o.At})
	}
	i.Minutes[at].add(&o)
}

// byMinute adds what c counted, by the minutes of which one of its sidecars told.
func (i *Item) byMinute(c *caller, counts *ring[Counts], now int64) {
	gone := c.latest < now-goneAfter
	c.covered.eachMinute(now, func(minute int64, ms *uint32) {
		if *ms == 0 {
			return
		}
		m := MinuteCounts{At: time.Unix(0, minute*int64(time.Minute)).UTC()}
		if of := counts.minute(minute); of != nil {
			m.Requests, m.Failed, m.Denied, m.Retried = uint64(of.Completed), uint64(of.Failed), uint64(of.Denied), uint64(of.Retried)
		}
		if gone {
			m.Gone = m.Requests
		}
		i.minute(m)
	})
}

// limitedByMinute adds how many of those a rate limit refused.
func (i *Item) limitedByMinute(c *caller, of *causeRing, now int64) {
	c.covered.eachMinute(now, func(minute int64, ms *uint32) {
		if n := of.counts.minute(minute); *ms > 0 && n != nil && *n > 0 {
			i.minute(MinuteCounts{At: time.Unix(0, minute*int64(time.Minute)).UTC(), Limited: uint64(*n)})
		}
	})
}

// goneAfter is after how many steps without a report of its sidecars nobody reports for a service any more.
const goneAfter = 2 * mostInterval

package traffic

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/policies"
)

// By is what is summed to one item of an answer.
type By string

// The sums that there are.
const (
	ByService By = "service" // all that is sent to a service
	ByCaller  By = "caller"  // what one service sends to another
	ByRoute   By = "route"   // what a route takes of what is sent to a service
	ByRule    By = "rule"    // what one rule takes of what one service sends to another
)

// TrafficQuery is a question for sums.
type TrafficQuery struct {
	Mesh   string        `json:"mesh"`
	By     By            `json:"by"`
	Of     string        `json:"of,omitempty"` // a service that calls or is called; empty for all
	Window time.Duration `json:"window"`       // Minute or Quarter
	// Sees are the namespaces that who asks may see; nil for all. Of traffic between two namespaces
	// either side sees the sums, and the caller's alone see its routes.
	Sees []string `json:"sees,omitempty"`
	Cut  bool     `json:"cut,omitempty"` // Sees holds, also where it is empty
	// Minutes asks for the requests of each of the minutes that are kept too.
	Minutes bool `json:"minutes,omitempty"`
	// Hosts asks for the endpoints at which attempts failed lately too.
	Hosts bool `json:"hosts,omitempty"`
	// Failing asks in place of sums for the sidecars that reported failures lately.
	Failing bool `json:"failing,omitempty"`
}

func (q *TrafficQuery) sees(namespace string) bool {
	return !q.Cut || slices.Contains(q.Sees, namespace)
}

// Key tells the items of an answer apart.
type Key struct {
	Caller          string `json:"caller,omitempty"`
	CallerNamespace string `json:"callerNamespace,omitempty"`
	To              string `json:"to"` // NAME:PORT
	ToNamespace     string `json:"toNamespace,omitempty"`
	// Route and Rule are a route and the entry of it that took the requests: KIND/NAME, and its name
	// or its path in the document. They are empty for what no rule of anybody took.
	Route          string `json:"route,omitempty"`
	RouteNamespace string `json:"routeNamespace,omitempty"`
	Rule           string `json:"rule,omitempty"`
}

// Item is one sum. Rates are of the time that is known.
type Item struct {
	Key
	Shared    int     `json:"shared,omitempty"` // other rules that are counted together with it
	Requests  uint64  `json:"requests"`
	PerSecond float64 `json:"perSecond"`
	Failed    float64 `json:"failed"` // of them in a second
	Denied    float64 `json:"denied"`
	Retried   float64 `json:"retried"`
	// Causes are why requests ended without an answer of who was called, the most frequent first.
	Causes  []CauseItem `json:"causes,omitempty"`
	Latency Latency     `json:"latencyMs"`
	// Minutes are the requests by minutes, the oldest first, where they are asked for.
	Minutes []MinuteCounts `json:"minutes,omitempty"`
}

// CauseItem is how often a cause is met.
type CauseItem struct {
	RequestCause
	Words       string  `json:"words"`
	PerSecond   float64 `json:"perSecond"`
	Approximate bool    `json:"approximate,omitempty"`
}

// Latency is how long requests took: how many up to each bound, and more than all of them; and the
// bound that half, 95 and 99 of 100 did not exceed, nil where that is the last one.
type Latency struct {
	Bounds []uint32 `json:"bounds"`
	Counts []uint64 `json:"counts"`
	P50    *uint32  `json:"p50"`
	P95    *uint32  `json:"p95"`
	P99    *uint32  `json:"p99"`
}

// PartialSums is what one replica knows: items that add up, and which sidecars have reported lately.
type PartialSums struct {
	Since    time.Time `json:"since"`
	Items    []Item    `json:"items"`
	Sidecars int       `json:"sidecars"`
	// Failing are the sidecars that reported failures lately, the latest first, at most MostFailing.
	Failing []FailingSidecar `json:"failing,omitempty"`
	// Hosts are the endpoints at which attempts failed lately, where they are asked for.
	Hosts []HostItem `json:"hosts,omitempty"`
}

// FailingSidecar is a dataplane whose sidecar reported a failed or denied request, and when.
type FailingSidecar struct {
	Dataplane api.Ref   `json:"dataplane"`
	At        time.Time `json:"at"`
}

// MostFailing is how many sidecars that failed are named.
const MostFailing = 500

// Answer sums what q asks for.
func (s *Sums) Answer(now time.Time, q TrafficQuery) PartialSums {
	p := PartialSums{Since: s.since, Sidecars: s.reporting(now, &q)}
	if q.Failing {
		p.Failing = s.failing(q.Mesh)
		return p
	}
	if q.Hosts {
		p.Hosts = s.failingHosts(now, &q)
	}
	items := itemsByKey{}
	for _, c := range s.callers {
		if c.Mesh != q.Mesh {
			continue
		}
		w := window{now: stepOf(now), length: q.Window}
		seconds := c.seconds(w)
		if seconds == 0 {
			w.current = true
			if seconds = c.seconds(w); seconds == 0 {
				continue
			}
		}
		for _, l := range c.links {
			if q.asks(c, l) {
				q.add(items, c, l, w, seconds)
			}
		}
	}
	return items.into(p)
}

// itemsByKey are items while they are summed.
type itemsByKey map[Key]*Item

// of is the item of a key, a new one where there is none.
func (m itemsByKey) of(key Key) *Item {
	item := m[key]
	if item == nil {
		item = &Item{Key: key, Latency: Latency{Counts: make([]uint64, len(Bounds)+1)}}
		m[key] = item
	}
	return item
}

// into is p with the items, in order, and what follows from their sums.
func (m itemsByKey) into(p PartialSums) PartialSums {
	for _, item := range m {
		p.Items = append(p.Items, *item)
	}
	return p.finish()
}

// reporting is how many sidecars who asks may see have reported in three intervals.
func (s *Sums) reporting(now time.Time, q *TrafficQuery) (n int) {
	for ref, known := range s.sidecars {
		if ref.Mesh == q.Mesh && known.at >= stepOf(now)-2*mostInterval && q.sees(known.caller.Namespace) {
			n++
		}
	}
	return n
}

// mostInterval is how many steps may be between two reports of one sidecar.
const mostInterval = 4

// seconds is of how much of a window the sums of c are.
func (c *caller) seconds(w window) float64 {
	var ms uint64
	c.covered.each(w, func(known *uint32) { ms += uint64(*known) })
	return (time.Duration(ms) * time.Millisecond).Seconds()
}

// asks reports whether q is about what c sends by l, and who asks may see that.
func (q *TrafficQuery) asks(c *caller, l *link) bool {
	if q.Of != "" && q.Of != c.Name && q.Of != l.to.Name && q.Of != l.to.ID {
		return false
	}
	return q.sees(c.Namespace) || q.sees(l.to.Namespace)
}

func (q *TrafficQuery) add(items itemsByKey, c *caller, l *link, w window, seconds float64) {
	base := Key{To: l.to.ID, ToNamespace: l.to.Namespace}
	if q.By == ByCaller || q.By == ByRule {
		base.Caller, base.CallerNamespace = c.Name, c.Namespace
	}
	add := func(key Key, counts *ring[Counts]) *Item {
		item := items.of(key)
		item.counted(counts, w, seconds)
		if q.Minutes {
			item.byMinute(c, counts, w.now)
		}
		return item
	}
	if l.rest != nil {
		add(base, l.rest)
	}
	for _, r := range l.rules {
		key := base
		if o := r.Origin; o != nil && (q.By == ByRoute || q.By == ByRule) && (q.sees(c.Namespace) || q.sees(o.Namespace)) {
			key.Route, key.RouteNamespace = string(o.Kind)+"/"+o.Name, o.Namespace
			if q.By == ByRule {
				key.Rule = cmp.Or(o.RuleName, string(o.Field))
			}
		}
		item := add(key, &r.counts)
		item.Shared = max(item.Shared, r.Shared)
		for _, cause := range r.causes {
			item.caused(cause, w, seconds)
			if q.Minutes && cause.Words() == string(policies.EndRateLimit) {
				item.limitedByMinute(c, cause, w.now)
			}
		}
	}
}

func (i *Item) counted(counts *ring[Counts], w window, seconds float64) {
	var all, failed, denied, retried uint64
	counts.each(w, func(c *Counts) {
		all, failed = all+uint64(c.Completed), failed+uint64(c.Failed)
		denied, retried = denied+uint64(c.Denied), retried+uint64(c.Retried)
		for n, of := range c.Durations {
			i.Latency.Counts[n] += uint64(of)
		}
	})
	i.Requests += all
	i.PerSecond += float64(all) / seconds
	i.Failed += float64(failed) / seconds
	i.Denied += float64(denied) / seconds
	i.Retried += float64(retried) / seconds
}

func (i *Item) caused(of *causeRing, w window, seconds float64) {
	var n uint64
	of.counts.each(w, func(c *uint32) { n += uint64(*c) })
	if n > 0 {
		i.cause(CauseItem{of.RequestCause, of.Words(), float64(n) / seconds, of.sampled})
	}
}

func (i *Item) cause(c CauseItem) {
	at := slices.IndexFunc(i.Causes, func(o CauseItem) bool { return o.RequestCause == c.RequestCause })
	if at < 0 {
		i.Causes = append(i.Causes, c)
		return
	}
	i.Causes[at].PerSecond += c.PerSecond
	i.Causes[at].Approximate = i.Causes[at].Approximate || c.Approximate
}

// Merge adds the items of parts of several replicas.
func Merge(parts ...PartialSums) PartialSums {
	items, out := itemsByKey{}, PartialSums{}
	for _, p := range parts {
		if out.Since.IsZero() || p.Since.Before(out.Since) {
			out.Since = p.Since
		}
		out.Sidecars += p.Sidecars
		out.Failing = append(out.Failing, p.Failing...)
		out.Hosts = append(out.Hosts, p.Hosts...)
		for _, i := range p.Items {
			items.of(i.Key).merge(&i)
		}
	}
	out.Failing, out.Hosts = latestFailing(out.Failing), mergeHosts(out.Hosts)
	return items.into(out)
}

func (i *Item) merge(o *Item) {
	i.Shared = max(i.Shared, o.Shared)
	i.Requests += o.Requests
	i.PerSecond, i.Failed, i.Denied, i.Retried = i.PerSecond+o.PerSecond, i.Failed+o.Failed, i.Denied+o.Denied, i.Retried+o.Retried
	for n := range min(len(i.Latency.Counts), len(o.Latency.Counts)) {
		i.Latency.Counts[n] += o.Latency.Counts[n]
	}
	for _, c := range o.Causes {
		i.cause(c)
	}
	for _, m := range o.Minutes {
		i.minute(m)
	}
}

// finish orders p and works out what does not add up. What nobody asked of whom in the window is left out.
func (p PartialSums) finish() PartialSums {
	p.Items = slices.DeleteFunc(p.Items, func(i Item) bool { return i.Requests == 0 && len(i.Causes) == 0 && i.Retried == 0 })
	for n := range p.Items {
		i := &p.Items[n]
		i.Latency.Bounds = Bounds[:]
		i.Latency.P50, i.Latency.P95, i.Latency.P99 = i.Latency.percentile(50), i.Latency.percentile(95), i.Latency.percentile(99)
		slices.SortFunc(i.Causes, func(a, b CauseItem) int {
			return cmp.Or(cmp.Compare(b.PerSecond, a.PerSecond), strings.Compare(a.Details, b.Details), cmp.Compare(a.Status, b.Status), strings.Compare(a.Flags, b.Flags))
		})
	}
	slices.SortFunc(p.Items, func(a, b Item) int {
		return cmp.Or(cmp.Compare(b.PerSecond, a.PerSecond), a.Key.compare(&b.Key))
	})
	return p
}

func (k *Key) compare(o *Key) int {
	return cmp.Or(strings.Compare(k.Caller, o.Caller), strings.Compare(k.CallerNamespace, o.CallerNamespace), strings.Compare(k.To, o.To),
		strings.Compare(k.ToNamespace, o.ToNamespace), strings.Compare(k.Route, o.Route), strings.Compare(k.RouteNamespace, o.RouteNamespace), strings.Compare(k.Rule, o.Rule))
}

// percentile is the bound that n of 100 requests did not exceed; nil where there is none, or no request.
func (l *Latency) percentile(n uint64) *uint32 {
	var all, below uint64
	for _, c := range l.Counts {
		all += c
	}
	for i, c := range l.Counts[:min(len(l.Counts), len(Bounds))] {
		if below += c; all > 0 && below*100 >= all*n {
			bound := Bounds[i]
			return &bound
		}
	}
	return nil
}

// Slowness orders items by how long their requests take: the mean of the bounds of their classes, of the
// last one twice the bound before.
func (i *Item) Slowness() float64 {
	var all, sum float64
	for n, c := range i.Latency.Counts {
		bound := 2 * float64(Bounds[len(Bounds)-1])
		if n < len(Bounds) {
			bound = float64(Bounds[n])
		}
		all, sum = all+float64(c), sum+bound*float64(c)
	}
	if all == 0 {
		return 0
	}
	return sum / all
}

// Named reports whether one of the names of an item has a part.
func (i *Item) Named(part string) bool {
	return slices.ContainsFunc([]string{i.Caller, i.To, i.Route, i.Rule}, func(name string) bool { return strings.Contains(name, part) })
}

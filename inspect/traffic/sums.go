package traffic

import (
	"cmp"
	"slices"
	"time"

	"github.com/weftmesh/weft/api"
)

// MostRules is how many rules are kept apart, each as one caller uses it; MostCauses how many causes
// of one.
const (
	MostRules  = 20_000
	MostCauses = 8
)

// Service is who calls, or is called.
type Service struct {
	Mesh, Namespace, Name string
	ID                    string // of who is called, with its port: catalog:8080
}

// Rule is one of a table of routes: its key, and the entry of a document that is behind it; nil for
// what no rule of anybody takes.
type Rule struct {
	Key    string
	Origin *api.Origin
	Shared int // other rules that are counted together with it
}

// Sums are those of one replica.
type Sums struct {
	since    time.Time
	callers  map[Service]*caller
	sidecars map[api.Ref]*sidecar
	hosts    map[hostKey]*failingHost
	rules    int // that are kept apart
	dropped  uint64
	swept    int64
}

// New are empty sums from now on.
func New(now time.Time) *Sums {
	return &Sums{since: now, callers: map[Service]*caller{}, sidecars: map[api.Ref]*sidecar{}, hosts: map[hostKey]*failingHost{}}
}

// sidecar is one that reports.
type sidecar struct {
	caller *caller
	at     int64  // the step of its latest report
	ms     uint32 // of which it told in that step
	failed time.Time
}

// caller is a service by what its sidecars send.
type caller struct {
	Service
	// covered is of how many milliseconds of a time anything is known: the longest that one of its
	// sidecars told of in a step. So sidecars may come and go, and a step of which only some told
	// counts whole.
	covered ring[uint32]
	// latest and before are the last two steps of which one told.
	latest, before int64
	links          map[Service]*link
}

// link is all that one caller sends to one destination. What belongs to rules that are not kept apart
// is in rest.
type link struct {
	to    Service
	rules map[string]*series
	rest  *ring[Counts]
}

// series is what was counted of one rule as one caller uses it.
type series struct {
	Rule
	counts ring[Counts]
	causes []*causeRing
}

type causeRing struct {
	RequestCause
	sampled bool
	counts  ring[uint32]
}

// Counted is what a sidecar counted of one rule.
type Counted struct {
	Rule   Rule
	Counts Counts
	Causes []CountedCause
}

// CountedCause is how often a cause was met; Sampled where that is estimated.
type CountedCause struct {
	RequestCause
	Count   uint32
	Sampled bool
}

// Report takes what a sidecar of a service counted for a time that ends now, by destination: rules
// apart, and the sum of others.
func (s *Sums) Report(now time.Time, dataplane api.Ref, from Service, of time.Duration, to map[Service][]Counted, others map[Service]Counts) {
	at := stepOf(now)
	c := s.report(dataplane, from, at, of)
	for dest, list := range to {
		l := c.link(dest)
		for i := range list {
			s.count(l, at, &list[i])
		}
	}
	for dest, counts := range others {
		if counts == (Counts{}) {
			continue
		}
		c.link(dest).others().into(at, func(sum *Counts) { sum.Add(&counts) })
	}
	if at >= s.swept+perMinute {
		s.sweep(at)
	}
}

// Failed notes that a sidecar, which has reported, reports failed or denied requests.
func (s *Sums) Failed(now time.Time, dataplane api.Ref) {
	if known := s.sidecars[dataplane]; known != nil {
		known.failed = now
	}
}

// failing are the sidecars of a mesh that did, the latest first.
func (s *Sums) failing(mesh string) (out []FailingSidecar) {
	for ref, known := range s.sidecars {
		if ref.Mesh == mesh && !known.failed.IsZero() {
			out = append(out, FailingSidecar{ref, known.failed})
		}
	}
	return latestFailing(out)
}

// latestFailing are the latest of them, each once.
func latestFailing(all []FailingSidecar) []FailingSidecar {
	slices.SortFunc(all, func(a, b FailingSidecar) int { return cmp.Or(b.At.Compare(a.At), a.Dataplane.Compare(b.Dataplane)) })
	seen := map[api.Ref]bool{}
	all = slices.DeleteFunc(all, func(f FailingSidecar) bool {
		again := seen[f.Dataplane]
		seen[f.Dataplane] = true
		return again
	})
	return all[:min(len(all), MostFailing)]
}

// report notes that a sidecar of a service has reported.
func (s *Sums) report(dataplane api.Ref, from Service, at int64, of time.Duration) *caller {
	c := s.callers[from]
	if c == nil {
		c = &caller{Service: from, links: map[Service]*link{}}
		s.callers[from] = c
	}
	known := s.sidecars[dataplane]
	if known == nil {
		known = &sidecar{}
		s.sidecars[dataplane] = known
	}
	if known.at != at {
		known.ms = 0
	}
	known.caller, known.at, known.ms = c, at, sum(known.ms, uint32(of.Milliseconds()))
	c.cover(at, known.ms)
	return c
}

// cover notes of how many milliseconds one sidecar told in a step: of those since the step before of which
// one told, at most.
func (c *caller) cover(at int64, ms uint32) {
	if at != c.latest {
		c.before, c.latest = c.latest, at
	}
	if c.before > 0 {
		ms = uint32(min(int64(ms), (at-c.before)*Step.Milliseconds()))
	}
	c.covered.reach(at)
	if known := *c.covered.step(at); ms > known {
		c.covered.into(at, func(covered *uint32) { *covered += ms - known })
	}
}

func (c *caller) link(to Service) *link {
	l := c.links[to]
	if l == nil {
		l = &link{to: to, rules: map[string]*series{}}
		c.links[to] = l
	}
	return l
}

func (l *link) others() *ring[Counts] {
	if l.rest == nil {
		l.rest = new(ring[Counts])
	}
	return l.rest
}

// count adds what was counted of a rule.
func (s *Sums) count(l *link, at int64, of *Counted) {
	r := l.rules[of.Rule.Key]
	if r == nil {
		if s.rules >= MostRules {
			s.evict()
		}
		r = &series{}
		l.rules[of.Rule.Key] = r
		s.rules++
	}
	r.Rule = of.Rule
	r.counts.into(at, func(sum *Counts) { sum.Add(&of.Counts) })
	for _, cause := range of.Causes {
		r.cause(cause, at)
	}
}

func (r *series) cause(of CountedCause, at int64) {
	i := slices.IndexFunc(r.causes, func(c *causeRing) bool { return c.RequestCause == of.RequestCause })
	if i < 0 {
		r.causes = slices.DeleteFunc(r.causes, func(c *causeRing) bool { return c.counts.old(at) })
		if len(r.causes) >= MostCauses {
			of.RequestCause = RequestCause{Status: of.Status}
			if i = slices.IndexFunc(r.causes, func(c *causeRing) bool { return c.RequestCause == of.RequestCause }); i < 0 && len(r.causes) > MostCauses {
				return
			}
		}
	}
	if i < 0 {
		i = len(r.causes)
		r.causes = append(r.causes, &causeRing{RequestCause: of.RequestCause})
	}
	c := r.causes[i]
	c.sampled = c.sampled || of.Sampled
	c.counts.into(at, func(n *uint32) { *n = sum(*n, of.Count) })
}

// evict has the rules that were used the longest ago, one of sixteen, kept apart no longer: what was
// counted of them stays with what their callers send to their destinations.
func (s *Sums) evict() {
	type place struct {
		l  *link
		at int64
		r  *series
	}
	var all []place
	for _, c := range s.callers {
		for _, l := range c.links {
			for _, r := range l.rules {
				all = append(all, place{l, r.counts.at, r})
			}
		}
	}
	slices.SortFunc(all, func(a, b place) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.l.to.Name, b.l.to.Name), cmp.Compare(a.r.Key, b.r.Key))
	})
	for _, p := range all[:len(all)/16] {
		merge(p.l.others(), &p.r.counts)
		delete(p.l.rules, p.r.Key)
		s.rules--
		s.dropped++
	}
}

// sweep forgets what nobody can ask for any more.
func (s *Sums) sweep(at int64) {
	s.swept = at
	for ref, known := range s.sidecars {
		if known.at < at-keptMinutes*perMinute {
			delete(s.sidecars, ref)
		}
	}
	for key, h := range s.hosts {
		if h.counts.old(at) {
			delete(s.hosts, key)
		}
	}
	for from, c := range s.callers {
		for to, l := range c.links {
			for key, r := range l.rules {
				if r.counts.old(at) {
					delete(l.rules, key)
					s.rules--
				}
			}
			if len(l.rules) == 0 && (l.rest == nil || l.rest.old(at)) {
				delete(c.links, to)
			}
		}
		if c.covered.old(at) && len(c.links) == 0 {
			delete(s.callers, from)
		}
	}
}

// Size is how much is kept.
type Size struct {
	Callers, Links, Rules, Sidecars, Hosts int
	Dropped                                uint64 // rules that are kept apart no longer, since the beginning
}

// Size counts what is kept.
func (s *Sums) Size() Size {
	out := Size{Callers: len(s.callers), Rules: s.rules, Sidecars: len(s.sidecars), Hosts: len(s.hosts), Dropped: s.dropped}
	for _, c := range s.callers {
		out.Links += len(c.links)
	}
	return out
}

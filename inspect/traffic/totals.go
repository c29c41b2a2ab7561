package traffic

import (
	"cmp"
	"hash/fnv"
	"maps"
	"slices"
	"strings"
	"time"
)

// Bounds of what is kept apart in totals: series, bytes of their names, and meshes with a sum of their own for what
// finds no room; the same number of causes.
const (
	MostTotals    = 20_000
	mostNames     = 8 << 20
	mostRests     = 64
	mostSummed    = 1 << 16 // keys without room, and such as ended, that are told apart
	idleSteps     = int64(time.Hour / Step)
	mostOfOneLink = 16 // causes of one route as one caller uses it
)

// Others is the label of what is not known apart: as the route and the rule, which are KIND/NAME else, it is of rules
// that a sidecar told as a sum; as the destination too it is of all that found no room.
const Others = "others"

// TotalKey tells series apart.
type TotalKey struct {
	Mesh, Caller, To, Route, Rule string
}

// TotalCounts are requests since a series began: each ends as one of the three, and is in one class of durations.
type TotalCounts struct {
	OK, Failed, Denied uint64
	Retried            uint64
	Durations          [len(Bounds) + 1]uint64
}

// CauseTotalKey tells series of causes apart.
type CauseTotalKey struct {
	Mesh, Caller, To, Route, Flag, Cause string
}

// Totals are requests since they began, for who collects figures over time. No value of a series ever becomes less,
// and none begins anew. Where there is no room left, a series of which nothing was counted for an hour gives its own
// to a new one, and ends for good. What finds no room is in the sum of its caller and destination where that has one,
// else in that of its mesh, and so is what is counted of a series that ended. What was counted apart never moves
// there: the sum over all series grows by what was counted, and by nothing else.
type Totals struct {
	most   int // MostTotals
	series map[TotalKey]*total
	causes map[CauseTotalKey]*causeTotal
	byLink map[CauseTotalKey]int // causes of a route, by the key without the cause
	rests  map[string]*rest      // by mesh
	names  int                   // bytes
	summed map[uint64]struct{}   // keys that found no room
	ended  map[uint64]struct{}   // keys that had room; as long as that is known series may end
	swept  int64
}

type total struct {
	TotalCounts
	at int64
}

type causeTotal struct {
	count uint64
	at    int64
}

// rest is what found no room of a mesh.
type rest struct {
	total
	causes uint64
}

// NewTotals are empty.
func NewTotals() *Totals {
	return &Totals{most: MostTotals, series: map[TotalKey]*total{}, causes: map[CauseTotalKey]*causeTotal{}, byLink: map[CauseTotalKey]int{}, rests: map[string]*rest{},
		summed: map[uint64]struct{}{}, ended: map[uint64]struct{}{}}
}

// Report adds what a sidecar of a service counted, as Sums.Report takes it.
func (t *Totals) Report(now time.Time, from Service, to map[Service][]Counted, others map[Service]Counts) {
	at := stepOf(now)
	key := TotalKey{Mesh: from.Mesh, Caller: qualified(from.Name, from.Namespace)}
	for _, dest := range slices.SortedFunc(maps.Keys(to), byID) { // who finds room follows from what is told
		list := to[dest]
		key.To = dest.ID
		for i := range list {
			key.Route, key.Rule = list[i].Rule.labels()
			t.add(key, at, &list[i].Counts)
			t.because(key, at, list[i].Causes)
		}
	}
	for _, dest := range slices.SortedFunc(maps.Keys(others), byID) {
		if counts := others[dest]; counts != (Counts{}) {
			key.To, key.Route, key.Rule = dest.ID, Others, Others
			t.add(key, at, &counts)
		}
	}
}

func byID(a, b Service) int { return strings.Compare(a.ID, b.ID) }

// labels are those of the entry of a document that is behind a rule; empty for what no rule of anybody takes.
func (r *Rule) labels() (route, rule string) {
	if r.Origin == nil {
		return "", ""
	}
	return string(r.Origin.Kind) + "/" + qualified(r.Origin.Name, r.Origin.Namespace), cmp.Or(r.Origin.RuleName, string(r.Origin.Field))
}

func qualified(name, namespace string) string {
	if namespace == "" {
		return name
	}
	return name + "." + namespace
}

func (t *Totals) add(key TotalKey, at int64, c *Counts) {
	s := t.of(key, at)
	s.at = max(s.at, at)
	s.OK += uint64(c.Completed) - min(uint64(c.Completed), uint64(c.Failed)+uint64(c.Denied))
	s.Failed, s.Denied, s.Retried = s.Failed+uint64(c.Failed), s.Denied+uint64(c.Denied), s.Retried+uint64(c.Retried)
	for i, n := range c.Durations {
		s.Durations[i] += uint64(n)
	}
}

// of is the series of a key, or the sum that has what finds no room.
func (t *Totals) of(key TotalKey, at int64) *total {
	if s := t.series[key]; s != nil {
		return s
	}
	if key == key.rest() { // of a service that is called so
		return &t.rest(key.Mesh).total
	}
	if t.room(at, func() int { return len(t.series) }, key.parts()...) {
		s := &total{}
		t.series[key.clone()] = s
		return s
	}
	key.Route, key.Rule = Others, Others
	if s := t.series[key]; s != nil {
		return s
	}
	return &t.rest(key.Mesh).total
}

func (k *TotalKey) parts() []string { return []string{k.Mesh, k.Caller, k.To, k.Route, k.Rule} }

// rest is the key of what found no room of the same mesh.
func (k *TotalKey) rest() TotalKey { return TotalKey{k.Mesh, Others, Others, Others, Others} }

// clone has texts of its own, which keep no document in memory.
func (k *TotalKey) clone() TotalKey {
	return TotalKey{strings.Clone(k.Mesh), strings.Clone(k.Caller), strings.Clone(k.To), strings.Clone(k.Route), strings.Clone(k.Rule)}
}

// room takes room for a new key beside those that there are, or notes that there is none. Such as are idle make room,
// looked for once a minute.
func (t *Totals) room(at int64, there func() int, key ...string) bool {
	hash, size := hashOf(key)
	_, had := t.ended[hash]
	free := func() bool { return there() < t.most && t.names+size <= mostNames }
	if !had && !free() && at >= t.swept+perMinute {
		t.swept = at
		t.sweep(at)
	}
	if !had && free() {
		t.names += size
		return true
	}
	if len(t.summed) < mostSummed {
		t.summed[hash] = struct{}{}
	}
	return false
}

// hashOf tells keys apart, and is how long one is.
func hashOf(parts []string) (hash uint64, size int) {
	h := fnv.New64a()
	for _, p := range parts {
		_, _ = h.Write([]byte(p)) // which never fails
		_, _ = h.Write([]byte{0})
		size += len(p)
	}
	return h.Sum64(), size
}

// sweep ends what nobody has counted for an hour.
func (t *Totals) sweep(at int64) {
	for key, s := range t.series {
		if s.at < at-idleSteps && t.end(key.parts()...) {
			delete(t.series, key)
		}
	}
	for key, c := range t.causes {
		if c.at < at-idleSteps && t.end(key.parts()...) {
			delete(t.causes, key)
			link := key.link()
			if t.byLink[link]--; t.byLink[link] == 0 {
				delete(t.byLink, link)
			}
		}
	}
}

// end remembers that a key ends, where it may.
func (t *Totals) end(key ...string) bool {
	if len(t.ended) >= mostSummed {
		return false
	}
	hash, size := hashOf(key)
	t.ended[hash] = struct{}{}
	t.names -= size
	return true
}

// rest is the sum of a mesh; of too many meshes all have one.
func (t *Totals) rest(mesh string) *rest {
	if r := t.rests[mesh]; r != nil {
		return r
	}
	if len(t.rests) >= mostRests {
		mesh = Others
	}
	if t.rests[mesh] == nil {
		t.rests[mesh] = &rest{}
	}
	return t.rests[mesh]
}

// because adds causes of requests of a rule.
func (t *Totals) because(key TotalKey, at int64, list []CountedCause) {
	for i := range list {
		of := CauseTotalKey{key.Mesh, key.Caller, key.To, key.Route, list[i].Flags, list[i].Words()}
		c := t.cause(of, at)
		if c == nil {
			t.rest(key.Mesh).causes += uint64(list[i].Count)
			continue
		}
		c.count += uint64(list[i].Count)
		c.at = max(c.at, at)
	}
}

// cause is the series of one; that of other causes of the same route where that has many; nil where there is no
// room.
func (t *Totals) cause(key CauseTotalKey, at int64) *causeTotal {
	if c := t.causes[key]; c != nil {
		return c
	}
	link := key.link()
	if t.byLink[link] >= mostOfOneLink {
		key.Flag, key.Cause = "", Others
		if c := t.causes[key]; c != nil {
			return c
		}
	}
	if !t.room(at, func() int { return len(t.causes) }, key.parts()...) {
		return nil
	}
	c := &causeTotal{}
	key = key.clone()
	t.causes[key] = c
	t.byLink[key.link()]++
	return c
}

// link is the key without the cause.
func (k CauseTotalKey) link() CauseTotalKey {
	k.Flag, k.Cause = "", ""
	return k
}

func (k *CauseTotalKey) clone() CauseTotalKey {
	return CauseTotalKey{strings.Clone(k.Mesh), strings.Clone(k.Caller), strings.Clone(k.To), strings.Clone(k.Route), strings.Clone(k.Flag), strings.Clone(k.Cause)}
}

func (k *CauseTotalKey) parts() []string {
	return []string{k.Mesh, k.Caller, k.To, k.Route, k.Flag, k.Cause}
}

// TotalSeries, and CauseSeries, are series as they are at one time.
type (
	TotalSeries struct {
		TotalKey
		TotalCounts
	}
	CauseSeries struct {
		CauseTotalKey
		Count uint64
	}
)

// TotalsReading is all that totals have at one time.
type TotalsReading struct {
	Series []TotalSeries
	Causes []CauseSeries
	Apart  int // series that are kept apart
	Summed int // that found no room, each once
}

// Read copies all.
func (t *Totals) Read() TotalsReading {
	out := TotalsReading{Series: make([]TotalSeries, 0, len(t.series)+len(t.rests)), Causes: make([]CauseSeries, 0, len(t.causes)+len(t.rests)), Apart: len(t.series) + len(t.causes), Summed: len(t.summed)}
	for key, s := range t.series {
		out.Series = append(out.Series, TotalSeries{key, s.TotalCounts})
	}
	for key, c := range t.causes {
		out.Causes = append(out.Causes, CauseSeries{key, c.count})
	}
	for mesh, r := range t.rests {
		key := TotalKey{Mesh: mesh}
		out.Series = append(out.Series, TotalSeries{key.rest(), r.TotalCounts})
		if r.causes > 0 {
			out.Causes = append(out.Causes, CauseSeries{CauseTotalKey{mesh, Others, Others, Others, "", Others}, r.causes})
		}
	}
	return out
}

// Sort sorts r, which is a copy: nobody who counts waits for that.
func (r *TotalsReading) Sort() {
	slices.SortFunc(r.Series, func(a, b TotalSeries) int {
		return cmp.Or(strings.Compare(a.Mesh, b.Mesh), strings.Compare(a.Caller, b.Caller), strings.Compare(a.To, b.To), strings.Compare(a.Route, b.Route), strings.Compare(a.Rule, b.Rule))
	})
	slices.SortFunc(r.Causes, func(a, b CauseSeries) int {
		return cmp.Or(strings.Compare(a.Mesh, b.Mesh), strings.Compare(a.Caller, b.Caller), strings.Compare(a.To, b.To), strings.Compare(a.Route, b.Route), strings.Compare(a.Flag, b.Flag), strings.Compare(a.Cause, b.Cause))
	})
}

package traffic

import (
	"fmt"
	"iter"
	"math"
	"strings"
	"time"

	"github.com/weftmesh/weft/api"
)

// The codes of troubles.
const (
	CodeRequestsFail   = "RequestsFail"   // a part of the requests ends with 5xx
	CodeRequestsDenied = "RequestsDenied" // since a change, more of the requests are refused than before
	CodeRouteUnused    = "RouteUnused"    // a route had requests, and has none any more
	CodeLimitBites     = "LimitBites"     // a rate limit refuses a part of the requests
	CodeRetryStorm     = "RetryStorm"     // retries are a part of the load
)

// Trouble is what is wrong with the requests that a route takes, or with those of a service that no route of
// anybody takes.
type Trouble struct {
	Key
	Code     string
	Severity api.Severity
	Message  string
}

// RevisionChange is one revision: when it came, and which objects it changed.
type RevisionChange struct {
	At       time.Time
	Revision uint64
	Objects  []api.Ref
}

// What is a trouble. Requests fail where one of twenty does, of the last five minutes, or since a change one of
// a hundred and clearly more than before.
const (
	lately      = 5 * time.Minute
	fewest      = 10   // requests that failed, or were refused
	muchFails   = 0.05 // of the requests
	someFails   = 0.01 // of them, since a change
	nearlyAll   = 0.5  // from here on it is an error
	clearly     = 6.0  // standard deviations between before and after
	leastBefore = 20   // requests before a change, to compare with
	leastMissed = 20   // requests that a route would have had as before, in minutes in which it has none
	leastLively = 3    // minutes with requests before those
	muchLimited = 0.1  // of the requests, lately
	muchRetried = 0.2  // attempts beyond the first, of the requests lately
)

// Troubles are those of items by route, with minutes. Changes are the latest ones, in their order.
func Troubles(now time.Time, items []Item, changes []RevisionChange) (out []Trouble) {
	for n := range items {
		i := &items[n]
		if text, severity := i.failing(now, changes); text != "" {
			out = append(out, i.trouble(CodeRequestsFail, severity, text))
		}
		if b := i.began(denied); b != nil && !i.over(now, denied) {
			if change := changeAt(b, changes); change != nil {
				out = append(out, i.trouble(CodeRequestsDenied, api.Warning, b.text("are refused")+change.text(i.home())))
			}
		}
		for code, text := range i.loaded(now) {
			out = append(out, i.trouble(code, api.Warning, text))
		}
		if text := i.unused(now); text != "" {
			out = append(out, i.trouble(CodeRouteUnused, api.Warning, text))
		}
	}
	return out
}

func failed(m *MinuteCounts) uint64  { return m.Failed }
func denied(m *MinuteCounts) uint64  { return m.Denied }
func limited(m *MinuteCounts) uint64 { return m.Limited }
func retried(m *MinuteCounts) uint64 { return m.Retried }

// loaded yields what a limit and retries make of the requests of the last five minutes (spec/telemetry.md 6).
func (i *Item) loaded(now time.Time) iter.Seq2[string, string] {
	return func(yield func(code, text string) bool) {
		all, refused := sumSince(i.Minutes, now.Add(-lately), limited)
		if refused >= fewest && share(refused, all) > muchLimited && !i.over(now, limited) &&
			!yield(CodeLimitBites, fmt.Sprintf("a rate limit refused %s of the requests of the last five minutes (%d of %d); `weft why --status 429` names the policy that says so: raise it there if who calls may ask so often", percent(share(refused, all)), refused, all)) {
			return
		}
		_, again := sumSince(i.Minutes, now.Add(-lately), retried)
		if again >= fewest && share(again, all) > muchRetried && !i.over(now, retried) {
			yield(CodeRetryStorm, fmt.Sprintf("the requests of the last five minutes were repeated %d times, which is %s of them (%d): retries are a part of the load of what fails; see why attempts fail with `weft why`, and lower numRetries of MeshRetry while they do", again, percent(share(again, all)), all))
		}
	}
}

// failing says that requests fail, and since when if that is known; empty where they do not.
func (i *Item) failing(now time.Time, changes []RevisionChange) (text string, severity api.Severity) {
	b := i.began(failed)
	change := changeAt(b, changes)
	var all, bad uint64
	if b != nil {
		all, bad, text = b.all, b.bad, b.text("fail")+change.text(i.home())
	} else {
		all, bad = sumSince(i.Minutes, now.Add(-lately), failed)
		text = fmt.Sprintf("%s of the requests of the last five minutes failed (%d of %d)", percent(share(bad, all)), bad, all)
	}
	part := share(bad, all)
	if bad < fewest || part < muchFails && change == nil || i.over(now, failed) {
		return "", ""
	}
	if severity = api.Warning; part >= nearlyAll {
		severity = api.Error
	}
	return text + i.mostOften(), severity
}

func (i *Item) trouble(code string, severity api.Severity, message string) Trouble {
	return Trouble{Key: i.Key, Code: code, Severity: severity, Message: "to " + i.To + ": " + message}
}

// home is the namespace of who is told: that of the route, or else of the service.
func (i *Item) home() string {
	if i.Route == "" {
		return i.ToNamespace
	}
	return i.RouteNamespace
}

// mostOften names the most frequent cause, where one is known.
func (i *Item) mostOften() string {
	if len(i.Causes) == 0 {
		return ""
	}
	return "; most often: " + i.Causes[0].Words
}

// beginning is a minute since which more of the requests are bad than before.
type beginning struct {
	at            time.Time
	all, bad      uint64 // requests since then, and the bad ones of them
	before, wrong uint64 // those before
}

func (b *beginning) text(what string) string {
	return fmt.Sprintf("since %s %s of the requests %s (%d of %d); before, %d of %d did", b.at.Format("15:04 MST"), percent(share(b.bad, b.all)), what, b.bad, b.all, b.wrong, b.before)
}

// over reports whether hardly any of the requests of the last two minutes are bad.
func (i *Item) over(now time.Time, bad func(*MinuteCounts) uint64) bool {
	all, wrong := sumSince(i.Minutes, now.Add(-2*time.Minute), bad)
	return share(wrong, all) < someFails
}

// began is the minute that parts the requests the most clearly in those before and those since, of which at
// least twice as many are bad; nil where there is none. The test is that of two shares.
func (i *Item) began(bad func(*MinuteCounts) uint64) *beginning {
	var best *beginning
	most := clearly
	var all, wrong uint64 // of the minutes before
	sumAll, sumWrong := sumSince(i.Minutes, time.Time{}, bad)
	for n := range i.Minutes {
		m := &i.Minutes[n]
		afterAll, afterWrong := sumAll-all, sumWrong-wrong
		p, q := share(wrong, all), share(afterWrong, afterAll)
		if all >= leastBefore && afterWrong >= fewest && q >= someFails && q >= 2*p {
			pooled := share(sumWrong, sumAll)
			z := (q - p) / math.Sqrt(pooled*(1-pooled)*(1/float64(all)+1/float64(afterAll)))
			if z >= most { // also where all fail since, and none did before
				best, most = &beginning{m.At, afterAll, afterWrong, all, wrong}, z
			}
		}
		all, wrong = all+m.Requests, wrong+bad(m)
	}
	return best
}

// madeBefore is how long before the first bad minute a change may have been made that began it: sidecars
// report once in ten seconds, and a request may last.
const madeBefore = time.Minute

// changeAt is the last change that was made in the minute in which something began, or in that before; nil
// where there is none.
func changeAt(b *beginning, changes []RevisionChange) *RevisionChange {
	if b == nil {
		return nil
	}
	for n := len(changes) - 1; n >= 0; n-- {
		if c := &changes[n]; !c.At.Before(b.at.Add(-madeBefore)) && c.At.Before(b.at.Add(time.Minute)) {
			return c
		}
	}
	return nil
}

// mostChanged is how many objects of a change are named.
const mostChanged = 3

// text tells of a change to whoever may see a namespace: objects of others are counted, and not named.
func (c *RevisionChange) text(namespace string) string {
	if c == nil {
		return ""
	}
	var named []string
	for _, o := range c.Objects {
		if o.Namespace == namespace && len(named) < mostChanged {
			named = append(named, o.String())
		}
	}
	objects := strings.Join(named, ", ")
	switch more := len(c.Objects) - len(named); {
	case len(named) == 0:
		objects = "something elsewhere"
	case more > 0:
		objects += fmt.Sprintf(" and %d more", more)
	}
	return fmt.Sprintf("; revision %d changed %s at %s: `weft diff %d %d` shows what, `weft rollback %d` takes it back", c.Revision, objects, c.At.UTC().Format("15:04:05 MST"), c.Revision-1, c.Revision, c.Revision-1)
}

// unused says that a route has no requests any more, though those who sent them report; empty where it has,
// or had too few to tell.
func (i *Item) unused(now time.Time) string {
	if i.Route == "" {
		return ""
	}
	last := len(i.Minutes) - 1
	for last >= 0 && i.Minutes[last].Requests == 0 {
		last--
	}
	lively, had := 0, uint64(0)
	for _, m := range i.Minutes[:last+1] {
		if n := m.Requests - m.Gone; n > 0 {
			lively, had = lively+1, had+n
		}
	}
	quiet := 0 // minutes that are over
	for _, m := range i.Minutes[last+1:] {
		if !m.At.Add(time.Minute).After(now) {
			quiet++
		}
	}
	each := float64(had) / float64(last+1)
	if lively < leastLively || quiet < 2 || each*float64(quiet) < leastMissed {
		return ""
	}
	return fmt.Sprintf("no requests since %s, and %.0f a minute before, though those who sent them report; if it is not meant to be so, see what changed with `weft history`", i.Minutes[last].At.Add(time.Minute).Format("15:04 MST"), each)
}

// sumSince sums the requests since a time, and the bad ones of them.
func sumSince(list []MinuteCounts, since time.Time, bad func(*MinuteCounts) uint64) (all, wrong uint64) {
	for n := range list {
		if m := &list[n]; !m.At.Before(since) {
			all, wrong = all+m.Requests, wrong+bad(m)
		}
	}
	return all, wrong
}

func share(part, of uint64) float64 {
	if of == 0 {
		return 0
	}
	return float64(part) / float64(of)
}

// percent is a share in percent, with a digit more where it is small.
func percent(part float64) string {
	if part < 0.1 {
		return fmt.Sprintf("%.1f %%", 100*part)
	}
	return fmt.Sprintf("%.0f %%", 100*part)
}

package top

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/go-multierror"

	"github.com/weftmesh/weft/cmd/internal/cli"
	"github.com/weftmesh/weft/inspect/traffic"
	"github.com/weftmesh/weft/inspect/web/requests"
)

// Traffic is the part of a view that shows what sidecars counted of requests.
type Traffic struct {
	Ask    Question
	Shown  bool // in place of sidecars and changes
	answer requests.Answer
	at     time.Time // when it was so; zero for never
	lost   error

	typing   bool // what is pressed is added to the filter
	selected int
	above    []Question // by which the present one was reached
}

// Question is what is asked for.
type Question struct {
	By     string // service, caller, route, rule
	Sort   string // rate, failed, denied, retried, latency
	Window string // 1m, 15m
	Of     string // a service; empty for all
	Filter string // of what is shown: a part of a name
}

// All that a question may ask for, in the order in which keys go through it.
var (
	sums    = []string{"service", "caller", "route", "rule"}
	sorts   = []string{"rate", "failed", "denied", "retried", "latency"}
	windows = []string{"1m", "15m"}
)

// NewTraffic asks for the services.
func NewTraffic(shown bool) Traffic {
	return Traffic{Ask: Question{By: sums[0], Sort: sorts[0], Window: windows[0]}, Shown: shown}
}

// Check reports words that nobody can ask for.
func (q *Question) Check() error {
	var errs *multierror.Error
	for _, c := range []struct {
		flag, word string
		words      []string
	}{{"--by", q.By, sums}, {"--sort", q.Sort, sorts}, {"--window", q.Window, windows}} {
		if !slices.Contains(c.words, c.word) {
			errs = multierror.Append(errs, cli.Usage("%s %q is none of %s", c.flag, c.word, strings.Join(c.words, ", ")))
		}
	}
	return errs.ErrorOrNil()
}

// path is where the answer to q is.
func (q *Question) path(mesh string) string {
	values := url.Values{"by": {q.By}, "sort": {q.Sort}, "window": {q.Window}, "size": {"500"}}
	if q.Of != "" {
		values.Set("of", q.Of)
	}
	return "/meshes/" + url.PathEscape(mesh) + "/_traffic?" + values.Encode()
}

// next is the word after one in a list, the first after the last.
func next(list []string, word string) string {
	for i, w := range list {
		if w == word {
			return list[(i+1)%len(list)]
		}
	}
	return list[0]
}

// told is told an answer to q, or why there is none.
func (t *Traffic) told(q Question, a requests.Answer, err error, now time.Time) {
	if q.Filter = t.Ask.Filter; q != t.Ask {
		return // somebody has asked something else meanwhile
	}
	if t.lost = err; err == nil {
		t.answer, t.at = a, now
		t.selected = min(t.selected, max(len(t.items())-1, 0))
	}
}

// items are those that the filter takes.
func (t *Traffic) items() []traffic.Item {
	if t.Ask.Filter == "" {
		return t.answer.Items
	}
	var out []traffic.Item
	for _, i := range t.answer.Items {
		if strings.Contains(who(&i)+" "+t.rule(&i), t.Ask.Filter) {
			out = append(out, i)
		}
	}
	return out
}

// key does what a key asks for, and reports whether there is something else to ask.
func (t *Traffic) key(key string) (asks bool) {
	if t.typing {
		t.typed(key)
		return false
	}
	before := t.Ask
	switch key {
	case "b":
		t.Ask.By = next(sums, t.Ask.By)
	case "s":
		t.Ask.Sort = next(sorts, t.Ask.Sort)
	case "w":
		t.Ask.Window = next(windows, t.Ask.Window)
	case "/":
		t.typing, t.Ask.Filter = true, ""
	case "j", keyDown:
		t.selected = min(t.selected+1, max(len(t.items())-1, 0))
	case "k", keyUp:
		t.selected = max(t.selected-1, 0)
	case "\r":
		t.deeper()
	case keyEscape, "\x7f":
		if n := len(t.above); n > 0 {
			t.Ask, t.above = t.above[n-1], t.above[:n-1]
		}
	}
	if before != t.Ask && before.Filter == t.Ask.Filter {
		t.selected = 0
	}
	now := t.Ask
	now.Filter = before.Filter
	return now != before
}

// typed adds to the filter, or ends it.
func (t *Traffic) typed(key string) {
	switch {
	case key == "\r":
		t.typing = false
	case key == keyEscape:
		t.typing, t.Ask.Filter = false, ""
	case key == "\x7f" && t.Ask.Filter != "":
		t.Ask.Filter = t.Ask.Filter[:len(t.Ask.Filter)-1]
	case len(key) == 1 && key[0] >= ' ' && key[0] < 0x7f:
		t.Ask.Filter += key
	}
	t.selected = 0
}

// deeper asks for the rules by which what is selected is called.
func (t *Traffic) deeper() {
	items := t.items()
	if t.selected >= len(items) || t.Ask.By == "rule" && t.Ask.Of != "" {
		return
	}
	t.above = append(t.above, t.Ask)
	t.Ask.By, t.Ask.Of, t.Ask.Filter = "rule", items[t.selected].To, ""
}

// who is who calls whom.
func who(i *traffic.Item) string {
	if i.Caller == "" {
		return i.To
	}
	return i.Caller + " → " + i.To
}

// rule is the route and the rule of an item, as far as it is of one; of what none takes, that.
func (t *Traffic) rule(i *traffic.Item) string {
	_, name, _ := strings.Cut(i.Route, "/")
	switch {
	case name == "" && (traffic.By(t.Ask.By) == traffic.ByRoute || traffic.By(t.Ask.By) == traffic.ByRule):
		return "no route"
	case name == "":
		return ""
	case i.Rule == "":
		return name
	}
	return name + " " + i.Rule
}

// lines are the answer in so many rows, 0 for all.
func (t *Traffic) lines(rows int, now time.Time) []line {
	head := line{text(bold, "traffic by %s, sorted by %s, of %s", t.Ask.By, t.Ask.Sort, t.Ask.Window)}
	if t.Ask.Of != "" {
		head = append(head, text(plain, "  of %s", t.Ask.Of))
	}
	if t.typing || t.Ask.Filter != "" {
		head = append(head, text(warn, "  /%s", t.Ask.Filter))
	}
	if t.lost != nil {
		head = append(head, text(bad, "  no answer: %v", t.lost))
	}
	if t.at.IsZero() {
		return []line{nil, head}
	}
	items := t.items()
	whos, rules := len("CALLER → SERVICE"), len("ROUTE, RULE")
	for i := range items {
		whos, rules = max(whos, len([]rune(who(&items[i])))), max(rules, len([]rune(t.rule(&items[i]))))
	}
	whos, rules = min(whos, 44), min(rules, 40)
	out := []line{nil, head, {text(bold, "  %-*s %-*s %9s %7s %6s %6s %6s %7s %7s  %s", whos, "CALLER → SERVICE", rules, "ROUTE, RULE", "RQ/S", "OK", "P50", "P95", "P99", "RETRY", "DENIED", "WHY NOT")}}
	room := len(items)
	if rows > 0 {
		room = max(rows-len(out)-1, 1)
	}
	first := max(0, min(t.selected-room/2, len(items)-room))
	for n := first; n < min(first+room, len(items)); n++ {
		out = append(out, t.itemLine(&items[n], n == t.selected && t.Shown && rows > 0, whos, rules))
	}
	if len(items) == 0 {
		out = append(out, line{text(subtle, "  no requests were counted")})
	}
	return append(out, t.foot(len(items)-room, now))
}

func (t *Traffic) itemLine(i *traffic.Item, selected bool, whos, rules int) line {
	mark, look := "  ", plain
	if selected {
		mark, look = "› ", bold
	}
	ok := good
	if i.Failed > 0 {
		ok = warn
	}
	if i.Failed > i.PerSecond/20 {
		ok = bad
	}
	l := line{text(look, "%s%-*s %-*s ", mark, whos, who(i), rules, t.rule(i)), text(plain, "%9s ", rate(i.PerSecond)), text(ok, "%7s ", share(i.PerSecond-i.Failed, i.PerSecond)),
		text(plain, "%6s %6s %6s %7s %7s  ", bound(i, i.Latency.P50), bound(i, i.Latency.P95), bound(i, i.Latency.P99), some(i.Retried, i.PerSecond), some(i.Denied, i.PerSecond))}
	for n, c := range i.Causes[:min(len(i.Causes), 2)] {
		separator := ""
		if n > 0 {
			separator = ", "
		}
		about := ""
		if c.Approximate {
			about = "~"
		}
		l = append(l, text(warn, "%s%s %s%s", separator, c.Words, about, share(c.PerSecond, i.PerSecond)))
	}
	if i.Shared > 0 {
		l = append(l, text(subtle, "  (counted together with %d others)", i.Shared))
	}
	return l
}

// foot says of whom the sums are, and what is left out.
func (t *Traffic) foot(more int, now time.Time) line {
	l := line{text(subtle, "  since %s", t.answer.Since.Local().Format("15:04:05"))}
	if n := t.answer.Unknown.Sidecars; n > 0 {
		l = append(l, text(warn, " · %d connected sidecars report nothing", n))
	}
	if silent := t.answer.Unknown.Replicas; len(silent) > 0 {
		l = append(l, text(warn, " · without %s", strings.Join(silent, ", ")))
	}
	if more := max(more, 0) + max(t.answer.Total-len(t.answer.Items), 0); more > 0 {
		l = append(l, text(subtle, " · %d more", more))
	}
	if old := now.Sub(t.at); old > 5*time.Second {
		l = append(l, text(warn, " · as of %s ago", ago(old)))
	}
	for _, note := range t.answer.Notes {
		l = append(l, text(subtle, " · %s", note))
	}
	return l
}

func rate(perSecond float64) string {
	switch {
	case perSecond == 0:
		return "0"
	case perSecond < 10:
		return fmt.Sprintf("%.2f", perSecond)
	case perSecond < 1000:
		return fmt.Sprintf("%.1f", perSecond)
	}
	return fmt.Sprintf("%.0f", perSecond)
}

// share is a part of a whole in percent; a part that is there is more than nothing, and all is all alone.
func share(part, whole float64) string {
	if whole <= 0 {
		return "–"
	}
	p := 100 * part / whole
	switch text := fmt.Sprintf("%.1f%%", p); {
	case text == "100.0%" && part < whole:
		return ">99.9%"
	case text == "100.0%":
		return "100%"
	case text == "0.0%" && part > 0:
		return "<0.1%"
	default:
		return text
	}
}

// some is share, and a dash for nothing.
func some(part, whole float64) string {
	if part == 0 {
		return "–"
	}
	return share(part, whole)
}

// bound is that of a percentile in milliseconds.
func bound(i *traffic.Item, ms *uint32) string {
	var all uint64
	for _, n := range i.Latency.Counts {
		all += n
	}
	switch {
	case all == 0:
		return "–"
	case ms == nil:
		return fmt.Sprintf(">%s", millis(traffic.Bounds[len(traffic.Bounds)-1]))
	}
	return "≤" + millis(*ms)
}

func millis(ms uint32) string {
	if ms >= 1000 {
		return fmt.Sprintf("%ds", ms/1000)
	}
	return fmt.Sprintf("%dms", ms)
}

package seen

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/weftmesh/weft/inspect/terminal"
)

// printer writes of requests.
type printer struct{ terminal.Printer }

// Lines are a request in two lines: what happened, and which documents were behind it.
func Lines(w io.Writer, r *Record, s terminal.Style) error {
	p := printer{terminal.Printer{Style: s}}
	p.requestLines(r)
	return p.Flush(w)
}

func (p *printer) requestLines(r *Record) {
	what := strings.TrimSpace(r.Method + " " + r.Authority + cmp.Or(r.Path, bracketed(r.Match)))
	end := fmt.Sprintf("%s %s", statusText(r.Status), millisecondsText(r.DurationMs))
	if r.Tries > 1 {
		end += fmt.Sprintf(", %d tries", r.Tries)
	}
	if r.Host != "" {
		end += " → " + r.Host
	}
	why := strings.TrimSpace(r.Flags + " " + r.Words)
	p.Line("%s  %s", p.Strong(strings.TrimSpace(r.Time.Local().Format(time.TimeOnly)+" "+what+"  "+end+"  "+why)), p.Faint(idText(r)))
	p.Line("         %s", p.Faint(strings.Join(behind(r), " · ")))
	for _, name := range slices.Sorted(maps.Keys(r.Headers)) {
		p.Line("         > %s: %s", name, r.Headers[name])
	}
	for _, name := range slices.Sorted(maps.Keys(r.AnswerHeaders)) {
		p.Line("         < %s: %s", name, r.AnswerHeaders[name])
	}
}

// behind are who saw a request, and the documents behind it.
func behind(r *Record) []string {
	out := []string{r.Dataplane + " as " + r.Side}
	if r.Caller != "" {
		out = append(out, "from "+r.Caller)
	}
	if r.Rule != nil {
		out = append(out, documentText(r.Rule))
	}
	for i := range r.Policies {
		out = append(out, documentText(&r.Policies[i]))
	}
	return out
}

func documentText(d *ActingDocument) string {
	text := d.String()
	if d.RuleName != "" {
		text += " (" + d.RuleName + ")"
	}
	return text
}

// Text tells everything of a request; of the other side's lines of it what they add.
func Text(w io.Writer, all []Record, sim *SimulatedRecord, s terminal.Style) error {
	p := printer{terminal.Printer{Style: s}}
	r := &all[0]
	p.Line("%s  %s", s.Strong(strings.TrimSpace(r.Method+" "+r.Authority+cmp.Or(r.Path, bracketed(r.Match)))), s.Faint(r.Time.Local().Format(time.DateTime)+"  "+idText(r)))
	p.Line("%s after %s: %s", statusText(r.Status), millisecondsText(r.DurationMs), answeredBy(r))
	p.why(all)
	for i, a := range r.Attempts {
		p.fact(map[bool]string{true: "attempts"}[i == 0], strings.TrimSpace(fmt.Sprintf("%s  %s  %s  %s", cmp.Or(a.Host, "no host"), statusText(a.Status), millisecondsText(a.DurationMs), strings.TrimSpace(a.Flags+" "+a.Words))))
	}
	for i := range all[1:] {
		o := &all[1+i]
		p.fact(o.Side, strings.TrimSpace(fmt.Sprintf("%s  %s after %s  %s", o.Dataplane, statusText(o.Status), millisecondsText(o.DurationMs), strings.TrimSpace(o.Flags+" "+o.Words))))
	}
	rule := "none took it"
	if r.Rule != nil {
		rule = documentText(r.Rule)
	}
	if r.Match != "" {
		rule += "  " + s.Faint(r.Match)
	}
	if r.Changed {
		rule += "  " + s.Faint("(the rule has changed since)")
	}
	p.fact("rule", rule)
	for i := range r.Policies {
		p.fact(map[bool]string{true: "policies"}[i == 0], documentText(&r.Policies[i]))
	}
	p.because(all)
	if sim != nil {
		p.fact("simulator", simulatedText(sim))
		for _, u := range sim.Unknown {
			p.fact("", s.Faint(u))
		}
	}
	if r.StandsFor > 1 {
		p.fact("sample", fmt.Sprintf("of many at once this one was kept; it stands for about %.0f", r.StandsFor))
	}
	return p.Flush(w)
}

// why tells how it ended in words: of an answer of who was called, what its own sidecar says of it.
func (p *printer) why(all []Record) {
	i := max(0, slices.IndexFunc(all, func(r Record) bool { return r.Words != "" }))
	p.fact("why", strings.TrimSpace(cmp.Or(all[i].Words, "an answer of the service")+"  "+p.Faint(strings.TrimSpace(all[i].Flags+" "+all[i].Details))))
}

// because tells the values that explain how a request ended, each once.
func (p *printer) because(all []Record) {
	var told []string
	for i := range all {
		for _, b := range all[i].Because {
			value, err := json.Marshal(b.Value)
			if err != nil {
				continue
			}
			text := fmt.Sprintf("%s %s %s  %s", b.Kind, b.Field, value, p.Faint(terminal.OriginText(b.Origin)))
			if !slices.Contains(told, text) {
				p.fact(map[bool]string{true: "who says so"}[len(told) == 0], text)
				told = append(told, text)
			}
		}
	}
}

func (p *printer) fact(what, text string) { p.Line("  %-12s %s", what, text) }

func answeredBy(r *Record) string {
	who := "the sidecar of " + r.Dataplane
	switch r.EndedBy {
	case "service":
		return cmp.Or(r.To, "the workload") + " answered so"
	case "client":
		return "the client went away"
	}
	if r.To != "" {
		return who + " answered, not " + r.To
	}
	return who + " answered by itself"
}

func simulatedText(s *SimulatedRecord) string {
	what := strings.TrimSpace(s.Outcome + " " + map[bool]string{true: fmt.Sprint(s.Status)}[s.Status > 0])
	switch {
	case what == "":
		return "knows nothing of it"
	case s.SameRule:
		return "the same rule: " + what
	case s.Rule != nil:
		return "another rule now, " + documentText(s.Rule) + ": " + what
	}
	return "no rule now: " + what
}

func statusText(status uint32) string {
	if status == 0 {
		return "no answer"
	}
	return fmt.Sprint(status)
}

func millisecondsText(ms float64) string {
	if ms < 10 {
		return fmt.Sprintf("%.1f ms", ms)
	}
	return fmt.Sprintf("%.0f ms", ms)
}

func bracketed(text string) string {
	if text == "" {
		return ""
	}
	return " [" + text + "]"
}

func idText(r *Record) string {
	if r.ID == "" {
		return ""
	}
	return "id " + r.ID
}

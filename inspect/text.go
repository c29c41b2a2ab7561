package inspect

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/sim"
)

// Style is how text is shown.
type Style struct {
	// Colour uses the terminal's colours, and strikes losers through instead of
	// marking them with a cross.
	Colour bool
	// Short leaves out what has no effect, and says what would be said again by
	// where it was said.
	Short bool
}

// Paint is text in a colour or form of the terminal, by its number (ECMA-48 SGR).
func (s Style) Paint(code, text string) string {
	if !s.Colour {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

func (s Style) strong(text string) string { return s.Paint("1", text) }
func (s Style) faint(text string) string  { return s.Paint("2", text) }

// loser is a value that does not hold.
func (s Style) loser(text string) string {
	if !s.Colour {
		return "✗ " + text
	}
	return s.Paint("9;2", text)
}

// ExplanationText writes an explanation for people.
func ExplanationText(w io.Writer, e Explanation, s Style) error {
	p := printer{Style: s}
	p.line("%s  %s", s.strong("Dataplane "+e.Dataplane), s.faint(revisions(e)))
	if e.Identity != nil {
		p.line("  %s  %s", e.Identity.text(), s.faint("by "+OriginText(e.Identity.By)))
	}
	if e.Closed != nil {
		p.line("  redirected ports that no inbound names are closed  %s", s.faint("by "+OriginText(e.Closed)))
	}
	secure := map[uint32]bool{}
	for _, x := range e.Edges {
		secure[x.Port] = len(x.TLS) > 0
		p.line("")
		what := counted(x.Hosts, "host", "hosts")
		if x.Connections {
			what = "whole connections"
		}
		p.line("%s  %s", s.strong(fmt.Sprintf("⇐ edge at %s:%d", x.Address, x.Port)), s.faint(what))
		for i := range x.TLS {
			p.line("  %s  %s", x.TLS[i].Name, s.faint(shownText(&x.TLS[i])))
		}
	}
	for _, o := range e.Outbounds {
		p.line("")
		p.at = destinationText(o.Destination)
		at := "at"
		if o.Edge {
			at = "from outside at"
		}
		protocol := string(o.Protocol)
		if o.Edge && secure[o.Port] && o.Protocol != api.TCP {
			protocol = api.HTTPS
		}
		p.line("%s  %s", s.strong("→ "+p.at), s.faint(fmt.Sprintf("%s %s:%d, %s", at, o.Address, o.Port, protocol)))
		for i := range o.Routes {
			p.route(&o.Routes[i])
		}
		if len(o.Routes) == 0 {
			p.policies("  ", o.Policies)
		}
	}
	for _, in := range e.Inbounds {
		p.line("")
		p.at = "inbound " + in.Name
		p.line("%s  %s", s.strong("← inbound "+in.Name), s.faint(fmt.Sprintf("at %s:%d, %s", in.Address, in.Port, in.Protocol)))
		if in.TLS != nil {
			p.line("  %s  %s", in.TLS.text(), s.faint("by "+OriginText(in.TLS.By)))
		}
		p.policies("  ", in.Policies)
		p.inboundRoutes(in.Routes)
		for _, c := range in.Callers {
			p.line("  callers %s %s", c.SpiffeID.Type, c.SpiffeID.Value)
			p.policies("    ", c.Policies)
		}
	}
	if s.Short {
		p.notes(e.Notes)
		p.leftOut(e.UnmatchedTotal)
		return p.flush(w)
	}
	p.unmatched(e.Unmatched, e.UnmatchedTotal)
	p.notes(e.Notes)
	return p.flush(w)
}

// revisions says which revision is explained, and which one the Envoy has, if
// that is known.
func revisions(e Explanation) string {
	text := fmt.Sprintf("revision %d", e.Revision)
	switch {
	case e.Connected == nil && e.Acked != 0, e.Connected != nil && *e.Connected:
		text += fmt.Sprintf(", its Envoy has %d", e.Acked)
	case e.Connected != nil && e.Acked != 0:
		text += fmt.Sprintf(", its sidecar is not connected; its Envoy had %d when it was last seen", e.Acked)
	case e.Connected != nil:
		text += ", its sidecar is not connected"
	}
	return text
}

// printer collects lines.
type printer struct {
	Style
	text strings.Builder
	at   string            // what is being described
	said map[string]string // what was said of policies, and where
	idle int               // fields that were left out, for they have no effect
}

func (p *printer) line(format string, args ...any) {
	fmt.Fprintf(&p.text, format, args...)
	p.text.WriteByte('\n')
}

func (p *printer) flush(w io.Writer) error {
	for line := range strings.Lines(p.text.String()) {
		if _, err := fmt.Fprintln(w, strings.TrimRight(line, " \n")); err != nil {
			return err
		}
	}
	return nil
}

func (p *printer) route(r *Route) {
	title := ruleText(r.ServerName, r.Matches)
	if r.ShadowedBy != nil {
		p.line("  %s  never reached: %s takes all of it", p.loser(title), originsText(r.ShadowedBy.Origins))
		return
	}
	p.line("  %s", p.strong(title))
	p.line("    %s", originsText(slices.Concat(r.Over, r.Origins)))
	if len(r.Via) > 0 {
		p.line("    included by %s", originsText(r.Via))
	}
	for _, f := range r.Filters {
		p.line("    %s  %s", f, p.faint(OriginText(r.FiltersBy)))
	}
	if r.Answer != "" {
		p.line("    %s  %s", r.Answer, p.faint(by(r.BackendsBy)))
	}
	if len(r.Backends) > 0 {
		p.line("    to %s  %s", backendsText(r.Backends), p.faint(by(r.BackendsBy)))
	}
	for _, l := range r.Lost {
		for _, text := range l.Texts {
			p.line("    %s  %s", p.loser(text), p.faint(OriginText(l.Origin)+", overridden by "+OriginText(l.By)))
		}
	}
	if r.Hash != "" {
		p.line("    hash of %s  %s", r.Hash, p.faint(by(r.BackendsBy)))
	}
	if text := socketsText[r.WebSockets]; text != "" {
		p.line("    %s  %s", text, p.faint(by(r.BackendsBy)))
	}
	outer := p.at
	p.at += ", " + title
	p.policies("    ", r.Policies)
	p.onward("    ", r.Backends)
	p.at = outer
}

// socketsText is what a rule says about WebSockets.
var socketsText = map[string]string{"on": "WebSockets pass", "off": "WebSockets are refused with 403"}

func by(o *api.Origin) string {
	if o == nil {
		return ""
	}
	return OriginText(o)
}

func backendsText(list []sim.Backend) string {
	texts := make([]string, len(list))
	for i, b := range list {
		texts[i] = BackendText(b)
		if len(list) > 1 {
			texts[i] = fmt.Sprintf("%.4g%% %s", 100*b.Share, texts[i])
		}
	}
	if len(texts) == 0 {
		return "nobody"
	}
	return strings.Join(texts, ", ")
}

// maxUnmatchedLines is how many of those that do not apply a person reads.
const maxUnmatchedLines = 20

func (p *printer) unmatched(list []Unmatched, total int) {
	if total == 0 {
		return
	}
	list = list[:min(len(list), maxUnmatchedLines)]
	p.line("")
	p.line("%s", p.strong("Not applied"))
	for _, x := range list {
		p.line("  %s  %s", x.Object, p.faint(x.Reason))
	}
	if more := total - len(list); more > 0 {
		p.line("  and %d more", more)
	}
}

func (p *printer) notes(list []api.Note) {
	if len(list) > 0 {
		p.line("")
		p.line("%s", p.strong("Notes"))
	}
	for _, n := range list {
		text := noteText(n)
		if n.Origin != nil && n.Field == n.Origin.Field {
			text = n.Message // the origin says where
		}
		p.line("  %s %s %s: %s", n.Severity, n.Code, p.strong(OriginText(n.Origin)), text)
	}
}

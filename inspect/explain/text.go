package explain

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/inspect/terminal"
)

// inboundRoutesText tells who may send the requests of each rule; where no rule is told apart the
// policies say it.
func inboundRoutesText(p *terminal.Printer, routes []InboundRoute) {
	for i := range routes {
		r := &routes[i]
		from := "every other request"
		if len(r.Rules) > 0 {
			from = terminal.OriginText(r.Rules[len(r.Rules)-1])
		} else if len(routes) == 1 {
			from = "every request"
		}
		p.Line("  who may call: %s  %s", r.Match, p.Faint(from))
		if r.Closed != "" {
			p.Line("    nobody: %s", r.Closed)
			continue
		}
		if r.Permissions == nil {
			p.Line("    nobody: no document lets anybody in")
			continue
		}
		p.PermissionLists(r.Permissions)
		for _, also := range r.Permissions.Also {
			p.Line("    and as well, for requests of several rules arrive so:")
			p.PermissionLists(also)
		}
	}
}

// Text writes an explanation for people.
func Text(w io.Writer, e Explanation, s terminal.Style) error {
	p := terminal.Printer{Style: s}
	p.Line("%s  %s", s.Strong("Dataplane "+e.Dataplane), s.Faint(revisions(e)))
	if e.Identity != nil {
		p.Line("  %s  %s", e.Identity.text(), s.Faint("by "+terminal.OriginText(e.Identity.By)))
	}
	if e.Closed != nil {
		p.Line("  redirected ports that no inbound names are closed  %s", s.Faint("by "+terminal.OriginText(e.Closed)))
	}
	secure := map[uint32]bool{}
	for _, x := range e.Edges {
		secure[x.Port] = len(x.TLS) > 0
		p.Line("")
		what := terminal.Counted(x.Hosts, "host", "hosts")
		if x.Connections {
			what = "whole connections"
		}
		p.Line("%s  %s", s.Strong(fmt.Sprintf("⇐ edge at %s:%d", x.Address, x.Port)), s.Faint(what))
		for i := range x.TLS {
			p.Line("  %s  %s", x.TLS[i].Name, s.Faint(x.TLS[i].text()))
		}
	}
	for _, o := range e.Outbounds {
		p.Line("")
		p.At = terminal.DestinationText(o.Destination)
		at := "at"
		if o.Edge {
			at = "from outside at"
		}
		protocol := string(o.Protocol)
		if o.Edge && secure[o.Port] && o.Protocol != api.TCP {
			protocol = api.HTTPS
		}
		p.Line("%s  %s", s.Strong("→ "+p.At), s.Faint(fmt.Sprintf("%s %s:%d, %s", at, o.Address, o.Port, protocol)))
		for i := range o.Routes {
			o.Routes[i].text(&p)
		}
		if len(o.Routes) == 0 {
			p.Policies("  ", o.Policies)
		}
	}
	for _, in := range e.Inbounds {
		p.Line("")
		p.At = "inbound " + in.Name
		p.Line("%s  %s", s.Strong("← inbound "+in.Name), s.Faint(fmt.Sprintf("at %s:%d, %s", in.Address, in.Port, in.Protocol)))
		if in.TLS != nil {
			p.Line("  %s  %s", in.TLS.text(), s.Faint("by "+terminal.OriginText(in.TLS.By)))
		}
		p.Policies("  ", in.Policies)
		inboundRoutesText(&p, in.Routes)
		for _, c := range in.Callers {
			p.Line("  callers %s %s", c.SpiffeID.Type, c.SpiffeID.Value)
			p.Policies("    ", c.Policies)
		}
	}
	if len(e.Policies) > 0 {
		p.Line("")
		p.At = "the dataplane as a whole"
		p.Line("%s", s.Strong("the dataplane as a whole"))
		p.Policies("  ", e.Policies)
	}
	if s.Short {
		p.Notes(e.Notes)
		p.LeftOut(e.NotAppliedTotal)
		return p.Flush(w)
	}
	notAppliedText(&p, e.NotApplied, e.NotAppliedTotal)
	p.Notes(e.Notes)
	return p.Flush(w)
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

func (r *Route) text(p *terminal.Printer) {
	title := terminal.RuleText(r.ServerName, r.Matches)
	if r.ShadowedBy != nil {
		p.Line("  %s  never reached: %s takes all of it", p.Loser(title), terminal.OriginsText(r.ShadowedBy.Origins))
		return
	}
	p.Line("  %s", p.Strong(title))
	p.Line("    %s", terminal.OriginsText(slices.Concat(r.Over, r.Origins)))
	if len(r.Via) > 0 {
		p.Line("    included by %s", terminal.OriginsText(r.Via))
	}
	for _, f := range r.Filters {
		p.Line("    %s  %s", f, p.Faint(terminal.OriginText(r.FiltersBy)))
	}
	if r.Answer != "" {
		p.Line("    %s  %s", r.Answer, p.Faint(terminal.By(r.BackendsBy)))
	}
	if len(r.Backends) > 0 {
		p.Line("    to %s  %s", terminal.BackendsText(r.Backends), p.Faint(terminal.By(r.BackendsBy)))
	}
	for _, l := range r.SupersededLists {
		for _, text := range l.Texts {
			p.Line("    %s  %s", p.Loser(text), p.Faint(terminal.OriginText(l.Origin)+", overridden by "+terminal.OriginText(l.By)))
		}
	}
	if r.Hash != "" {
		p.Line("    hash of %s  %s", r.Hash, p.Faint(terminal.By(r.BackendsBy)))
	}
	if text := socketsText[r.WebSockets]; text != "" {
		p.Line("    %s  %s", text, p.Faint(terminal.By(r.BackendsBy)))
	}
	outer := p.At
	p.At += ", " + title
	p.Policies("    ", r.Policies)
	p.Onward("    ", r.Backends)
	p.At = outer
}

// socketsText is what a rule says about WebSockets.
var socketsText = map[string]string{"on": "WebSockets pass", "off": "WebSockets are refused with 403"}

// maxNotAppliedLines is how many of those that do not apply a person reads.
const maxNotAppliedLines = 20

func notAppliedText(p *terminal.Printer, list []NotApplied, total int) {
	if total == 0 {
		return
	}
	list = list[:min(len(list), maxNotAppliedLines)]
	p.Line("")
	p.Line("%s", p.Strong("Not applied"))
	for _, x := range list {
		p.Line("  %s  %s", x.Object, p.Faint(x.Reason))
	}
	if more := total - len(list); more > 0 {
		p.Line("  and %d more", more)
	}
}

// text is what becomes of those who ask for a name in TLS.
func (t *Shown) text() string {
	var parts []string
	if len(t.Secrets) > 0 {
		parts = append(parts, "TLS "+t.Minimum+" and newer", "certificate "+strings.Join(t.Secrets, ", "))
	}
	switch {
	case !t.Connections:
		parts = append(parts, terminal.Counted(t.Hosts, "host", "hosts"))
	case t.Hosts == 0:
		parts = append(parts, "connections are closed: no route has the name")
	case len(t.Secrets) > 0:
		parts = append(parts, "whole connections")
	default:
		parts = append(parts, "whole connections, with their TLS")
	}
	return strings.Join(parts, ", ")
}

package inspect

import (
	"fmt"
	"io"
	"strings"

	"github.com/weftmesh/weft/sim"
)

// VerdictText writes a verdict for people.
func VerdictText(w io.Writer, v sim.Verdict, s Style) error {
	p := printer{Style: s}
	p.line("%s  %s", s.strong(v.Request.Method+" "+v.Request.URL), s.faint("from "+v.From))
	if v.Destination != nil {
		p.line("to %s", destinationText(*v.Destination))
	}
	for i := range v.Branches {
		p.branch(&v.Branches[i], len(v.Branches) > 1)
	}
	if len(v.Missed) > 0 {
		p.line("")
		p.line("%s", s.strong("Looked at before, and not taken"))
	}
	for _, m := range v.Missed {
		p.line("  %s: %s", originsText(m.Origins), m.Reason)
	}
	p.notes(v.Notes)
	return p.flush(w)
}

func (p *printer) branch(b *sim.Branch, several bool) {
	p.line("")
	lead := ""
	if several {
		lead = fmt.Sprintf("with probability %.4g: ", b.Probability)
	}
	grpc := ""
	if b.GRPCStatus != nil {
		grpc = fmt.Sprintf(" (gRPC status %d)", *b.GRPCStatus)
	}
	switch b.Outcome {
	case sim.Redirect:
		p.line("%s%s", lead, p.strong(fmt.Sprintf("redirect %d to %s%s", b.Status, b.Location, grpc)))
	case sim.Respond:
		p.line("%s%s", lead, p.strong(fmt.Sprintf("the proxy answers %d%s", b.Status, grpc)))
	case sim.Passthrough:
		p.line("%s%s", lead, p.strong("passes through: no service of the mesh has that name or address"))
	default:
		p.line("%s%s", lead, p.strong("forward to "+backendsText(b.Backends)))
	}
	if b.Outcome == sim.Respond && len(b.Backends) > 0 {
		p.line("  instead of %s", backendsText(b.Backends))
	}
	if b.Route != nil {
		p.line("  route %s", matchesText(b.Route.Matches))
		p.line("    %s", originsText(b.Route.Origins))
	}
	p.forwarded(b)
	for _, m := range b.Mirrors {
		p.line("  copy of %.4g%% to %s", 100*m.Share, backendText(sim.Backend{Name: m.Name, Namespace: m.Namespace, Tags: m.Tags, Port: m.Port}))
	}
	p.policies("  ", b.Policies)
}

func (p *printer) forwarded(b *sim.Branch) {
	if f := b.Forwarded; f != nil {
		p.line("  as %s %s to host %s", f.Method, f.Path, f.Authority)
		for _, n := range sortedKeys(f.Headers) {
			p.line("    %s: %s", n, strings.Join(f.Headers.Values(n), ","))
		}
		for _, n := range f.RemovedHeaders {
			p.line("    %s", p.loser(n))
		}
	}
	if r := b.ResponseHeaders; r != nil {
		p.line("  answer's headers")
		for _, n := range sortedKeys(r.Set) {
			p.line("    %s: %s", n, r.Set[n])
		}
		for _, n := range sortedKeys(r.Add) {
			p.line("    + %s: %s", n, strings.Join(r.Add.Values(n), ","))
		}
		for _, n := range r.Remove {
			p.line("    %s", p.loser(n))
		}
	}
}

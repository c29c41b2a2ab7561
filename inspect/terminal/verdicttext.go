package terminal

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/sim"
	"github.com/weftmesh/weft/sim/lookup"
	"github.com/weftmesh/weft/sim/permission"
	"github.com/weftmesh/weft/sim/timeline"
	"github.com/weftmesh/weft/sim/wire"
)

// VerdictText writes a verdict for people.
func VerdictText(w io.Writer, v sim.Verdict, s Style) error {
	p := Printer{Style: s}
	p.Line("%s  %s", s.Strong(strings.TrimSpace(v.Request.Method+" "+v.Request.URL+given(" with SNI ", v.Request.SNI))), s.Faint("from "+v.From))
	if v.Destination != nil {
		p.Line("to %s", DestinationText(*v.Destination))
	}
	for i := range v.Branches {
		p.branch(&v.Branches[i], len(v.Branches) > 1)
	}
	if len(v.Unknown) > 0 {
		p.Line("")
		p.Line("%s", s.Strong("Outside what the simulator knows"))
	}
	for _, u := range v.Unknown {
		p.Line("  %s", u)
	}
	if len(v.Missed) > 0 {
		p.Line("")
		p.Line("%s", s.Strong("Looked at before, and not taken"))
	}
	shown := nearestMisses(v.Missed, missesShown)
	for _, m := range shown {
		p.Line("  %s: %s", OriginsText(m.Origins), m.Reason)
	}
	if more := len(v.Missed) - len(shown); more > 0 {
		p.Line("  %s", s.Faint(fmt.Sprintf("and %d more, whose path is another one or that stand further up; -o json lists all", more)))
	}
	p.Notes(v.Notes)
	return p.Flush(w)
}

// missesShown is how many rules that were not taken people are shown of a table of thousands.
const missesShown = 20

// nearestMisses are at most n rules that were not taken, in the order of the table: those that miss
// the request by another condition than the path, then those next to the rule that takes it.
func nearestMisses(all []lookup.Miss, n int) []lookup.Miss {
	if len(all) <= n {
		return all
	}
	byPath := func(m *lookup.Miss) bool { return strings.HasPrefix(m.Reason, "path ") }
	show := make([]bool, len(all))
	for _, want := range []bool{false, true} {
		for i := len(all) - 1; i >= 0 && n > 0; i-- {
			if byPath(&all[i]) == want {
				show[i] = true
				n--
			}
		}
	}
	var out []lookup.Miss
	for i := range all {
		if show[i] {
			out = append(out, all[i])
		}
	}
	return out
}

func (p *Printer) branch(b *sim.Branch, several bool) {
	p.Line("")
	lead := ""
	if several {
		lead = fmt.Sprintf("with probability %.4g%s: ", b.Probability, drawsText(b.Draws))
	}
	grpc := ""
	if b.GRPCStatus != nil {
		grpc = fmt.Sprintf(" (gRPC status %d)", *b.GRPCStatus)
	}
	switch b.Outcome {
	case sim.Redirect:
		p.Line("%s%s", lead, p.Strong(fmt.Sprintf("redirect %d to %s%s", b.Status, b.Location, grpc)))
	case sim.Respond:
		preflight := ""
		if b.Preflight {
			preflight = " to the preflight"
		}
		p.Line("%s%s", lead, p.Strong(fmt.Sprintf("the proxy answers %d%s%s", b.Status, preflight, grpc)))
	case sim.Passthrough:
		p.Line("%s%s", lead, p.Strong("passes through: no service or host of the mesh takes it"))
	case sim.Close:
		p.Line("%s%s", lead, p.Strong("the proxy closes the connection"))
	case sim.Refused:
		p.Line("%s%s", lead, p.Strong("the sidecar that is called refuses the connection"))
	default:
		p.Line("%s%s", lead, p.Strong("forward to "+BackendsText(b.Backends)))
	}
	switch {
	case b.Permission != nil && b.Permission.Decision == permission.Deny:
		p.Line("  at %s", BackendsText(b.Backends))
	case b.Reason != "" && len(b.Backends) == 0:
		p.Line("  %s", b.Reason)
	case b.Reason != "":
		p.Line("  at %s: %s", BackendsText(b.Backends), b.Reason)
	case (b.Outcome == sim.Respond || b.Outcome == sim.Close) && len(b.Backends) > 0:
		p.Line("  instead of %s", BackendsText(b.Backends))
	}
	if b.Route != nil {
		p.Line("  route %s", RuleText(b.Route.ServerName, b.Route.Matches))
		p.Line("    %s", OriginsText(b.Route.Origins))
	}
	for _, a := range b.Authorization {
		p.Line("  asks the authorization service: %s", a)
	}
	p.clientLimit(b.ClientLimit)
	for _, f := range b.Faults {
		p.Line("  %s", f)
	}
	if b.Delay > 0 {
		p.Line("  waits %s", b.Delay)
	}
	p.forwarded(b)
	for _, m := range b.Mirrors {
		p.Line("  copy of %.4g%% to %s", 100*m.Share, BackendText(sim.Backend{Name: m.Name, Namespace: m.Namespace, Tags: m.Tags, Port: m.Port}))
	}
	for _, o := range b.Observed {
		p.Line("  %s", o)
	}
	p.permission("  ", b.Permission)
	p.Policies("  ", b.Policies)
	p.logged("  ", b.Policies)
	p.Onward("  ", b.Backends)
	p.attempts("  ", b.Attempts, b.Ends)
	for i := range b.Backends {
		p.inbounds(&b.Backends[i], len(b.Backends) > 1)
	}
}

// clientLimit is what the request counts against.
func (p *Printer) clientLimit(l *sim.ClientLimit) {
	if l == nil {
		return
	}
	by := strings.Join(l.Headers, " and ")
	each := fmt.Sprintf("%d requests in %s for each client by %s", l.Requests, l.Interval, by)
	switch {
	case l.Client == nil:
		p.Line("  not limited: the request has no %s, by which clients are told apart (limit: %s)", by, each)
		return
	case l.Buckets > 1:
		each += fmt.Sprintf(", in each of %d buckets", l.Buckets)
	}
	who := make([]string, len(l.Headers))
	for i, name := range l.Headers {
		who[i] = fmt.Sprintf("%s %q", name, l.Client[name])
	}
	p.Line("  counts for the client with %s: %s, and then %d", strings.Join(who, " and "), each, l.Status)
}

// drawsText are the draws by which a request comes to a branch.
func drawsText(list []wire.Span) string {
	texts := make([]string, len(list))
	for i, s := range list {
		texts[i] = fmt.Sprintf("%d to %d", s.From, s.Until-1)
	}
	if len(list) == 0 { // it depends on which dataplane is called
		return ""
	}
	return ", by a draw from " + strings.Join(texts, ", ")
}

// inbounds is what the called side does. Where nothing holds there and all are
// alike, there is nothing to tell.
func (p *Printer) inbounds(b *sim.Backend, several bool) {
	for i := range b.Inbounds {
		in := &b.Inbounds[i]
		if len(b.Inbounds) == 1 && len(in.Policies) == 0 && in.Outcome == sim.Forward {
			continue
		}
		who := strings.Join(in.Names, ", ")
		if more := in.Dataplanes - len(in.Names); more > 0 {
			who += fmt.Sprintf(" and %d more", more)
		}
		if several {
			who += " for " + BackendText(*b)
		}
		part := ""
		if len(b.Inbounds) > 1 {
			part = fmt.Sprintf("%.4g%% ", 100*in.Share)
		}
		switch {
		case in.Outcome == sim.Respond:
			p.Line("  then, at %s: %sits proxy answers %d", who, part, in.Status)
		case in.Outcome == sim.Refused:
			p.Line("  then, at %s: %sits proxy refuses the connection", who, part)
		case in.Outcome == sim.Reset:
			p.Line("  then, at %s: %sits proxy resets the stream, which counts as %d", who, part, in.Status)
		case len(in.Policies) == 0:
			p.Line("  then, at %s: %sto its workload, without policies", who, part)
		default:
			p.Line("  then, at %s: %sto its workload, under", who, part)
		}
		for _, f := range in.Faults {
			p.Line("    %s", f)
		}
		p.Policies("    ", in.Policies)
		p.logged("    ", in.Policies)
		p.attempts("    ", in.Attempts, in.Ends)
	}
}

// logged says where lines of it are written.
func (p *Printer) logged(indent string, views map[string]sim.Policy) {
	for _, kind := range slices.Sorted(maps.Keys(views)) {
		view := views[kind]
		if to, by := view.Logged(); len(to) > 0 {
			p.Line("%slogged to %s  %s", indent, strings.Join(to, ", "), p.Faint(OriginsText(by)))
		}
	}
}

// attempts is what happens in time.
func (p *Printer) attempts(indent string, list []timeline.Attempt, ends []timeline.EndOfAll) {
	if len(list) == 0 {
		return
	}
	p.Line("%sin time, if the workloads answer so", indent)
	for i, a := range list {
		ended := ""
		if i < len(list)-1 {
			ended = "; again"
			if next := list[i+1].Wait; next > 0 {
				ended += fmt.Sprintf(" after a wait of up to %s", next)
			}
		}
		p.Line("%s  attempt %d at %s: %s: %s%s", indent, a.Attempt, span(a.Earliest, a.Latest), a.Answer, how(a.Ended, a.Status), ended)
	}
	for i, e := range ends {
		lead := "ends"
		if i > 0 {
			lead = "or ends"
		}
		attempts := "1 attempt"
		if e.Attempts > 1 {
			attempts = fmt.Sprintf("%d attempts", e.Attempts)
		}
		p.Line("%s  %s", indent, p.Strong(fmt.Sprintf("%s at %s after %s: %s", lead, span(e.Earliest, e.Latest), attempts, how(e.By, e.Status))))
	}
}

// span is a moment that chance puts between two.
func span(earliest, latest api.Duration) string {
	if earliest == latest {
		return earliest.String()
	}
	return earliest.String() + " to " + latest.String()
}

// how is an end and the status that goes with it.
func how(by timeline.Ended, status uint32) string {
	switch by {
	case timeline.ByAnswer:
		return fmt.Sprint(status)
	case timeline.ByReset:
		return fmt.Sprintf("%d, the stream is reset", status)
	case timeline.ByRefusal:
		return fmt.Sprintf("%d, no connection", status)
	}
	return fmt.Sprintf("%d by %s", status, by)
}

func (p *Printer) forwarded(b *sim.Branch) {
	if f := b.Forwarded; f != nil {
		p.Line("  as %s %s to host %s", f.Method, f.Path, f.Authority)
		for _, n := range slices.Sorted(maps.Keys(f.Headers)) {
			p.Line("    %s: %s", n, strings.Join(f.Headers.Values(n), ","))
		}
		for _, n := range f.RemovedHeaders {
			p.Line("    %s", p.Loser(n))
		}
	}
	if r := b.ResponseHeaders; r != nil {
		p.Line("  answer's headers")
		for _, n := range slices.Sorted(maps.Keys(r.Set)) {
			p.Line("    %s: %s", n, r.Set[n])
		}
		for _, n := range slices.Sorted(maps.Keys(r.Add)) {
			p.Line("    + %s: %s", n, strings.Join(r.Add.Values(n), ","))
		}
		for _, n := range r.Remove {
			p.Line("    %s", p.Loser(n))
		}
	}
}

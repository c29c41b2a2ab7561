package notes

import (
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/inspect/terminal"
	"github.com/weftmesh/weft/merge"
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/resolve/impact"
	"github.com/weftmesh/weft/sim/timeline"
)

// idleBeforeTimeout is the code of a stream without bytes that ends before the request may take as
// long as it may; shadowedTimeout is that of a bound in time that never fires, since a shorter one that somebody
// else, or another field, says comes first.
const (
	idleBeforeTimeout = "IdleBeforeTimeout"
	shadowedTimeout   = "ShadowedTimeout"
)

// bound is one limit in time on a request or an attempt, and who says it.
type bound struct {
	path   string
	length time.Duration // 0 is none
	said   merge.Said
	known  bool // somebody says it, be it weft itself
}

// holds reports whether the bound limits anything.
func (b *bound) holds() bool { return b.known && b.length > 0 }

// ends reports whether b always comes before o: o is longer, or says that there is no limit. Of two that are
// as long either may come first, and both end the request when they say.
func (b *bound) ends(o *bound) bool {
	return b.holds() && o.known && (o.length == 0 || b.length < o.length)
}

// boundOf is the field of that name of a policy, where it acts on a protocol.
func boundOf(e *policies.Effective, name string, length time.Duration, spoken api.Protocol) bound {
	for _, f := range e.Fields {
		path := e.Kind.Schema.Leaves[f.Field].Path
		if strings.HasSuffix("."+path, "."+name) && e.Applies(f.Field, spoken) {
			return bound{path, length, f.Winner(), true}
		}
	}
	return bound{}
}

// bounds are the limits of one side.
type bounds struct{ request, idle, stream bound }

// timersOf are the limits that policies say where a protocol is spoken.
func timersOf(list effective.Policies, spoken api.Protocol) (out bounds) {
	for _, e := range list {
		if x, ok := e.Conf.(timeline.Timer); ok {
			t := x.Timeouts()
			out.request = boundOf(e, "requestTimeout", t.Request, spoken)
			out.idle = boundOf(e, "streamIdleTimeout", t.StreamIdle, spoken)
			out.stream = boundOf(e, "maxStreamDuration", t.Stream, spoken)
		}
	}
	return out
}

// caller is how the calling side limits what a rule takes.
type caller struct {
	bounds
	perTry bound
	// retries is what repeats requests, and plan how it does; few ask that.
	retries timeline.Retrier
	spoken  api.Protocol
	plan    *timeline.RetryPlan
}

// callerOf reads what policies say of a rule. Streams are limited by its clusters.
func callerOf(rt *effective.Route, spoken api.Protocol) caller {
	c := caller{bounds: timersOf(rt.Policies, spoken), spoken: spoken}
	c.stream = bound{}
	for _, e := range rt.Policies {
		x, ok := e.Conf.(timeline.Retrier)
		if !ok {
			continue
		}
		c.retries = x
		if b := boundOf(e, "perTryTimeout", 0, spoken); b.known && c.retryPlan().Retries > 0 {
			b.length = c.retryPlan().PerTry
			c.perTry = b
		}
	}
	return c
}

// retryPlan is how requests are repeated; without retries where they are not.
func (c *caller) retryPlan() *timeline.RetryPlan {
	if c.plan == nil {
		c.plan = &timeline.RetryPlan{}
		if c.retries != nil {
			if p, ok := c.retries.RetryPlan(c.spoken); ok {
				c.plan = &p
			}
		}
	}
	return c.plan
}

// overAttempts reports whether what ends an attempt ends the request too, since it is not repeated.
func (c *caller) overAttempts() bool {
	plan := c.retryPlan()
	return plan.Retries == 0 || !plan.Reset
}

// boundNotes are what there is to say on limits that never fire. It serves one question.
type boundNotes struct {
	snapshot *snapshot.Snapshot
	Collector
}

// outbound is about the limits of r itself at an outbound.
func (n *boundNotes) outbound(r *effective.Resolved, o *effective.Outbound) {
	for rt, of := range callersAt(o) {
		c := of()
		if c.idle.holds() && c.idle.length < c.request.length && n.written(&c.idle) {
			n.tell(&c.idle, idleBeforeTimeout, "a request that sends nothing for %s ends, although it may take %s (%s); make it at least as long as the request timeout", c.idle.length, c.request.length, byText(&c.request))
		}
		const once = "which retryOn does not repeat"
		if c.perTry.holds() && c.overAttempts() {
			n.shadows(&c.perTry, &c.request, once, true)
		}
		for i := range rt.Backends {
			b := &rt.Backends[i]
			use := ClusterNamed(r, b.Cluster)
			if b.Weight == 0 || use == nil {
				continue
			}
			stream := timersOf(use.Policies, use.Protocol()).stream
			if stream.holds() && c.overAttempts() {
				n.shadows(&stream, &c.request, once, false)
			}
			n.shadows(&stream, &c.perTry, "", false)
			if stream.length > 0 { // none is no limit that anybody waits for
				n.shadows(&c.request, &stream, "", false)
				n.shadows(&c.perTry, &stream, "", false)
			}
		}
	}
}

// callersAt yields the rules at an outbound that forward, each once, with their limits, which hold until the
// next one.
func callersAt(o *effective.Outbound) func(yield func(*effective.Route, func() *caller) bool) {
	return func(yield func(*effective.Route, func() *caller) bool) {
		if o.Table == nil {
			return
		}
		seen := map[string]bool{}
		var c caller
		for _, rt := range o.Table.Routes {
			if seen[rt.Key] || rt.Answers() != nil {
				continue
			}
			seen[rt.Key] = true
			if !yield(rt, func() *caller { c = callerOf(rt, o.Protocol()); return &c }) {
				return
			}
		}
	}
}

// inbound is about the limits of a rule of callers that an inbound which it leads to makes void.
func (n *boundNotes) inbound(c *caller, in *effective.Inbound) {
	for ps := range inboundPolicies(in) {
		t := timersOf(ps, in.Protocol)
		for _, b := range []*bound{&t.request, &t.stream} {
			const at = "which the called sidecar has"
			if plan := c.retryPlan(); plan.Retries == 0 || !plan.Status(504) {
				n.shadows(b, &c.request, at, false)
			}
			if c.perTry.length > 0 {
				n.shadows(b, &c.perTry, at, false)
			}
		}
	}
}

// inboundPolicies are what holds of all callers, and of those that are told apart.
func inboundPolicies(in *effective.Inbound) iter.Seq[effective.Policies] {
	return func(yield func(effective.Policies) bool) {
		if !yield(in.Policies) {
			return
		}
		for _, c := range in.Callers {
			if !yield(c.Policies) {
				return
			}
		}
	}
}

// shadows tells the authors of two limits that the longer one never fires. Where nobody wrote the
// longer one the shorter is what its author wants, unless it is one that is odd by itself.
func (n *boundNotes) shadows(shorter, longer *bound, how string, odd bool) {
	if odd && shorter.holds() && !longer.known {
		longer = &bound{path: "requestTimeout", known: true}
	}
	if !shorter.ends(longer) {
		return
	}
	wrote, wroteShorter := n.written(longer), n.written(shorter)
	if how != "" {
		how = ", " + how
	}
	wants := fmt.Sprintf("%s is %s", longer.path, longer.length)
	if longer.length == 0 {
		wants = fmt.Sprintf("%s says that there is no limit", longer.path)
	}
	same := shorter.said.Origin != nil && longer.said.Origin != nil && shorter.said.Origin.Same(longer.said.Origin)
	if wrote {
		n.tell(longer, shadowedTimeout, "it never fires: %s of %s (%s%s) comes first; make that longer, or this shorter", shorter.path, shorter.length, byText(shorter), how)
	}
	if wrote && wroteShorter && !same || odd && !wrote && n.anybody(shorter) || odd && wrote && !same && n.anybody(shorter) {
		n.tell(shorter, shadowedTimeout, "requests end after %s%s, although %s (%s); make it longer, or leave it out", shorter.length, how, wants, byText(longer))
	}
}

// anybody reports whether a document says the limit.
func (n *boundNotes) anybody(b *bound) bool {
	return b.said.Origin != nil && b.said.Layer != merge.Default && n.snapshot.Has(b.said.Origin.Ref)
}

// written reports whether somebody wrote the limit: neither weft nor what came with the mesh.
func (n *boundNotes) written(b *bound) bool {
	if !n.anybody(b) {
		return false
	}
	o, _ := n.snapshot.Get(b.said.Origin.Ref)
	return !o.IsDefault()
}

func (n *boundNotes) tell(b *bound, code, format string, args ...any) {
	at := b.said.Origin.Field
	if o, ok := n.snapshot.Get(b.said.Origin.Ref); ok {
		if _, policy := o.Spec.(*policies.Spec); policy {
			at = confField(at, b.said.Override, b.path)
		}
	}
	n.Add(api.Note{Origin: b.said.Origin, Severity: api.Warning, Code: code, Field: at, Message: fmt.Sprintf(format, args...)})
}

// confField is where a field of a conf stands in the document of its policy.
func confField(entry api.Path, override bool, path string) api.Path {
	block := "default"
	if override {
		block = "override"
	}
	at := entry.Field(block)
	for part := range strings.SplitSeq(path, ".") {
		at = at.Field(part)
	}
	return at
}

// byText is who says a limit, in words.
func byText(b *bound) string {
	if b.said.Origin == nil || b.said.Layer == merge.Default {
		return "by default"
	}
	return "by " + terminal.OriginText(b.said.Origin)
}

// ClusterNamed is the cluster of that name; nil where r has none.
func ClusterNamed(r *effective.Resolved, name string) *effective.ClusterUse {
	i, ok := slices.BinarySearchFunc(r.Clusters, name, func(c effective.ClusterUse, name string) int { return strings.Compare(c.Cluster.Name, name) })
	if !ok {
		return nil
	}
	return &r.Clusters[i]
}

// ownBounds are the notes on limits of r itself.
func ownBounds(snapshot *snapshot.Snapshot, r *effective.Resolved, outbounds ...*effective.Outbound) []api.Note {
	n := boundNotes{snapshot: snapshot}
	for _, o := range outbounds {
		n.outbound(r, o)
	}
	return n.Notes
}

type (
	longKey  struct{}
	shortKey struct{}
)

// boundsBetween are the notes on limits of callers that those of whom they call make void. It costs
// what came out differently since somebody asked, and the callers of inbounds that have a limit of
// their own, which as a rule are few.
func boundsBetween(m *resolve.Reader, mesh string) []api.Note {
	n := boundNotes{snapshot: m.Snapshot()}
	limited := LimitedOf(m, mesh)
	if len(limited.at) == 0 {
		return nil
	}
	seen := map[ruleUse]bool{}
	for r := range resolve.AtDataplanes(m, mesh, longKey{}, func(r *effective.Resolved) (*effective.Resolved, bool) { return r, len(r.Outbounds) > 0 }) {
		for _, o := range r.Outbounds {
			for rt, of := range callersAt(o) {
				n.called(r, rt, of, limited, seen)
			}
		}
	}
	return n.Notes
}

// ruleUse is a rule with those who answer behind one of its clusters: dataplanes share both.
type ruleUse struct {
	rule      *effective.Route
	endpoints *effective.Endpoints
}

// called is about the limits of a rule that inbounds which it leads to make void. How callers limit it
// is asked of few: most lead to no inbound with a limit.
func (n *boundNotes) called(r *effective.Resolved, rt *effective.Route, of func() *caller, limited *limitedInbounds, seen map[ruleUse]bool) {
	var c *caller
	for i := range rt.Backends {
		use := ClusterNamed(r, rt.Backends[i].Cluster)
		if use == nil || rt.Backends[i].Weight == 0 || seen[ruleUse{rt, use.Endpoints}] {
			continue
		}
		seen[ruleUse{rt, use.Endpoints}] = true
		for i := range use.List {
			in := limited.behind(&use.List[i])
			if in == nil {
				continue
			}
			if c == nil {
				c = of()
			}
			if c.perTry.length == 0 && !n.written(&c.request) {
				return
			}
			n.inbound(c, in)
		}
	}
}

// boundsAt are the notes on limits of callers and those whom they call at one place of an object.
func boundsAt(m *resolve.Reader, p impact.Placement, limited *limitedInbounds) []api.Note {
	n := boundNotes{snapshot: m.Snapshot()}
	var outbounds []*effective.Outbound
	switch {
	case p.Inbound != nil:
		if isLimited(p.Inbound) {
			return boundsBetween(m, p.At.Ref.Mesh)
		}
	case p.Cluster != nil:
		outbounds = p.At.Sending(p.Cluster.Cluster.Name)
	case p.Outbound != nil:
		outbounds = append(outbounds, p.Outbound)
	}
	seen := map[ruleUse]bool{}
	for _, o := range outbounds {
		for rt, of := range callersAt(o) {
			n.called(p.At, rt, of, limited, seen)
		}
	}
	return n.Notes
}

// limitedInbounds finds inbounds that end requests by a limit of their own: of a dataplane when somebody
// asks for it, or those of a whole mesh at once.
type limitedInbounds struct {
	m   *resolve.Reader
	all bool                             // what at does not have has none
	at  map[api.Ref][]*effective.Inbound // by dataplane
}

// LimitedOf are those of a whole mesh. It costs what came out differently since somebody asked.
func LimitedOf(m *resolve.Reader, mesh string) *limitedInbounds {
	l := &limitedInbounds{m, true, map[api.Ref][]*effective.Inbound{}}
	for list := range resolve.AtDataplanes(m, mesh, shortKey{}, limitedAtDataplane) {
		l.at[list.ref] = list.inbounds
	}
	return l
}

// behind is the inbound behind an endpoint where it has a limit of its own; else nil.
func (l *limitedInbounds) behind(e *effective.Endpoint) *effective.Inbound {
	if l.all && len(l.at) == 0 {
		return nil
	}
	list, known := l.at[e.Dataplane]
	if !known && !l.all {
		if r, ok := l.m.Dataplane(e.Dataplane); ok {
			found, _ := limitedAtDataplane(r)
			list = found.inbounds
		}
		l.at[e.Dataplane] = list
	}
	for _, in := range list {
		if in.Port == e.Port && in.Address == e.Address {
			return in
		}
	}
	return nil
}

type limitedAt struct {
	ref      api.Ref
	inbounds []*effective.Inbound
}

// limitedAtDataplane are the inbounds of r that end requests by a limit of their own.
func limitedAtDataplane(r *effective.Resolved) (out limitedAt, ok bool) {
	out.ref = r.Ref
	for _, in := range r.Inbounds {
		if isLimited(in.Inbound) {
			out.inbounds = append(out.inbounds, in.Inbound)
		}
	}
	return out, len(out.inbounds) > 0
}

// isLimited reports whether an inbound ends requests by a limit of its own.
func isLimited(in *effective.Inbound) bool {
	for ps := range inboundPolicies(in) {
		if t := timersOf(ps, in.Protocol); t.request.holds() || t.stream.holds() {
			return true
		}
	}
	return false
}

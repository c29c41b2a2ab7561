package effective

import (
	"cmp"
	"slices"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/merge"
	"github.com/weftmesh/weft/policies"
)

// Attachment is what became of one entry of a document, an item of a policy or a
// rule of a route, at one place: a destination as one class of dataplanes calls
// it, a cluster, or an inbound. It is worked out once for all who share the
// place, and forgotten with it.
type Attachment struct {
	Entry *api.Origin
	// By is the first who stands in the place of what the entry says, or of a part
	// of it; nil for nobody.
	By *api.Origin
	// Acts are the fields of an item that hold and have an effect there, Idle those
	// that have none whoever says them: a bit for each number in the kind's schema.
	// Of a rule the lowest bit of Acts says that it takes requests, the next ones that its filters
	// hold, and where it sends them.
	Acts, Idle uint32
	// FiltersBy and ActionBy are who stands in the place of those alone; nil for nobody.
	FiltersBy, ActionBy *api.Origin
}

// The bits of Acts of a rule.
const (
	TakesRequests uint32 = 1 << iota
	FiltersHold
	ActionHolds
)

// AttachmentState is what an attachment comes to.
type AttachmentState uint8

// The states of an attachment.
const (
	Holds      AttachmentState = iota // all that the entry says has its effect
	Partly                            // a part of it does
	Overridden                        // others stand in its place
	NoEffect                          // nothing of what it says has an effect there
)

// AttachmentState is what the attachment comes to.
func (a *Attachment) State() AttachmentState {
	switch {
	case a.Acts != 0 && a.By == nil && a.Idle == 0:
		return Holds
	case a.Acts != 0:
		return Partly
	case a.By != nil:
		return Overridden
	}
	return NoEffect
}

// Attached is the attachments of one place. A bug in working them out is a failure
// of that place alone: it has none then.
type Attached struct {
	List    []Attachment
	Failure any // what it panicked with
}

func attachedBy(attach func() []Attachment) (a *Attached) {
	a = &Attached{}
	defer func() {
		if a.Failure = recover(); a.Failure != nil {
			a.List = nil
		}
	}()
	a.List = attach()
	return a
}

// Attachments is what became of every entry that is about the destination, for
// those who call it like o: of its listener and routes, sorted by entry.
func (o *Outbound) Attachments() []Attachment { return o.Attached().List }

// Attached is Attachments, or why they are not known.
func (o *Outbound) Attached() *Attached {
	return o.Cache.attachments().Do(func() any { return attachedBy(o.attach) }).(*Attached)
}

func (o *Outbound) attach() []Attachment {
	a := attacher{protocol: o.Protocol()}
	if o.Table == nil {
		if o.TCP != nil {
			a.connections(o.TCP)
		}
		a.policies(o.Policies, func(s policies.Scope) bool { return s != policies.OnCluster })
		return a.sorted()
	}
	seen := [2][]Policies{} // of routes that forward, and of those that have an answer
	for i, r := range o.Table.Routes {
		a.rules(o.Table.Routes[:i], r)
		known := &seen[0]
		if r.Answer != nil {
			known = &seen[1]
		}
		if !slices.ContainsFunc(*known, r.Policies.Is) {
			*known = append(*known, r.Policies)
			a.idle = func(e *policies.Effective, field int) string { return r.Idle(e, field, a.protocol) }
			a.policies(r.Policies, func(s policies.Scope) bool { return s == policies.OnRoute })
		}
	}
	for i := range a.list { // what acts on one of the routes has an effect there
		a.list[i].Idle &^= a.list[i].Acts
	}
	a.idle = nil
	a.policies(o.Policies, func(s policies.Scope) bool { return s == policies.OnListener })
	return a.sorted()
}

// Attachments is what became of every entry that says how the cluster is spoken to.
func (u *ClusterUse) Attachments() []Attachment { return u.Attached().List }

// Attached is Attachments, or why they are not known.
func (u *ClusterUse) Attached() *Attached { return attachedIn(u.Policies, u.Protocol()) }

// Protocol is what the dataplane speaks to the cluster: that of the destination, or
// plain TCP where only whole connections reach it.
func (u *ClusterUse) Protocol() api.Protocol {
	if u.ConnectionsOnly {
		return api.TCP
	}
	return u.Destination.RequestProtocol()
}

// Attachments is what became of every entry that is about the inbound.
func (in *Inbound) Attachments() []Attachment { return in.Attached().List }

// Attached is Attachments, or why they are not known.
func (in *Inbound) Attached() *Attached {
	all := in.Policies
	for i := range in.Rules {
		for _, e := range in.Rules[i].Permissions() {
			if !slices.Contains(all, e) {
				all = append(slices.Clip(all), e)
			}
		}
	}
	return attachedIn(all, in.Protocol)
}

func attachedIn(of Policies, spoken api.Protocol) *Attached {
	return attachedBy(func() []Attachment {
		a := attacher{protocol: spoken}
		a.policies(of, everyScope)
		return a.sorted()
	})
}

func everyScope(policies.Scope) bool { return true }

// attacher gathers the attachments of one place.
type attacher struct {
	protocol api.Protocol
	// idle says why a field has no effect; nil asks for the protocol alone.
	idle func(e *policies.Effective, field int) string
	list []Attachment
	at   map[entry]int
}

// entry names one entry of one document.
type entry struct {
	ref   api.Ref
	field api.Path
}

// of is the attachment of o; it holds until the next call.
func (a *attacher) of(o *api.Origin) *Attachment {
	if a.at == nil {
		a.at = map[entry]int{}
	}
	key := entry{o.Ref, o.Field}
	i, ok := a.at[key]
	if !ok {
		i = len(a.list)
		a.at[key] = i
		a.list = append(a.list, Attachment{Entry: o})
	}
	return &a.list[i]
}

func (a *Attachment) lost(by *api.Origin) {
	if a.By == nil {
		a.By = by
	}
}

// rules adds those that r was merged from.
func (a *attacher) rules(earlier []*Route, r *Route) {
	if len(r.Origins) == 0 {
		return
	}
	strongest := r.Origins[len(r.Origins)-1]
	by := ShadowOf(earlier, &r.Match)
	for _, o := range r.Origins {
		switch x := a.of(o); {
		case by != nil && len(by.Origins) > 0:
			x.lost(by.Origins[len(by.Origins)-1])
		case o == strongest || o.Same(r.FiltersBy) || o.Same(r.ActionBy):
			x.Acts |= TakesRequests
			x.parts(r, o)
		default:
			x.lost(strongest)
		}
	}
	for _, o := range r.Superseded {
		a.of(o).lost(strongest)
	}
	for _, o := range r.IncludedBy { // an include takes requests where what it includes does
		if by == nil || len(by.Origins) == 0 {
			a.of(o).Acts |= 1
		} else {
			a.of(o).lost(by.Origins[len(by.Origins)-1])
		}
	}
}

// parts notes which lists of a rule of r hold that takes requests.
func (a *Attachment) parts(r *Route, o *api.Origin) {
	if o.Same(r.FiltersBy) {
		a.Acts |= FiltersHold
	}
	if o.Same(r.ActionBy) {
		a.Acts |= ActionHolds
	}
	for i := range r.SupersededLists {
		switch l := &r.SupersededLists[i]; {
		case !o.Same(l.Origin):
		case l.OfFilters() && a.FiltersBy == nil:
			a.FiltersBy = r.FiltersBy
		case !l.OfFilters() && a.ActionBy == nil:
			a.ActionBy = r.ActionBy
		}
	}
}

// connections adds the rules of which one says where connections go, for each name.
func (a *attacher) connections(t *TCPTable) {
	for part := range t.Parts() {
		for _, o := range part.Origins {
			if x := a.of(o); o.Same(part.BackendsBy) {
				x.Acts |= 1
			} else {
				x.lost(part.BackendsBy)
			}
		}
	}
}

// policies adds those who said something about fields of a scope.
func (a *attacher) policies(list Policies, scope func(policies.Scope) bool) {
	for _, e := range list {
		for _, f := range e.Fields {
			if scope(e.Kind.Schema.Leaves[f.Field].Scope) {
				a.field(e, f)
			}
		}
		for _, f := range e.Replaced {
			if scope(e.Kind.Schema.Leaves[f.Field.Field].Scope) {
				a.replaced(f)
			}
		}
	}
}

// replaced adds those who said something in whose place an alternative of it stands.
func (a *attacher) replaced(f policies.Replaced) {
	for _, s := range f.Said {
		if s.Layer != merge.Default {
			a.of(s.Origin).lost(f.By.Origin)
		}
	}
}

func (a *attacher) field(e *policies.Effective, f merge.Field) {
	bit, acts, winner := uint32(1)<<f.Field, e.Applies(f.Field, a.protocol), f.Winner().Origin
	if a.idle != nil {
		acts = a.idle(e, f.Field) == ""
	}
	for _, s := range f.Said {
		if s.Layer == merge.Default {
			continue
		}
		switch x := a.of(s.Origin); {
		case !acts:
			x.Idle |= bit
		case s.Lost == merge.NotLost:
			x.Acts |= bit
		default:
			x.lost(winner)
		}
	}
}

func (a *attacher) sorted() []Attachment {
	slices.SortFunc(a.list, func(x, y Attachment) int {
		return cmp.Or(x.Entry.Ref.Compare(y.Entry.Ref), cmp.Compare(x.Entry.Field, y.Entry.Field))
	})
	return a.list
}

// AttachmentsOn are those of one object among sorted ones.
func AttachmentsOn(list []Attachment, ref api.Ref) []Attachment {
	from, _ := slices.BinarySearchFunc(list, ref, func(a Attachment, r api.Ref) int { return a.Entry.Ref.Compare(r) })
	to := from
	for to < len(list) && list[to].Entry.Ref == ref {
		to++
	}
	return list[from:to]
}

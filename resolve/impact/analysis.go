package impact

import (
	"cmp"
	"fmt"
	"math/bits"
	"slices"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/resolve/dataplanes"
	"github.com/weftmesh/weft/resolve/effective"
)

// Impact is what became of one policy or route at all places together.
type Impact struct {
	Ref     api.Ref
	Entries []*EntryEffect // those that are attached somewhere, by field
	// Placements are where it is attached, each shared value once.
	Placements []Placement
}

// EntryEffect is what became of one entry at all places together: what it comes to is
// Partly if it has its effect somewhere and not everywhere.
type EntryEffect struct {
	Field      api.Path
	Acts, Idle uint32        // as in Attachment, at one place at least
	By         []*api.Origin // who stands in its place, each once
	// FiltersBy and ActionBy are as in Attachment, at one place at least: see LostParts.
	FiltersBy, ActionBy *api.Origin
	Why                 string // why its first field without effect has none

	by map[who]bool // the same as By
}

// who tells origins apart.
type who struct {
	ref   api.Ref
	field api.Path
}

// Placement is a value that an object is attached to, at one of the dataplanes that
// share it. One of the last four is set.
type Placement struct {
	At       *effective.Resolved
	Outbound *effective.Outbound
	Cluster  *effective.ClusterUse
	Inbound  *effective.Inbound
	Whole    *effective.Whole
}

// State is what the entry comes to.
func (e *EntryEffect) State() effective.AttachmentState {
	a := effective.Attachment{Acts: e.Acts, Idle: e.Idle &^ e.Acts}
	if len(e.By) > 0 {
		a.By = e.By[0]
	}
	return a.State()
}

// IdleFields are the numbers of the fields of an entry that have an effect nowhere.
func (e *EntryEffect) IdleFields() []int {
	var out []int
	for rest := e.Idle &^ e.Acts; rest != 0; rest &= rest - 1 {
		out = append(out, bits.TrailingZeros32(rest))
	}
	return out
}

// Acting reports whether something of the object has its effect somewhere.
func (x *Impact) Acting() bool {
	for _, e := range x.Entries {
		if e.Acts != 0 {
			return true
		}
	}
	return false
}

// Presence is what became of an object on one dataplane on which it has something
// to do.
type Presence uint8

// The presences.
const (
	none  Presence = iota
	Lacks          // the dataplane calls what it is about, and does not have it
	Loses          // it takes part, and nothing of it acts
	Acts           // something of it acts
)

// Visitor is told what became of the n-th object on a dataplane; plane is a number of
// the dataplane, below that of those that are looked at.
type Visitor func(n, plane int, r *effective.Resolved, p Presence)

// Query is what an analysis of one mesh needs of whoever asks.
type Query struct {
	Visit      func() bool        // counts one value that is looked at; false where nobody waits any more
	Fail       func(Placement)    // takes a place at which following objects met a bug
	All        func() *Placements // those of all dataplanes of the mesh
	Dataplanes int                // of the mesh
}

// ImpactOf follows policies and routes of one mesh to the dataplanes that they concern, and
// tells for one object after the other about each of those once, in the order of refs. Its
// cost follows what the objects are about: who calls their destinations, or has inbounds
// that they select.
func ImpactOf(q Query, m dataplanes.Mesh, refs []api.Ref, tell Visitor) []*Impact {
	x := newAnalyzer(q, m, refs)
	x.everybody, x.firsts = x.looksAtAll(refs, tell), tell == nil
	if tell == nil && x.everybody {
		x.all, x.Placements = true, q.All()
	} else {
		x.find(refs)
	}
	for _, s := range x.placements {
		if s.to != nil && !x.all && !x.about[s.to] {
			continue
		}
		if !q.Visit() {
			break
		}
		x.look(s)
	}
	if tell != nil {
		x.tell(tell)
	}
	return x.out
}

// Unknown are the results of refs of a mesh that is not there.
func Unknown(refs []api.Ref) []*Impact {
	return newAnalyzer(Query{}, dataplanes.Mesh{}, refs).out
}

// SupersededParts are who stands in the place of a rule's filters, and of its backends, nil for nobody:
// where the rule takes requests, and none of the list holds anywhere.
func (e *EntryEffect) SupersededParts() (filters, action *api.Origin) {
	if e.Acts&effective.TakesRequests != 0 && e.Acts&effective.FiltersHold == 0 {
		filters = e.FiltersBy
	}
	if e.Acts&effective.TakesRequests != 0 && e.Acts&effective.ActionHolds == 0 {
		action = e.ActionBy
	}
	return filters, action
}

// EntryEffect is the one at a field; nil where that is attached nowhere.
func (x *Impact) Entry(field api.Path) *EntryEffect {
	if at, ok := x.find(field); ok {
		return x.Entries[at]
	}
	return nil
}

func (x *Impact) find(field api.Path) (at int, ok bool) {
	return slices.BinarySearchFunc(x.Entries, field, func(e *EntryEffect, field api.Path) int { return cmp.Compare(e.Field, field) })
}

// entry is the one at a field, which is attached somewhere now.
func (x *Impact) entry(field api.Path) *EntryEffect {
	at, ok := x.find(field)
	if !ok {
		x.Entries = slices.Insert(x.Entries, at, &EntryEffect{Field: field})
	}
	return x.Entries[at]
}

func (e *EntryEffect) add(a *effective.Attachment, p Placement) {
	e.Acts, e.Idle = e.Acts|a.Acts, e.Idle|a.Idle
	if a.By != nil && !e.by[who{a.By.Ref, a.By.Field}] {
		if e.by == nil {
			e.by = map[who]bool{}
		}
		e.by[who{a.By.Ref, a.By.Field}] = true
		e.By = append(e.By, a.By)
	}
	e.FiltersBy, e.ActionBy = cmp.Or(e.FiltersBy, a.FiltersBy), cmp.Or(e.ActionBy, a.ActionBy)
	if a.Idle != 0 && e.Why == "" {
		e.Why = p.idle(a)
	}
}

// idle says why the first field without effect of an attachment has none.
func (p Placement) idle(a *effective.Attachment) string {
	field := bits.TrailingZeros32(a.Idle)
	find := func(list effective.Policies, spoken api.Protocol) string {
		if e := list.Of(a.Entry.Kind); e != nil {
			return e.Idle(field, spoken)
		}
		return ""
	}
	switch {
	case p.Whole != nil:
		return find(p.Whole.Policies, "")
	case p.Inbound != nil:
		return find(p.Inbound.Policies, p.Inbound.Protocol)
	case p.Cluster != nil:
		if p.Cluster.ConnectionsOnly && find(p.Cluster.Policies, p.Cluster.Destination.Protocol) == "" {
			return "only whole connections are sent to " + p.Cluster.Cluster.Name + ", in which nobody looks for requests"
		}
		return find(p.Cluster.Policies, p.Cluster.Protocol())
	case p.Outbound.Table != nil:
		for _, r := range p.Outbound.Table.Routes {
			if e := r.Policies.Of(a.Entry.Kind); e != nil {
				if why := r.Idle(e, field, p.Outbound.Protocol()); why != "" {
					return why
				}
			}
		}
	case p.Outbound.Destination.Protocol.HTTPLike() && find(p.Outbound.Policies, p.Outbound.Destination.Protocol) == "":
		return fmt.Sprintf("%s sends whole connections on, in which nobody looks for requests", p.Outbound.TCP.By().Ref)
	}
	return find(p.Outbound.Policies, p.Outbound.Protocol())
}

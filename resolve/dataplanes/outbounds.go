package dataplanes

import (
	"cmp"
	"math/bits"
	"slices"

	"github.com/weftmesh/weft/resolve/derive"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/resolve/tables"
)

// Outbounds is what dataplanes listen at for what they call, by address and port. Those that
// call the same at the same addresses share one.
type Outbounds struct {
	list   []*effective.Outbound
	failed *derive.Failed
	of     uint64 // hash of the calls and their classes
	// redirected says that the dataplanes' traffic is redirected: others listen otherwise.
	redirected bool
}

func (l *Outbounds) equal(o *Outbounds) bool {
	return l.failed == o.failed && l.redirected == o.redirected && slices.EqualFunc(l.list, o.list, (*effective.Outbound).Is)
}

// outboundsOf are the outbounds of a dataplane; of those that were there before the ones stay
// that are equal.
func (m Mesh) outboundsOf(key string, before *Outbounds) *Outbounds {
	list, failed := m.Calls.Get(m.At, key)
	x, f := m.ClassesCalled.Get(m.At, key)
	if failed = cmp.Or(failed, f); failed != nil {
		return &Outbounds{failed: failed}
	}
	groups := m.GroupsOf(key)
	out := &Outbounds{
		list: make([]*effective.Outbound, 0, len(list.List)), of: derive.Mix(list.Hash^bits.RotateLeft64(x.Hash, 32), groups...),
		redirected: list.Redirected,
	}
	var known tables.Outbounds
	if before != nil {
		known = before.list
	}
	for i, class := range x.Classes {
		if class == "" {
			continue
		}
		t, f := m.Tables.Get(m.At, class)
		if f != nil {
			failed = cmp.Or(failed, f)
			continue
		}
		call := &list.List[i]
		if shared := t.VirtualAt(call); shared != nil {
			out.list = append(out.list, shared)
			continue
		}
		out.list = append(out.list, known.Outbound(call, t, len(out.list)))
	}
	slices.SortFunc(out.list, effective.CompareOutbounds)
	for _, group := range groups {
		g, f := m.GroupOutbounds.Get(m.At, group)
		if failed = cmp.Or(failed, f); f != nil || len(g.List) == 0 {
			continue
		}
		failed = cmp.Or(failed, g.Failed)
		i, _ := slices.BinarySearchFunc(out.list, g.List[0], effective.CompareOutbounds) // nobody else has their address
		out.list = slices.Insert(out.list, i, g.List...)
	}
	out.failed = failed
	return out
}

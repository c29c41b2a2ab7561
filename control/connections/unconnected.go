package connections

import (
	"container/list"
	"time"

	"github.com/weftmesh/weft/api"
)

// Bounds on what is remembered of sidecars that are away: as many as a large
// mesh has, and for longer than a network is down.
const (
	mostUnconnected = 100_000
	longestAbsence  = 24 * time.Hour
)

// absent are the Dataplanes of sidecars that are away, by the names that
// streams call them.
type unconnected struct {
	order *list.List // of unconnectedDataplane values, the longest away first
	index map[api.Ref]*list.Element
}

type unconnectedDataplane struct {
	called api.Ref
	object *api.Object
	since  time.Time
}

func newUnconnected() unconnected { return unconnected{list.New(), map[api.Ref]*list.Element{}} }

// keep remembers o, and forgets who has been away too long or is one too many.
func (a unconnected) keep(called api.Ref, o *api.Object, now time.Time) {
	a.drop(called)
	a.index[called] = a.order.PushBack(unconnectedDataplane{called, o, now})
	for a.order.Len() > mostUnconnected || now.Sub(a.order.Front().Value.(unconnectedDataplane).since) > longestAbsence {
		a.drop(a.order.Front().Value.(unconnectedDataplane).called)
	}
}

// get is the Dataplane of a sidecar that is away, nil where it is not known.
func (a unconnected) get(called api.Ref) *api.Object {
	if e := a.index[called]; e != nil {
		return e.Value.(unconnectedDataplane).object
	}
	return nil
}

func (a unconnected) drop(called api.Ref) {
	if e := a.index[called]; e != nil {
		a.order.Remove(e)
		delete(a.index, called)
	}
}

// Package owned keeps objects of one kind in the cluster which weft makes of others, and which
// those own.
//
// It promises that an object which somebody else has written stays as it is; that what it has
// written goes with the owner; and that it writes only what differs, a bounded number of
// requests at once.
package owned

import (
	"context"
	"encoding/json"
	"iter"
	"log/slog"
	"maps"
	"reflect"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/store/kube"
	"github.com/weftmesh/weft/store/kube/writing"
)

// Config says what is kept where.
type Config struct {
	Kind   string // one of which the store tells what weft has made (kube.Store.Made)
	Store  *kube.Store
	Writer *writing.Writer
	Maker  Maker
	// Resolved is the revision of the store up to which the Maker sees what follows from it;
	// nil where it waits for nothing.
	Resolved func() uint64
	// Taken is what an event says to the owner of an object that somebody else has; none
	// without a reason.
	Taken Event
	// Report is what writes the status of an object that says what it should, if it differs;
	// nil for kinds whose status is not written.
	Report func(Made, *Object) func(context.Context) error
	Log    *slog.Logger
}

// Event is one of Kubernetes.
type Event struct{ Reason, Note string }

// Maker makes the objects.
type Maker interface {
	// Touches reports whether a change of an object is about the one by its name; all, whether
	// it may be about any.
	Touches(api.Ref) (one, all bool)
	// See looks at the cluster as it is.
	See() View
}

// View is the cluster at one moment. What it is asked, it finds name by name: the cost follows
// what is asked.
type View interface {
	// Names are all by which there may be an object, beside those that were made.
	Names() iter.Seq[Key]
	// Wanted is what should be there by a name; nil for nothing.
	Wanted(Key) *Object
}

// Key is the name of an object.
type Key struct{ Namespace, Name string }

// Object is one that should be there.
type Object struct {
	*api.Object
	Owner *api.Object // a Service or Pod, which has a UID
}

// owner is who has the object in the cluster.
func (o *Object) owner() writing.Owner {
	return writing.Owner{Kind: o.Owner.Kind, Name: o.Owner.Name, UID: o.Owner.UID()}
}

// Made is an object that weft has written.
type Made struct {
	Ref    api.Ref
	Report kube.Report
}

// says reports whether the object says what it should.
func (m Made) says(want *Object) bool {
	text, err := json.Marshal(want.Spec)
	if err != nil {
		return false
	}
	var is, should any
	if json.Unmarshal(text, &should) != nil || json.Unmarshal(m.Report.Made.Spec, &is) != nil {
		return false
	}
	return m.Report.Made.Owner == want.Owner.UID() && maps.Equal(m.Report.Made.Labels, want.Labels) && reflect.DeepEqual(is, should)
}

// found is what the cluster has by a name: what weft has made, or what somebody else has
// written.
func (k *Keeper) found(n Key) (made *Made, written bool) {
	r, ok := k.Store.Report(api.Ref{Kind: k.Kind, Namespace: n.Namespace, Name: n.Name})
	if !ok || r.Made == nil {
		return nil, ok
	}
	return &Made{api.Ref{Kind: k.Kind, Mesh: r.Made.Mesh, Namespace: n.Namespace, Name: n.Name}, r}, false
}

// Package step has a change from one model to another, and the names of the dataplanes that it concerns.
package step

import (
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/store"
	"github.com/weftmesh/weft/xds"
	"github.com/weftmesh/weft/xds/resource"
)

// Change is what becomes of one document.
type Change struct {
	Object string `json:"object"`
	Action string `json:"action"` // create, update, delete or unchanged
	// Shadow says that it only takes part in previews, and the plan counts it as if it took part.
	Shadow bool `json:"shadow,omitempty"`
}

// Text is what becomes of it, in words.
func (c *Change) Text() string {
	if c.Shadow {
		return c.Action + ", planned as if it took part"
	}
	return c.Action
}

// Comparison is a change from one model to another.
type Comparison struct {
	Before, After *resolve.Model
	// Affected are the dataplanes of which something may be another.
	Affected []api.Ref
	// Touched are the objects that change, by Changes.
	Touched []api.Ref
	Changes []snapshot.Change
	// Renderer is the one whose resources sidecars get.
	Renderer *xds.Renderer
	// Print is a resource as JSON, without what nobody may read: then it is told what changes in
	// resources. Nil tells which change alone.
	Print func(*resource.Resource) ([]byte, error)
	// See reports whether a dataplane may be told of; nil tells of all. Others are not looked at.
	See func(api.Ref) bool
	// Wanted reports whether somebody still waits for the plan; nil: somebody does. One that
	// nobody waits for is not whole.
	Wanted func() bool
}

// Next is the step from what holds to what would hold after writes, with now as their time,
// and what would become of each. Nothing of m changes.
func Next(m *resolve.Model, writes []store.Write, now time.Time) (Comparison, []store.Result) {
	written := m.Written()
	changes, results := store.Changes(written, writes, now)
	return Between(m, written.Revision()+1, changes), results
}

// Between is the step from m to what holds after changes of its documents, at a revision.
func Between(m *resolve.Model, revision uint64, changes []snapshot.Change) Comparison {
	next, affected := m.Update(m.Written().With(revision, changes), changes)
	s := Comparison{Before: m, After: next, Affected: affected.Dataplanes, Changes: changes}
	for _, c := range changes {
		s.Touched = append(s.Touched, c.Ref())
	}
	return s
}

// Actions are the words for what becomes of a document.
var Actions = map[store.WriteAction]string{store.Created: "create", store.Updated: "update", store.Deleted: "delete", store.Unchanged: "unchanged"}

// ChangesOf is what becomes of documents by the results of writes.
func ChangesOf(results []store.Result) []Change {
	out := []Change{}
	for _, r := range results {
		out = append(out, Change{Object: r.Ref.String(), Action: Actions[r.Action]})
	}
	return out
}

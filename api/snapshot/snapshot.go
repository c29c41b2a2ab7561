// Package snapshot has every object of a store at one revision, and finds objects in it.
package snapshot

import (
	"iter"

	"github.com/weftmesh/weft/api"

	iradix "github.com/hashicorp/go-immutable-radix/v2"
)

// Snapshot is every object at one revision. It is immutable and cheap to
// derive from another: two neighbours share all that did not change.
type Snapshot struct {
	revision uint64
	tree     *iradix.Tree[*api.Object]
	counts   *iradix.Tree[int] // objects by kind, and by kind/mesh; none is left out
}

// Change is one step between two snapshots: created (no Before), updated, or
// deleted (no After).
type Change struct {
	Before, After *api.Object
}

// Ref names the object that changed.
func (c Change) Ref() api.Ref {
	if c.After != nil {
		return c.After.Ref
	}
	return c.Before.Ref
}

// New holds objects as of revision; of two with one api.Ref the later stays.
func New(revision uint64, objects ...*api.Object) *Snapshot {
	changes := make([]Change, len(objects))
	for i, o := range objects {
		changes[i].After = o
	}
	return (&Snapshot{tree: iradix.New[*api.Object](), counts: iradix.New[int]()}).With(revision, changes)
}

// With is s after changes, at revision.
func (s *Snapshot) With(revision uint64, changes []Change) *Snapshot {
	txn, counts := s.tree.Txn(), s.counts.Txn()
	for _, c := range changes {
		if c.After == nil {
			if _, had := txn.Delete(key(c.Before.Ref)); had {
				count(counts, c.Before.Ref, -1)
			}
		} else if _, had := txn.Insert(key(c.After.Ref), c.After); !had {
			count(counts, c.After.Ref, 1)
		}
	}
	return &Snapshot{revision, txn.Commit(), counts.Commit()}
}

// Since are the changes that make s of another snapshot, created and updated ones first. It looks at
// all objects of both.
func (s *Snapshot) Since(before *Snapshot) []Change {
	var out []Change
	for o := range s.All() {
		if was, _ := before.Get(o.Ref); was != o {
			out = append(out, Change{Before: was, After: o})
		}
	}
	for o := range before.All() {
		if !s.Has(o.Ref) {
			out = append(out, Change{Before: o})
		}
	}
	return out
}

// count adds n objects of the kind and mesh of r.
func count(counts *iradix.Txn[int], r api.Ref, n int) {
	for _, of := range []string{r.Kind, r.Kind + "/" + r.Mesh} {
		had, _ := counts.Get([]byte(of))
		if had+n == 0 {
			counts.Delete([]byte(of))
		} else {
			counts.Insert([]byte(of), had+n)
		}
	}
}

// Revision counts the publications of the store that made s.
func (s *Snapshot) Revision() uint64 { return s.revision }

// Len is the number of objects.
func (s *Snapshot) Len() int { return s.tree.Len() }

// Get finds one object.
func (s *Snapshot) Get(r api.Ref) (*api.Object, bool) { return s.tree.Get(key(r)) }

// Has reports whether there is such an object.
func (s *Snapshot) Has(r api.Ref) bool {
	_, ok := s.Get(r)
	return ok
}

// All yields every object in the order of their refs.
func (s *Snapshot) All() iter.Seq[*api.Object] { return s.below(nil) }

// Of yields the objects of one kind in one mesh (empty: those without a mesh).
func (s *Snapshot) Of(kind, mesh string) iter.Seq[*api.Object] {
	return s.below([]byte(kind + "/" + mesh + "/"))
}

// OfKind yields the objects of one kind in all meshes.
func (s *Snapshot) OfKind(kind string) iter.Seq[*api.Object] { return s.below([]byte(kind + "/")) }

// Count is how many objects Of yields, without looking at them.
func (s *Snapshot) Count(kind, mesh string) int {
	n, _ := s.counts.Get([]byte(kind + "/" + mesh))
	return n
}

// CountOfKind is how many objects OfKind yields, without looking at them.
func (s *Snapshot) CountOfKind(kind string) int {
	n, _ := s.counts.Get([]byte(kind))
	return n
}

func (s *Snapshot) below(prefix []byte) iter.Seq[*api.Object] {
	return func(yield func(*api.Object) bool) {
		it := s.tree.Root().Iterator()
		if len(prefix) > 0 {
			it.SeekPrefix(prefix)
		}
		for _, o, ok := it.Next(); ok; _, o, ok = it.Next() {
			if !yield(o) {
				return
			}
		}
	}
}

// key orders like api.Ref.Compare: no part may hold a slash.
func key(r api.Ref) []byte {
	return []byte(r.Kind + "/" + r.Mesh + "/" + r.Namespace + "/" + r.Name)
}

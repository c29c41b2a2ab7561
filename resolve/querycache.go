package resolve

import (
	"slices"

	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/resolve/effective"
)

// Followed is Known for what the changes since may bring up to date: of an earlier model it is
// followed, and found out anew only where nobody asked for long. follow is told what it was, and
// all changes of documents since, in their order.
func Followed[T any](q *Reader, key any, find func() T, follow func(was T, changes []snapshot.Change) T) T {
	if known, ok := q.following.known.Load(key); ok {
		return known.(T)
	}
	var found T
	if e := q.following.earlier[key]; e != nil {
		found = follow(e.known.(T), slices.Concat(e.changes...))
	} else {
		found = find()
	}
	if !q.left { // else it is not all
		q.following.known.Store(key, found)
	}
	return found
}

// following is what is known of a model by its changes since an earlier one was asked.
type following struct {
	known   effective.Findings
	earlier map[any]*earlier // by key; nobody changes it
}

// earlier is what was known of an earlier model, and the changes since.
type earlier struct {
	known   any
	changes [][]snapshot.Change
	size    int
}

// mostFollowed is after how many changes what was known before is given up: it keeps an earlier
// model, and nobody asks.
const mostFollowed = 1000

// next is what is known of the model after changes.
func (f *following) next(changes []snapshot.Change) map[any]*earlier {
	out := map[any]*earlier{}
	for key, e := range f.earlier {
		if size := e.size + len(changes); size <= mostFollowed {
			out[key] = &earlier{e.known, append(slices.Clip(e.changes), changes), size}
		}
	}
	f.known.Range(func(key, known any) bool {
		delete(out, key)
		if len(changes) <= mostFollowed {
			out[key] = &earlier{known, [][]snapshot.Change{changes}, len(changes)}
		}
		return true
	})
	return out
}

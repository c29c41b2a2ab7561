package resolve

import (
	"slices"

	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/resolve/impact"
)

// changedSince are the dataplanes that came out differently since something was known of all, by key.
type changedSince struct {
	lists [][]string
	size  int
}

// and are those with more; c stays as it is.
func (c changedSince) and(more []string) changedSince {
	return changedSince{append(slices.Clip(c.lists), more), c.size + len(more)}
}

// keys are they, each once.
func (c changedSince) keys() []string {
	all := slices.Concat(c.lists...)
	slices.Sort(all)
	return slices.Compact(all)
}

// placesSince is where the places of an earlier revision are, and what changed since.
type placesSince struct {
	known   *impact.Places
	changed changedSince
}

// nextPlaces is what is known of them after an update; nil where finding them anew costs no more.
func (a *asked) nextPlaces(changed []string) *placesSince {
	was := a.placesSince
	if known := a.places.At.Load(); known != nil {
		was = &placesSince{known: known}
	}
	if was == nil || was.changed.size+len(changed) > len(was.known.Dataplanes)/2 {
		return nil
	}
	return &placesSince{was.known, was.changed.and(changed)}
}

// allPlaces are the places of all dataplanes of a mesh, found out once for all questions
// about one revision: by what changed since somebody asked of an earlier one.
func (q *Reader) allPlaces(x mesh, name string) *impact.Places {
	a := q.asked(name)
	return a.places.Find(q.whole, func() *impact.Places {
		if since := a.placesSince; since != nil {
			return since.known.Follow(since.changed.keys(), func(key string) *effective.Resolved {
				r, _ := x.Resolved.Get(x.At, key)
				return r
			})
		}
		return impact.AllPlaces(x.Resolved.All(x.At))
	})
}

package kube

import (
	"maps"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/weftmesh/weft/store"
)

// versionOf is the version of an object, or of its end.
func versionOf(obj any) string {
	m, err := meta.Accessor(obj)
	if err != nil {
		return ""
	}
	return m.GetResourceVersion()
}

// upTo notes that all is known up to a version. It is called with mu held.
func (f *feed) upTo(version string) { f.at = max(f.at, number(version)) }

// allOf notes that all is known as of a version, whatever was known before. It is called with
// mu held.
func (f *feed) allOf(version string) {
	if n := number(version); n > 0 {
		f.at, f.newest = n, min(f.newest, n)
	}
}

// changedAt notes that a document has changed, by the version of that, empty where nobody
// has told it. It is called with mu held.
func (f *feed) changedAt(version string) {
	f.newest = max(f.newest, number(version))
	f.of.moved[f] = true
}

// number is 0 for what is no version.
func number(version string) uint64 {
	n, _ := strconv.ParseUint(version, 10, 64)
	return n
}

// Older reports whether a version of an object at the API server is one before another.
func Older(version, other string) bool { return number(version) < number(other) }

// name is that of what is followed, the same in all control planes.
func (r resource) name() string {
	return r.String() + " " + r.namespace + r.selector
}

// step is what has moved since the last publication. It is called with mu held.
func (s *Store) step() store.Step {
	out := store.Step{Heard: store.Position{}, Changed: store.Position{}}
	for f := range s.feeds {
		if f.at != s.told[f] {
			s.told[f], out.Heard[f.resource.name()] = f.at, f.at
		}
	}
	for f := range s.moved {
		if s.feeds[f] {
			out.Changed[f.resource.name()] = f.newest
		}
	}
	clear(s.moved)
	if !maps.Equal(s.followed, s.feeds) {
		s.followed = maps.Clone(s.feeds)
		for f := range s.feeds {
			out.Follows = append(out.Follows, f.resource.name())
		}
		slices.Sort(out.Follows)
	}
	return out
}

// tell hands a step on.
func (s *Store) tell(revision uint64, step store.Step) {
	if step.Revision = revision; s.cfg.Moved != nil && len(step.Heard)+len(step.Changed)+len(step.Follows) > 0 {
		s.cfg.Moved(step)
	}
}

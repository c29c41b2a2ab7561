package control_test

import (
	"slices"
	"strings"

	"github.com/weftmesh/weft/inspect"
	"github.com/weftmesh/weft/inspect/conditions"
)

// sidecars are what the control plane says of those of the mesh.
func (r *receiving) sidecars() (names []string, synced bool, revision uint64) {
	list := get[struct {
		Revision uint64
		Items    []struct {
			Name  string
			State inspect.State
			Acked uint64
		}
	}](r.plane, "/meshes/default/_sidecars?size=1000")
	synced = true
	for name, s := range r.streams {
		if err := s.over(); err != nil { // a dataplane of that name is there now
			if !strings.Contains(err.Error(), "connect again") {
				r.t.Fatalf("the stream of %s ended: %v", name, err)
			}
			r.gone[name] = s
			delete(r.streams, name)
		}
	}
	r.without = map[string]bool{}
	for _, s := range list.Items {
		names = append(names, s.Name)
		switch {
		case r.streams[s.Name] == nil || s.State == inspect.StateInSync && s.Acked == list.Revision:
		case s.Acked == 0 && r.uncertified(s.Name):
			r.without[s.Name] = true
		default:
			synced = false
		}
	}
	return names, synced, list.Revision
}

// uncertified reports whether a dataplane waits for a certificate.
func (r *receiving) uncertified(name string) bool {
	status := get[conditions.Overview](r.plane, "/meshes/default/_status?size=1")
	return slices.ContainsFunc(status.Sidecars.Uncertified, func(u inspect.Uncertified) bool { return u.Dataplane == name })
}

// settle waits until all that are connected have confirmed a revision, and lets go those whose
// dataplanes are gone.
func (r *receiving) settle(revision uint64) {
	r.t.Helper()
	var names []string
	eventually(r.t, "sidecars have confirmed what was written", func() bool {
		all, synced, at := r.sidecars()
		names, r.revision = all, at
		return synced && at >= revision
	})
	for name, s := range r.streams {
		if !slices.Contains(names, name) {
			r.gone[name] = s
			delete(r.streams, name)
		}
	}
}

// connect opens a stream for each dataplane that has none, and begins to count what it receives.
func (r *receiving) connect() {
	r.t.Helper()
	for _, s := range r.join() {
		s.mark()
	}
}

// join opens a stream for each dataplane that has none, and waits until all have confirmed
// what there is. What they receive is counted from what the dataplane had before. One that is told
// to connect again does.
func (r *receiving) join() (joined []*receiver) {
	r.t.Helper()
	for {
		names, _, at := r.sidecars()
		names = slices.DeleteFunc(names, func(name string) bool { return r.streams[name] != nil })
		for _, name := range names {
			s := r.receives(name)
			s.follows(r.gone[name])
			r.streams[name] = s
			delete(r.gone, name)
			joined = append(joined, s)
		}
		if len(names) == 0 {
			for _, s := range joined {
				s.once()
			}
			return joined
		}
		r.settle(at)
	}
}

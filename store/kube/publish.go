package kube

import (
	"context"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/store"
)

// notify wakes who publishes. It is called with mu held.
func (s *Store) notify() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// publish makes revisions of what the feeds tell until ctx ends: the first when
// everything was read, then one for all that has come since the last.
func (s *Store) publish(ctx context.Context) {
	for first := true; ; {
		select {
		case <-ctx.Done():
			return
		case <-s.wake:
		}
		changed, step := s.take()
		if changed == nil {
			continue
		}
		// Who resolves a revision knows by then how far it is, so that no sidecar of a peer that
		// does not know it yet counts as in sync with it.
		now := s.Publish(changed, func(revision uint64) { s.tell(revision, step) })
		if first {
			first = false
			s.cfg.Log.Info("the cluster was read", "objects", now.Len())
			close(s.synced)
		}
	}
}

// take is what has changed since the last publication; nil while not everything was read.
func (s *Store) take() (map[api.Ref]*api.Object, store.Step) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.whole() {
		return nil, store.Step{}
	}
	changed, step := s.changed, s.step()
	s.changed = map[api.Ref]*api.Object{}
	s.provide(changed)
	return changed, step
}

// whole reports whether everything that was installed at the start has been read. What
// is installed later adds to it.
func (s *Store) whole() bool {
	if s.began || !s.settled {
		return s.began
	}
	for f := range s.feeds {
		if !f.synced {
			return false
		}
	}
	s.began = true
	return true
}

// provide puts the default object into changed while there is none of its kind, and takes
// it away when there is.
func (s *Store) provide(changed map[api.Ref]*api.Object) {
	d := s.cfg.Default
	if d == nil {
		return
	}
	now, _ := s.Snapshot().Get(d.Ref)
	switch some := s.kinds[d.Kind] > 0; {
	case !some:
		changed[d.Ref] = d
	case now == nil || now.ResourceVersion != "" || changed[d.Ref] != nil: // it stands for itself
	default:
		changed[d.Ref] = nil
	}
}

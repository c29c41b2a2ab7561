package kube

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Served is how the API server serves a kind.
type Served struct {
	schema.GroupVersionResource
	Namespaced bool
	// Status says that the status is written by itself.
	Status bool
	// Own says that the definition is weft's, which has a place for all that weft writes.
	Own bool
}

// Served is how a kind is served now; false where it is not installed.
func (s *Store) Served(kind string) (Served, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, ok := s.serves[kind]
	return r, ok
}

// serve notes how a kind is served; nil for no more.
func (s *Store) serve(kind string, r *Served) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r == nil {
		delete(s.serves, kind)
		return
	}
	s.serves[kind] = *r
}

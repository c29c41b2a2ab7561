package server

import (
	"bytes"
	"sync"
	"sync/atomic"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/sidecar/attach"
	"github.com/weftmesh/weft/xds/resource"
)

// Sent is what the newest stream of a dataplane was sent of what it should have, in the
// form of Envoy's config_dump and without secrets; false where there is no stream.
func (s *Server) Sent(dp api.Ref) ([]byte, bool, error) {
	s.mu.Lock()
	p := s.peers[dp]
	if p == nil || len(p.streams) == 0 {
		s.mu.Unlock()
		return nil, false, nil
	}
	st := p.streams[len(p.streams)-1]
	s.mu.Unlock()
	text, err := resource.Dump(st.held())
	if err != nil {
		return nil, true, err
	}
	var out bytes.Buffer
	err = attach.Redact(&out, bytes.NewReader(text))
	return out.Bytes(), true, err
}

// held are the resources of each type of which anything was sent.
func (st *stream) held() *resource.State {
	st.mu.Lock()
	defer st.mu.Unlock()
	out := &resource.State{}
	if st.want == nil {
		return out
	}
	for k, into := range [kinds]*[]*resource.Resource{clusters: &out.Clusters, endpoints: &out.Endpoints, secrets: &out.Secrets, listeners: &out.Listeners, routes: &out.Routes} {
		if st.flows[k].sent {
			*into = kind(k).of(st.want)
		}
	}
	return out
}

// tables are those that clients should have, as they were counted last.
type tables struct {
	changed        atomic.Uint64 // counts changes of what any client should have
	mu             sync.Mutex
	counted        uint64 // changes when they were
	held, distinct int
}

// Tables is how many route tables the clients should have, each counted for each stream, and
// how many these are: those that are shared are one. They are counted when something changed.
func (s *Server) Tables() (held, distinct int) {
	s.tables.mu.Lock()
	defer s.tables.mu.Unlock()
	if changed := s.tables.changed.Load(); changed != s.tables.counted {
		s.tables.held, s.tables.distinct = s.countTables()
		s.tables.counted = changed
	}
	return s.tables.held, s.tables.distinct
}

func (s *Server) countTables() (held, distinct int) {
	s.mu.Lock()
	var streams []*stream
	for _, p := range s.peers {
		streams = append(streams, p.streams...)
	}
	s.mu.Unlock()
	seen := map[*resource.Resource]bool{}
	for _, st := range streams {
		st.mu.Lock()
		want := st.want
		st.mu.Unlock()
		if want == nil {
			continue
		}
		held += len(want.Routes)
		for _, r := range want.Routes {
			seen[r] = true
		}
	}
	return held, len(seen)
}

package server

import (
	"bytes"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/sidecar/attach"
	"github.com/weftmesh/weft/xds"
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
	text, err := xds.Dump(st.held())
	if err != nil {
		return nil, true, err
	}
	var out bytes.Buffer
	err = attach.Redact(&out, bytes.NewReader(text))
	return out.Bytes(), true, err
}

// held are the resources of each type of which anything was sent.
func (st *stream) held() *xds.State {
	st.mu.Lock()
	defer st.mu.Unlock()
	out := &xds.State{}
	if st.want == nil {
		return out
	}
	for k, into := range [kinds]*[]*xds.Resource{clusters: &out.Clusters, endpoints: &out.Endpoints, secrets: &out.Secrets, listeners: &out.Listeners, routes: &out.Routes} {
		if st.flows[k].sent {
			*into = kind(k).of(st.want)
		}
	}
	return out
}

// Tables is how many route tables the clients should have, each counted for each stream, and
// how many these are: those that are shared are one.
func (s *Server) Tables() (held, distinct int) {
	s.mu.Lock()
	var streams []*stream
	for _, p := range s.peers {
		streams = append(streams, p.streams...)
	}
	s.mu.Unlock()
	seen := map[*xds.Resource]bool{}
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

package control_test

import (
	"maps"
	"strings"
	"sync"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
)

// receiver is a sidecar that confirms all it gets.
type receiver struct {
	end   func()
	mu    sync.Mutex
	ended error             // why it ended
	held  map[string]string // bytes by type and name
	urls  map[string]string // by type
	begin map[string]string // those at the mark
	again []string          // what came though it was held
	warms map[string]bool   // clusters that ever changed: an Envoy then waits for their endpoints, also for the same
}

// receives asks for everything there is for a dataplane.
func (p *plane) receives(name string) *receiver {
	p.t.Helper()
	stream, end := p.stream(name, "")
	p.t.Cleanup(end)
	out := &receiver{end: end, held: map[string]string{}, urls: map[string]string{}, warms: map[string]bool{}}
	for _, kind := range []string{"listener.v3.Listener", "route.v3.RouteConfiguration", "endpoint.v3.ClusterLoadAssignment"} {
		if err := stream.Send(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: "type.googleapis.com/envoy.config." + kind, ResourceNamesSubscribe: []string{"*"}}); err != nil {
			p.t.Fatal(err)
		}
	}
	go func() {
		for {
			answer, err := stream.Recv()
			if err != nil {
				out.mu.Lock()
				out.ended = err
				out.mu.Unlock()
				return
			}
			out.take(answer)
			if stream.Send(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: answer.TypeUrl, ResponseNonce: answer.Nonce}) != nil {
				return
			}
		}
	}()
	return out
}

// take keeps what an answer brings.
func (s *receiver) take(answer *discoveryv3.DeltaDiscoveryResponse) {
	s.mu.Lock()
	defer s.mu.Unlock()
	kind := answer.TypeUrl[strings.LastIndex(answer.TypeUrl, ".")+1:] + " "
	s.urls[strings.TrimSpace(kind)] = answer.TypeUrl
	for _, x := range answer.Resources {
		bytes := string(x.Resource.Value)
		same := s.held[kind+x.Name] == bytes
		switch {
		case kind == "Cluster " && !same:
			s.warms[x.Name] = true
		case same && !(kind == "ClusterLoadAssignment " && s.warms[x.Name]):
			s.again = append(s.again, "again "+kind+x.Name)
		}
		s.held[kind+x.Name] = bytes
	}
	for _, name := range answer.RemovedResources {
		if _, had := s.held[kind+name]; !had {
			s.again = append(s.again, "gone again "+kind+name)
		}
		delete(s.held, kind+name)
	}
}

// over is why the stream ended, if it has.
func (s *receiver) over() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ended
}

// mark begins to count anew.
func (s *receiver) mark() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.begin, s.again = maps.Clone(s.held), nil
}

// follows takes it for the sidecar of a dataplane that had what another held; nothing where
// there was none.
func (s *receiver) follows(other *receiver) {
	begin := map[string]string{}
	if other != nil {
		other.mu.Lock()
		begin = maps.Clone(other.begin)
		other.mu.Unlock()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.begin = begin
}

// once forgets what came twice while it joined.
func (s *receiver) once() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.again = nil
}

// changes are what was received since the mark, as plans name it.
func (s *receiver) changes(dataplane string) (out []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, is := range s.held {
		if had, there := s.begin[name]; !there {
			out = append(out, dataplane+" create "+name)
		} else if had != is {
			out = append(out, dataplane+" update "+name)
		}
	}
	for name := range s.begin {
		if _, stays := s.held[name]; !stays {
			out = append(out, dataplane+" delete "+name)
		}
	}
	for _, what := range s.again {
		out = append(out, dataplane+" "+what)
	}
	return out
}
